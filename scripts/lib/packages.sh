# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Debian packages: which of them are missing, and getting them. Sourced. Touches nothing when all are there.

# Kernels: SPIR-V is made by a Clang and the llvm-spirv of its version, so both are named with the release's. On a Debian that isn't known here
# its Clang makes all else. What packages_of_release add is for AMD's code objects (Debian 12 has their bundler with Clang) and loops.
# shellcheck disable=SC2034 # for those who source this
case $(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}") in
  12) clang_packages=(clang-14 llvm-spirv-14) packages_of_release=(lld-14 llvm-14-dev) ;;
  13) clang_packages=(clang-19 llvm-spirv-19) packages_of_release=(lld-19 clang-tools-19 llvm-19-dev) ;;
  *) clang_packages=(clang) packages_of_release=(lld clang-tools llvm-dev) ;;
esac

packages_to_build=(g++ cmake ninja-build libfmt-dev libmd-dev)
packages_of_demo=("${packages_to_build[@]}" libpng-dev libcli11-dev)
# shellcheck disable=SC2034 # for those who source this
packages_of_test=("${packages_of_demo[@]}" nlohmann-json3-dev libprotozero-dev protobuf-compiler zlib1g-dev libncurses-dev catch2 python3 libamdhip64-dev libze-dev
  openmpi-bin libopenmpi-dev libmpich-dev iproute2 "${clang_packages[@]}" spirv-tools)
# shellcheck disable=SC2034
packages_of_bench=("${packages_to_build[@]}" python3 libbenchmark-dev libtbb-dev libboost-dev opencl-headers ocl-icd-opencl-dev
  pocl-opencl-icd valgrind)

# need_packages NAME...: installs those that are missing, and says which. On a system without apt it says what is needed and
# goes on: the same things may be there under other names.
need_packages() {
  local -a missing=() as_root=()
  local name
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: if something is missing below, install what Debian calls: $*"
    return 0
  fi
  for name in "$@"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
      missing+=("$name")
    fi
  done
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "Packages are missing, and there is no sudo to install them. As root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null
  # The list says what was asked for; what it drags in is apt's to say, in the log.
  local log
  log=$(mktemp)
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "apt-get could not install: ${missing[*]}" >&2
    return 1
  fi
  rm -f "$log"
}
