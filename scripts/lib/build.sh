# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Configuring, building and testing, with the presets of CMakePresets.json. Sourced, from the repository's root. What ctest
# found out is left in tests_passed, tests_failed and tests_skipped.

source scripts/lib/package_headers.sh

jobs=$(nproc)
# Most tests wait for a part of their time: for a limit, a child or a thread.
tests_at_once=$((2 * jobs))

# Who runs the scripts of a tree trusts it, also where it is another user's: root's work in a user's clone (docs/places.md#trust).
trust_tree() {
  local at=$PWD
  until [[ $at == / ]]; do
    if [[ ! -O $at && $(stat -c %u "$at") != 0 ]]; then
      export ANYPLACE_TRUSTED_FOLDERS=$PWD${ANYPLACE_TRUSTED_FOLDERS:+:$ANYPLACE_TRUSTED_FOLDERS}
      return
    fi
    at=$(dirname "$at")
  done
}
trust_tree

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

# More tests than this that fail aren't flaky.
most_tried_again=3

# run_tests BUILD_FOLDER [CTEST_ARGUMENT...]: fails if a test fails, or if there is none. Tests with the label "alone" kill processes or
# run into limits of the machine: they run one at a time, at the end. Where few fail, these are tried once more, one at a time. Of each
# that passes then, a line says that it is flaky, and tests_flaky counts it. What fails under a sanitizer isn't tried again, unless it runs
# alone: which race is seen is up to chance.
run_tests() {
  local folder=$1 status=0 tried_again=$most_tried_again
  shift
  tests_passed=0 tests_failed=0 tests_skipped=0 tests_flaky=0
  if [[ $folder == build-*san* ]]; then tried_again=0; fi
  run_twice "$folder" junit.xml "$tried_again" --parallel "$tests_at_once" -LE '^alone$' "$@" || status=1
  run_twice "$folder" junit_alone.xml "$most_tried_again" --parallel 1 -L '^alone$' "$@" || status=1
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

# run_twice BUILD_FOLDER JUNIT_FILE MOST CTEST_ARGUMENT...: the tests, and once more those that failed, if there are at most so many.
run_twice() {
  local folder=$1 junit=$2 most=$3 before=$tests_failed failed
  shift 3
  if run_ctest "$folder" "$junit" "$@"; then return; fi
  failed=$((tests_failed - before))
  if ((failed == 0 || failed > most)); then return 1; fi
  echo "$failed of the tests failed, and are tried once more, alone."
  tests_failed=$before
  # The later --parallel counts.
  local status=0
  run_ctest "$folder" again_"$junit" "$@" --parallel 1 --rerun-failed || status=1
  say_flaky "$folder/again_$junit"
  return "$status"
}

# run_ctest BUILD_FOLDER JUNIT_FILE CTEST_ARGUMENT...: adds to the counts. That no test was selected is no failure.
run_ctest() {
  local folder=$1 junit=$1/$2 status=0
  rm -f "$junit"
  ctest --test-dir "$folder" --output-on-failure --no-tests=ignore --output-junit "$2" "${@:3}" </dev/null || status=$?
  if [[ -s $junit ]]; then
    count_tests "$junit"
  elif ((status != 0)); then
    echo "ctest left no results." >&2
    tests_failed=$((tests_failed + 1))
  fi
  return "$status"
}

# count_tests JUNIT_FILE: adds up by the status of each case. "notrun" is a skip only if the test itself asked for it.
count_tests() {
  local total passed notrun skipped
  total=$(grep -c '<testcase ' "$1" || true)
  passed=$(grep -c '<testcase .*status="run"' "$1" || true)
  notrun=$(grep -c '<testcase .*status="notrun"' "$1" || true)
  skipped=$(grep -c '<skipped message="SKIP_' "$1" || true)
  ((skipped <= notrun)) || skipped=$notrun
  tests_passed=$((tests_passed + passed)) tests_skipped=$((tests_skipped + skipped))
  tests_failed=$((tests_failed + total - passed - skipped - $(grep -c '<testcase .*status="disabled"' "$1" || true)))
}

# say_flaky JUNIT_FILE: of the tests that were tried again, those that passed.
say_flaky() {
  local name
  while read -r name; do
    echo "flaky: $name failed, and passed when it was tried again"
    tests_flaky=$((tests_flaky + 1))
  done < <(sed -n 's/.*<testcase name="\([^"]*\)".*status="run".*/\1/p' "$1" 2>/dev/null)
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
