# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Running the conformance suite, and what it found on each backend, from the JUnit files that the tests leave. Sourced.

# run_suite LOG COMMAND...: COMMAND is `anyplace conformance`. Leaves tests_passed, tests_failed and tests_skipped as run_tests does, and fails if
# a case fails, or if the suite didn't come to its end.
run_suite() {
  local log=$1 status=0
  "${@:2}" | tee "$log" || status=$?
  tests_passed=0 tests_failed=0 tests_skipped=0
  if [[ $(grep -E '^[0-9]+ cases: ' "$log") =~ ([0-9]+)" passed, "([0-9]+)" failed, "([0-9]+)" skipped" ]]; then
    tests_passed=${BASH_REMATCH[1]} tests_failed=${BASH_REMATCH[2]} tests_skipped=${BASH_REMATCH[3]}
  fi
  if ((status != 0 && tests_failed == 0)); then
    tests_failed=1
  fi
  ((tests_failed == 0))
}

# suites_table FOLDER: a line for each FOLDER/*.xml with its cases, and under it which failed and why, and what was skipped and for want of
# what.
suites_table() {
  local file name
  local -a files=("$1"/*.xml)
  [[ -e ${files[0]} ]] || return 0
  printf '%-28s %7s %7s %7s %8s\n' "conformance suite on" cases passed failed skipped
  for file in "${files[@]}"; do
    name=$(basename "$file" .xml)
    awk -v name="${name//_on_/ on }" '
      function number(key) { match($0, key "=\"[0-9]+\""); return substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 3) }
      /^<testsuites / {
        cases = number("tests"); failed = number("failures") + number("errors"); skipped = number("skipped")
      }
      match($0, /<testcase classname="[^"]*" name="[^"]*"/) { one = substr($0, RSTART + 21, RLENGTH - 22); sub(/" name="/, ": ", one) }
      match($0, /<failure message="[^"]*"/) { failures[++failure] = one ": " substr($0, RSTART + 18, RLENGTH - 19) }
      match($0, /<skipped message="[^"]*"/) { reasons[substr($0, RSTART + 18, RLENGTH - 19)]++ }
      END {
        printf "%-28s %7d %7d %7d %8d\n", name, cases, cases - failed - skipped, failed, skipped
        for (i = 1; i <= failure; ++i) printf "%8s failed: %s\n", "", failures[i]
        for (reason in reasons) printf "%8d skipped: %s\n", reasons[reason], reason | "sort -rn"
      }' "$file"
  done
}
