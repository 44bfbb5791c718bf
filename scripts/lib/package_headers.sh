# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Headers that a machine may lack, from Python packages that have them. Sourced, from the repository's root, after packages.sh.
#
#   cuda.h            the CUDA backend needs its declarations to be built, and nothing else of CUDA. NVIDIA publishes it in
#                     nvidia-cuda-runtime (2.5 MB, NVIDIA's licence)
#   dlpack/dlpack.h   of version 1, for the tests of anyplace/dlpack.h: Debian 12's is older. apache-tvm-ffi has it (3 MB,
#                     Apache-2.0)

header_package_folder=build/python

# For configure(): CMake looks in CUDA_PATH and DLPACK_PATH first. What was fetched before is found again.
use_fetched_headers() {
  if [[ -f $header_package_folder/nvidia/cu13/include/cuda.h && -z ${CUDA_PATH:-} ]]; then
    export CUDA_PATH=$PWD/$header_package_folder/nvidia/cu13
  fi
  if [[ -f $header_package_folder/tvm_ffi/include/dlpack/dlpack.h && -z ${DLPACK_PATH:-} ]]; then
    export DLPACK_PATH=$PWD/$header_package_folder/tvm_ffi
  fi
}

# fetch_header HEADER PACKAGE VERSIONS LEFT_OUT: false, having said why, where it can't be had; then LEFT_OUT is.
fetch_header() {
  local header=$1 package=$2 versions=$3 left_out=$4 log
  if ! python3 -m pip --version >/dev/null 2>&1; then
    need_packages python3-pip || return 1
  fi
  echo "Fetching the Python package $package for its $header, to $header_package_folder"
  mkdir -p "$header_package_folder"
  log=$(mktemp)
  if ! python3 -m pip install --quiet --no-deps --target "$header_package_folder" "$package$versions" </dev/null >"$log" 2>&1; then
    tail -n 3 "$log"
    rm -f "$log"
    echo "There is no $header to be had: $left_out left out."
    return 1
  fi
  rm -f "$log"
}

fetch_cuda_header() {
  fetch_header cuda.h nvidia-cuda-runtime "~=13.0" "the CUDA backend and its tests are"
}

fetch_dlpack_header() {
  fetch_header dlpack.h apache-tvm-ffi "~=0.1.0" "the tests of DLPack are"
}
