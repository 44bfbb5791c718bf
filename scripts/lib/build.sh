# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Configuring, building and testing, with the presets of CMakePresets.json. Sourced, from the repository's root. What ctest
# found out is left in tests_passed, tests_failed and tests_skipped.

source scripts/lib/package_headers.sh

jobs=$(nproc)
# Most tests wait for a part of their time: for a limit, a child or a thread.
tests_at_once=$((2 * jobs))

# configure PRESET BUILD_FOLDER [CMAKE_ARGUMENT...]: quiet, but for what was left out and why.
configure() {
  local preset=$1 folder=$2
  shift 2
  mkdir -p "$folder"
  use_fetched_headers
  if ! cmake --preset "$preset" "$@" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    echo "Configuring failed." >&2
    return 1
  fi
  grep '^-- .*left out' "$folder/configure.log" || true
}

# run_tests BUILD_FOLDER [CTEST_ARGUMENT...]: fails if a test fails, or if there is none.
run_tests() {
  local folder=$1 status=0 junit=$1/junit.xml
  shift
  tests_passed=0 tests_failed=0 tests_skipped=0
  rm -f "$junit"
  ctest --test-dir "$folder" --parallel "$tests_at_once" --output-on-failure --no-tests=error --output-junit junit.xml "$@" \
    </dev/null || status=$?
  if [[ ! -s $junit ]]; then
    echo "ctest left no results." >&2
    tests_failed=1
    return 1
  fi
  count_tests "$junit"
  if ((tests_passed + tests_failed == 0)); then
    echo "No test ran." >&2
    tests_failed=1
  fi
  if ((tests_failed > 0)); then
    echo "One test alone: ctest --test-dir $folder --output-on-failure -R 'PART OF ITS NAME'"
  fi
  # What ctest holds for a failure without counting it as one (a program that isn't there) is one.
  if ((status != 0 && tests_failed == 0)); then
    tests_failed=1
  fi
  ((tests_failed == 0))
}

# count_tests JUNIT_FILE: adds up by the status of each case. "notrun" is a skip only if the test itself asked for it.
count_tests() {
  local total notrun
  total=$(grep -c '<testcase ' "$1" || true)
  tests_passed=$(grep -c '<testcase .*status="run"' "$1" || true)
  notrun=$(grep -c '<testcase .*status="notrun"' "$1" || true)
  tests_skipped=$(grep -c '<skipped message="SKIP_' "$1" || true)
  ((tests_skipped <= notrun)) || tests_skipped=$notrun
  tests_failed=$((total - tests_passed - tests_skipped - $(grep -c '<testcase .*status="disabled"' "$1" || true)))
}

# The form of every closing line.
summary() {
  local passed=$1 failed=$2 skipped=$3
  if ((skipped > 0)); then
    echo "$passed passed, $failed failed, $skipped skipped"
  else
    echo "$passed passed, $failed failed"
  fi
}
