// SPDX-License-Identifier: Apache-2.0
//
// What is left to say when a backend ends: for programs that run another one under rules, as `anyplace sweep` does.
#pragma once

#include <string>
#include <string_view>

#include "objects.h"
#include "rule_set.h"

namespace anyplace::faults {

/// Adds a line of JSON to the file: {"process": 77, "backend": "cuda", "rules": [...], "live": {"events": 0, ...}},
/// with the rules of RuleSet::counts() and the counts of Objects::live(). Several processes may add to one file. Writes
/// a warning to standard error if it can't.
void add_to_report(const std::string& path, std::string_view backend, const RuleSet& rules, const Objects& objects);

}  // namespace anyplace::faults
