// SPDX-License-Identifier: Apache-2.0
// The timelines of a failing schedule and of a good one, as pages for a browser.
#pragma once

#include <string>

namespace anyplace::tool {

/// Writes `failing.html`, `good.html` and `beside.html`, which shows the two, to the folder: what ran by the reports,
/// in virtual time. Without `good` only the first. Nothing is written where the command has no `timeline`.
void write_schedule_pages(const std::string& folder, const std::string& failing, const std::string& good);

}  // namespace anyplace::tool
