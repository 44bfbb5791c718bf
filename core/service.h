// SPDX-License-Identifier: Apache-2.0
//
// The service thread: one thread of the core's own, started at first need, for what may not be done where it comes up:
// destroying from inside a host function, submitting held commands. Tasks run in order. They don't throw.
#pragma once

#include <chrono>
#include <functional>

namespace anyplace::detail {

/// Any thread, also inside callbacks. After the process began to exit the task is dropped.
void post_to_service(std::function<void()> task) noexcept;

/// Runs what is queued and stops the thread; false if `timeout` ran out first (the thread is then left alone). Called
/// once, at exit.
bool stop_service(std::chrono::nanoseconds timeout) noexcept;

}  // namespace anyplace::detail
