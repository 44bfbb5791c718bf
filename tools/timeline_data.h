// SPDX-License-Identifier: Apache-2.0
//
// The data of a timeline's page: a trace as compact JSON. Slices are in rows in which none overlaps, in columns of
// numbers; a column that is all 0 is left out.
//
//   {"title", "summary": figures_json(), "names": [...], "kinds": [...], "notes": [...], "colors": [...],
//    "operations": {"submission": [...], "before": [...], "recorded": {...}, "awaited": {...}},
//    "groups": [{"kind": "device" or "host", "name", "counters": [{"name", "t", "v"}],
//                "lanes": [{"name", "kind", "rows": [ROW, ...], "marks": {"t", "n", "i"}}]}]}
//
// ROW has "b" (the beginning, since that of the slice before), "d" (length), "n" (name), "k" (kind), "o" (the operation
// that it submitted or is), "w" (what it waited for), "y" (bytes), "i" (note), "c" (colour), and "h" (1: the host
// waited here, 2: implicitly). Times are nanoseconds since the trace's beginning. Operations are numbered from 1 on,
// and names, kinds, notes and colours from 0 on; note and colour 0 are none.
#pragma once

#include <string>

#include "json.h"
#include "run_trace.h"
#include "trace_figures.h"

namespace anyplace::tool {

Json timeline_data(const RunTrace& trace, const TraceFigures& figures, const std::string& title);

}  // namespace anyplace::tool
