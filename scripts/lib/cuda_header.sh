# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# cuda.h for machines without a CUDA toolkit: the CUDA backend needs its declarations to be built, and nothing else of CUDA.
# NVIDIA publishes it in the Python package nvidia-cuda-runtime (2.5 MB, NVIDIA's licence). Sourced, from the repository's
# root, after packages.sh.

cuda_package_folder=build/python

# For configure(): CMake looks in CUDA_PATH first. What was fetched before is found again.
use_fetched_cuda_header() {
  if [[ -f $cuda_package_folder/nvidia/cu13/include/cuda.h && -z ${CUDA_PATH:-} ]]; then
    export CUDA_PATH=$PWD/$cuda_package_folder/nvidia/cu13
  fi
}

# fetch_cuda_header: false, having said why, where it can't be had; then the CUDA backend is left out.
fetch_cuda_header() {
  local log
  if ! python3 -m pip --version >/dev/null 2>&1; then
    need_packages python3-pip || return 1
  fi
  echo "Fetching the Python package nvidia-cuda-runtime for its cuda.h, to $cuda_package_folder"
  mkdir -p "$cuda_package_folder"
  log=$(mktemp)
  if ! python3 -m pip install --quiet --no-deps --target "$cuda_package_folder" "nvidia-cuda-runtime~=13.0" </dev/null >"$log" 2>&1; then
    tail -n 3 "$log"
    rm -f "$log"
    echo "There is no cuda.h to be had: the CUDA backend and its tests are left out."
    return 1
  fi
  rm -f "$log"
}
