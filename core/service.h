// SPDX-License-Identifier: Apache-2.0
//
// Two threads of the core's own, each started at first need.
//
// The service thread does what may not be done where it comes up: destroying from inside a host function, submitting
// what was held back. Tasks run in order. The polling thread asks again and again about what nobody announces, and
// never does anything that could block, so that what the service thread waits for can always be found to be done.
#pragma once

#include <chrono>
#include <functional>

#include "process.h"

namespace anyplace::detail {

/// Any thread, also inside callbacks. The task doesn't throw. After stop_service() it is never run.
void post_to_service(std::function<void()> task) noexcept;

/// Calls `step` on the polling thread, less and less often, until it returns true. It neither throws nor blocks. After
/// stop_service() it isn't called any more.
void poll_in_service(std::function<bool()> step) noexcept;

/// Lets streams that are held and waits between backends finish, runs what is queued, and stops both threads; false if
/// `timeout` ran out first (a thread that is still at something is then left alone). Called once, at exit, while the
/// process still counts as running; the backends are shut down afterwards.
bool stop_service(std::chrono::nanoseconds timeout) noexcept;

/// Whether a backend's entry may be called from a destructor or a thread of the core's: not in a forked child, and not
/// once the backends are being shut down.
inline bool backends_callable() noexcept { return process_running(); }

}  // namespace anyplace::detail
