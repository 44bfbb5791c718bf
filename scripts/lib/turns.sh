# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Turns: what takes long is divided among any four commits in a row. Sourced, from the repository's root.
#
# The number of a commit is the count of those up to it (git rev-list --count). What it leaves when divided by four is its turn, which the
# tests find in ANYPLACE_TURN as "2/4" (tests/support/turn.h, tests/support/in_turn). "all", or no variable, is everything. What a quarter
# of the number leaves is its round, in ANYPLACE_ROUND, which divides a few suites once more.

turns=4
# What has changed in so many commits is tested out of its turn.
recent_commits=10

# choose_turn: sets ANYPLACE_TURN and ANYPLACE_ROUND, unless the turn is set already, and says which turn it is. Without git's history it is the first.
choose_turn() {
  local number
  if [[ -z ${ANYPLACE_TURN:-} ]]; then
    number=$(git -c safe.directory='*' rev-list --count HEAD 2>/dev/null || echo 0)
    export ANYPLACE_TURN=$((number % turns))/$turns ANYPLACE_ROUND=$((number / turns % turns))
    echo "Turn $ANYPLACE_TURN, round $ANYPLACE_ROUND, of commit number $number. ANYPLACE_TURN=all runs what other turns have, too."
  elif [[ $ANYPLACE_TURN == all ]]; then
    echo "All turns."
  elif [[ $ANYPLACE_TURN =~ ^([0-9]+)/$turns$ ]] && ((BASH_REMATCH[1] < turns)); then
    export ANYPLACE_TURN
    echo "Turn $ANYPLACE_TURN, as ANYPLACE_TURN says."
  else
    echo "ANYPLACE_TURN is '$ANYPLACE_TURN'; it takes 0/$turns to $((turns - 1))/$turns, or all" >&2
    return 1
  fi
}

# is_turn NUMBER: whether it is the turn of what has this number.
is_turn() { [[ $ANYPLACE_TURN == all ]] || (($1 % turns == ${ANYPLACE_TURN%/*})); }

# changed_recently PATH...: whether the last commits have changed something there; yes where that can't be known.
changed_recently() {
  local before
  before=$(git rev-parse --quiet --verify "HEAD~$recent_commits" 2>/dev/null) || return 0
  ! git diff --quiet "$before" HEAD -- "$@"
}
