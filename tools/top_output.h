// SPDX-License-Identifier: Apache-2.0
//
// The output of `anyplace top` for programs: a JSON object for each line, or CSV. docs/top.md lists the fields.
#pragma once

#include <string>

#include "json.h"
#include "top_snapshot.h"

namespace anyplace::tool {

/// The time in UTC: "2026-01-31T23:59:59.123Z".
std::string utc_text(std::chrono::system_clock::time_point time);

/// The snapshot as one line of JSON. Unknown values are null.
std::string top_json(const TopSnapshot& snapshot);

/// The names of the fields, and a line for each device. Unknown values are empty. Texts are quoted as in RFC 4180;
/// lines end as everywhere on Linux.
std::string top_csv_heading();
std::string top_csv(const TopSnapshot& snapshot);

}  // namespace anyplace::tool
