// SPDX-License-Identifier: Apache-2.0
//
// Judging: runs a program's form in a process of its own, under the layer `validate`, and compares the layer's report
// with what is expected. It knows the form of the report, and nothing of what programs do.
#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace races {

struct Judgement {
  /// "": as expected; else what is wrong: "missed", "invented", "wrong report", "no report", "ended".
  std::string wrong;
  /// Each report as "race: fill@a, copy_to_host@b".
  std::vector<std::string> reports;
  std::string said;          ///< what the process said
  bool is_left_out = false;  ///< the program said that the device can't show it
};

/// Why a program can't run on that place; "" if it can.
std::string cannot_run(const Program& program, const std::string& place);

/// Runs one form twice: reports that differ are wrong, too.
Judgement judge(const Program& program, bool right, const std::string& place);

/// How often each judgement was made, and what there is to read of those that weren't as expected.
struct Summary {
  unsigned pairs = 0, skipped = 0, missed = 0, invented = 0, other = 0;
  std::string text;
};
void judge_both(const Topic& topic, const Program& program, const std::string& place, Summary& summary);

}  // namespace races
