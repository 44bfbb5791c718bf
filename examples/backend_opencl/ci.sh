#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What a change must pass: builds against an installed anyplace, without warnings, in an empty folder; exports one symbol;
# passes the tests and anyplace's conformance suite on whatever OpenCL is there (on Debian: PoCL).
#
#   ci.sh PREFIX [BUILD_FOLDER [CMAKE_ARGUMENT...]]     PREFIX: where anyplace is installed
set -euo pipefail

if (($# < 1)); then
  sed -n '4,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
source=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
build=${2:-$(mktemp -d)}

packages=(cmake ninja-build g++ catch2 opencl-headers ocl-icd-opencl-dev pocl-opencl-icd)
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      echo "Missing: apt-get install ${packages[*]}" >&2
      exit 2
    fi
  done
fi

cmake -G Ninja -S "$source" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" -DOPENCL_BACKEND_WERROR=ON "${@:3}"
cmake --build "$build" --parallel

plugin=$build/libanyplace_backend_opencl.so
symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}')
if [[ $symbols != anyplace_backend_entry ]]; then
  echo "$plugin exports more than its entry: $symbols" >&2
  exit 1
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error
