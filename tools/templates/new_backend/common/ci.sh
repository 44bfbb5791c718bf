#!/usr/bin/env bash
#
# What a change must pass: builds without warnings, exports one symbol, passes the tests, conforms.
#
#   ./ci.sh [BUILD_FOLDER [CMAKE_ARGUMENT...]]     default: build/; -DCMAKE_PREFIX_PATH=... says where anyplace is
#
# The conformance report is left in BUILD_FOLDER/conformance.xml, as JUnit.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=${1:-$source/build}

cmake -G Ninja -S "$source" -B "$build" -DNEWNAME_BACKEND_WERROR=ON "${@:2}"
cmake --build "$build" --parallel

plugin=$build/libanyplace_backend_newname.so
symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}')
if [[ $symbols != anyplace_backend_entry ]]; then
  echo "$plugin exports more than its entry: $symbols" >&2
  exit 1
fi

ctest --test-dir "$build" --output-on-failure --no-tests=error --label-exclude conformance
command=$(sed -n 's/^ANYPLACE_COMMAND:[A-Z]*=//p' "$build/CMakeCache.txt")
# A case gets more than its usual 20 seconds, because a machine that runs CI often does other things too.
"$command" conformance --place newname:0 --plugin "$plugin" --timeout 300 --junit "$build/conformance.xml"
