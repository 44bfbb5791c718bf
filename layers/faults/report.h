// SPDX-License-Identifier: Apache-2.0
//
// The report of what rules hit, and of what is left when a backend ends: for programs that run another one under rules,
// as `anyplace sweep` does.
#pragma once

#include <string>
#include <string_view>

#include "objects.h"
#include "rule_set.h"

namespace anyplace::faults {

/// The file that ANYPLACE_FAULTS_REPORT names; "" if there is none.
std::string report_path();

/// Adds a line of JSON to the file: {"process": 77, "backend": "cuda", "hit": "memory_set"}. It is written at once, so
/// that it is there if the program crashes of the failure. Writes a warning as add_to_report does.
void add_hit_to_report(const std::string& path, std::string_view backend, std::string_view entry);

/// Adds a line of JSON to the file: {"process": 77, "backend": "cuda", "rules": [...], "live": {"events": 0, ...}},
/// with the rules of RuleSet::counts() and the counts of Objects::live(). Several processes may add to one file. Writes
/// a warning to standard error if it can't.
void add_to_report(const std::string& path, std::string_view backend, const RuleSet& rules, const Objects& objects);

}  // namespace anyplace::faults
