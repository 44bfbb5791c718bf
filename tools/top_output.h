// SPDX-License-Identifier: Apache-2.0
//
// What `anyplace top` writes for programs: an object a line, or CSV. docs/top.md lists the fields.
#pragma once

#include <string>

#include "json.h"
#include "top_snapshot.h"

namespace anyplace::tool {

/// "2026-01-31T23:59:59.123Z".
std::string utc_text(std::chrono::system_clock::time_point time);

/// One line. What is unknown is null.
std::string top_json(const TopSnapshot& snapshot);

/// The names of the fields, and a line for each device. What is unknown is empty. Texts are quoted as RFC 4180 has it;
/// lines end as everywhere on Linux.
std::string top_csv_heading();
std::string top_csv(const TopSnapshot& snapshot);

}  // namespace anyplace::tool
