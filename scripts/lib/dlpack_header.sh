# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# dlpack/dlpack.h of version 1, for the tests of anyplace/dlpack.h: Debian 12's is older. The Python package apache-tvm-ffi has
# it (Apache-2.0, 3 MB). Sourced, from the repository's root, after packages.sh.

dlpack_package_folder=build/python

# For configure(): CMake looks in DLPACK_PATH first. What was fetched before is found again.
use_fetched_dlpack_header() {
  if [[ -f $dlpack_package_folder/tvm_ffi/include/dlpack/dlpack.h && -z ${DLPACK_PATH:-} ]]; then
    export DLPACK_PATH=$PWD/$dlpack_package_folder/tvm_ffi
  fi
}

# fetch_dlpack_header: false, having said why, where it can't be had; then the tests of DLPack are left out.
fetch_dlpack_header() {
  local log
  if ! python3 -m pip --version >/dev/null 2>&1; then
    need_packages python3-pip || return 1
  fi
  echo "Fetching the Python package apache-tvm-ffi for its dlpack.h, to $dlpack_package_folder"
  mkdir -p "$dlpack_package_folder"
  log=$(mktemp)
  if ! python3 -m pip install --quiet --no-deps --target "$dlpack_package_folder" "apache-tvm-ffi~=0.1.0" </dev/null >"$log" 2>&1; then
    tail -n 3 "$log"
    rm -f "$log"
    echo "There is no dlpack.h to be had: the tests of DLPack are left out."
    return 1
  fi
  rm -f "$log"
}
