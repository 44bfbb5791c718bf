// SPDX-License-Identifier: Apache-2.0
//
// The state of the process (running, forked, exiting) and of the calling thread (inside the user's code or not). Every
// public call begins with enter() (call.h), which checks only these; or, on the fast path (handles/use.h), with the
// thread's ThreadHazards pointer, which is null whenever enter() would throw because of the thread's state.
#pragma once

#include <atomic>

namespace anyplace::detail {

enum class Phase : int {
  running,
  forked,   ///< the child of a fork after a backend was initialised: every call fails, destructors do nothing
  exiting,  ///< the backends are shut down, or about to be: every call fails, destructors do nothing
};

extern std::atomic<Phase> process_phase;

/// Defined in handles/hazard_pointer.h.
struct ThreadHazards;

struct CallState {
  /// The thread's hazard pointers while it may take the fast path. Null inside the user's code, in a forked child,
  /// before the first call and when the thread is ending.
  ThreadHazards* hazards = nullptr;
  ThreadHazards* joined = nullptr;  ///< the thread's hazard pointers, also inside the user's code
  /// 0 while the thread may take fast paths, also those without hazard pointers. It is the sum of not_joined, until the
  /// thread has joined and after it has left (hazard_pointer.h), and of one_callback for each callback that the thread
  /// is inside of.
  int barred = not_joined;

  static constexpr int not_joined = 1;
  static constexpr int one_callback = 2;
};

/// The initial-exec model makes an access one load instead of a call. The few bytes fit into the space that the C
/// library keeps for libraries that are opened later.
extern constinit thread_local CallState call_state __attribute__((tls_model("initial-exec")));

inline bool in_callback() noexcept { return call_state.barred >= CallState::one_callback; }
inline bool process_running() noexcept { return process_phase.load(std::memory_order_relaxed) == Phase::running; }

inline void begin_callback() noexcept {
  call_state.barred += CallState::one_callback;
  call_state.hazards = nullptr;
}
inline void end_callback() noexcept {
  call_state.barred -= CallState::one_callback;
  if (!in_callback()) call_state.hazards = call_state.joined;
}

/// Marks the thread as being inside the user's code, for a scope. The former value is kept in before_ rather than
/// computed from the current one, so that consecutive scopes don't wait for each other's stores. The current value
/// differs from the expected one only in a child that was forked inside the scope.
class CallbackScope {
 public:
  CallbackScope() noexcept : before_(call_state.barred) {
    call_state.barred = before_ + CallState::one_callback;
    call_state.hazards = nullptr;
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() {
    if (call_state.barred == before_ + CallState::one_callback) [[likely]] {
      call_state.barred = before_;
    } else {
      call_state.barred -= CallState::one_callback;
    }
    if (before_ < CallState::one_callback) call_state.hazards = call_state.joined;
  }

 private:
  int before_;
};

}  // namespace anyplace::detail
