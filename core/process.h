// SPDX-License-Identifier: Apache-2.0
//
// What state the process and the calling thread are in: running, forked, exiting; inside the user's code or not.
// Every public entry begins with enter() (call.h), which looks at nothing but these two words.
#pragma once

#include <atomic>

namespace anyplace::detail {

enum class Phase : int {
  running,
  forked,   ///< the child of a fork after a backend was initialised: every call fails, destructors do nothing
  exiting,  ///< the backends are shut down: likewise
};

extern std::atomic<Phase> process_phase;

/// How many host functions and kernels the calling thread is inside of. Initial-exec: one load instead of a call.
extern constinit thread_local int callback_depth __attribute__((tls_model("initial-exec")));

inline bool in_callback() noexcept { return callback_depth != 0; }
inline bool process_running() noexcept { return process_phase.load(std::memory_order_relaxed) == Phase::running; }

/// Marks the thread as being inside the user's code, for a scope.
class CallbackScope {
 public:
  CallbackScope() noexcept { ++callback_depth; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() { --callback_depth; }
};

/// Called before a backend's first use: from then on fork and exit are watched. Idempotent.
void watch_process();

}  // namespace anyplace::detail
