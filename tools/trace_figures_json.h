// SPDX-License-Identifier: Apache-2.0
// The figures of a trace as JSON: docs/command.md lists the fields.
#pragma once

#include "json.h"
#include "trace_figures.h"

namespace anyplace::tool {

/// `is_cut` is that of the RunTrace.
Json figures_json(const TraceFigures& figures, bool is_cut);

}  // namespace anyplace::tool
