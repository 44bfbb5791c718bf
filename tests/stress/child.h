// SPDX-License-Identifier: Apache-2.0
//
// A round in a process of its own: a crash, a hang, what a sanitizer says and what a vendor double has to say in the
// end are findings like wrong bytes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "model.h"

namespace stress {

struct Outcome {
  /// Empty: nothing was found. Else what kind of finding it is: "bytes", "error", "hang", "signal 11", "status 66",
  /// "misuse", "live" and what found() is called with.
  std::string finding;
  std::string text;  ///< what the process said
};

/// Where rounds run.
struct Bed {
  bool doubles = false;            ///< vendors' libraries are the tests' doubles of them
  std::chrono::seconds limit{60};  ///< a round that takes longer hangs
  std::string folder;              ///< for the doubles' reports
};

/// The backend's name in a place, an alias not resolved.
std::string backend_of(const std::string& place);
/// What ask_traits() says, in a child: this process stays without a backend, so that it can fork. Throws
/// std::runtime_error with what the child said.
std::vector<Traits> ask_in_child(const std::vector<std::string>& places, const Bed& bed);
Outcome run_in_child(const Plan& plan, const std::vector<Traits>& traits, const Bed& bed);

}  // namespace stress
