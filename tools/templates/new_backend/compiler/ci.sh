#!/usr/bin/env bash
#
# What a change must pass: builds without warnings, exports one symbol, keeps the rules.
#
#   ./ci.sh [BUILD_FOLDER [CMAKE_ARGUMENT...]]     default: build/; -DCMAKE_PREFIX_PATH=... says where anyplace is
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=${1:-$source/build}

cmake -G Ninja -S "$source" -B "$build" -DNEWNAME_COMPILER_WERROR=ON "${@:2}"
cmake --build "$build" --parallel

plugin=$build/libanyplace_compiler_newname.so
symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}')
if [[ $symbols != anyplace_compiler_entry ]]; then
  echo "$plugin exports more than its entry: $symbols" >&2
  exit 1
fi
ctest --test-dir "$build" --output-on-failure --no-tests=error
