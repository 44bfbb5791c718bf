# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Checks of a framework's samples under layers. Sourced. They say `|| return`, because set -e is off where they are called.

# silent PYTHON REPORTS COMMAND...: it succeeds, and the layer validate, whose reports are left in REPORTS, finds nothing. More settings of
# the layer are in validate_settings.
silent() {
  local python=$1 reports=$2
  shift 2
  rm -f "$reports"
  ANYPLACE_LAYERS=validate ANYPLACE_VALIDATE="log report=$reports ${validate_settings:-}" "$@" || return
  "$python" -c 'import json, sys
found = json.load(open(sys.argv[1]))["reports"]
print(len(found), "reports")
sys.exit(bool(found))' "$reports"
}

# traced PYTHON TRACE COMMAND...: it succeeds under the layer trace, and a reader with Perfetto's published schema finds the trace whole.
# PYTHON has the package perfetto.
traced() {
  local python=$1 trace=$2
  shift 2
  ANYPLACE_LAYERS=trace ANYPLACE_TRACE=$trace "$@" || return
  "$python" "$(dirname "${BASH_SOURCE[0]}")/../check-trace" "$trace"
}
