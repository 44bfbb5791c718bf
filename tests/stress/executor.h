// SPDX-License-Identifier: Apache-2.0
//
// Runs a plan with anyplace, in a process of its own: what is found ends the process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model.h"

namespace stress {

/// Exit status of a process that found something and said so: "FINDING kind: text" on standard error.
constexpr int found_status = 70;
/// Said when the exit's time ran out, which a machine with much else to do may bring about. What is then left is no
/// finding.
constexpr std::string_view late_exit_line = "the exit was late\n";

[[noreturn]] void found(const char* kind, const std::string& text);

/// Asks the devices of these places.
std::vector<Traits> ask_traits(const std::vector<std::string>& places);

/// Returns when the round is over, with its pending work if it ends abruptly.
void execute(const Plan& plan, const std::vector<Traits>& traits);

/// Writes to standard error where the threads of execute() are. For a signal handler.
void tell_progress() noexcept;

}  // namespace stress
