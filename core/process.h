// SPDX-License-Identifier: Apache-2.0
//
// What state the process and the calling thread are in: running, forked, exiting; inside the user's code or not.
// Every public entry begins with enter() (call.h), which looks at nothing but these; or, on the short way (borrow.h),
// with the thread's CallRecord, which is there only when enter() would have nothing to say.
#pragma once

#include <atomic>

namespace anyplace::detail {

enum class Phase : int {
  running,
  forked,   ///< the child of a fork after a backend was initialised: every call fails, destructors do nothing
  exiting,  ///< the backends are shut down: likewise
};

extern std::atomic<Phase> process_phase;

/// Defined in borrow.h.
struct CallRecord;

struct CallState {
  /// The thread's, when it may go the short way; null inside the user's code, in a forked child, before the first call
  /// and when the thread is ending.
  CallRecord* record = nullptr;
  CallRecord* joined = nullptr;  ///< the thread's, also inside the user's code
  /// 0 when the thread may go what short ways there are, also without a record: not_joined as long as it hasn't joined
  /// or after it has left (borrow.h), and one_callback for each host function and kernel that it is inside of.
  int barred = not_joined;

  static constexpr int not_joined = 1;
  static constexpr int one_callback = 2;
};

/// Initial-exec: one load instead of a call. The few bytes fit what the C library keeps for libraries opened later.
extern constinit thread_local CallState call_state __attribute__((tls_model("initial-exec")));

inline bool in_callback() noexcept { return call_state.barred >= CallState::one_callback; }
inline bool process_running() noexcept { return process_phase.load(std::memory_order_relaxed) == Phase::running; }

inline void begin_callback() noexcept {
  call_state.barred += CallState::one_callback;
  call_state.record = nullptr;
}
inline void end_callback() noexcept {
  call_state.barred -= CallState::one_callback;
  if (!in_callback()) call_state.record = call_state.joined;
}

/// Marks the thread as being inside the user's code, for a scope. What was before is kept rather than worked out, so
/// that one scope after another waits for no store of its own; only in a child of a fork made inside is it different.
class CallbackScope {
 public:
  CallbackScope() noexcept : before_(call_state.barred) {
    call_state.barred = before_ + CallState::one_callback;
    call_state.record = nullptr;
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() {
    if (call_state.barred == before_ + CallState::one_callback) [[likely]] {
      call_state.barred = before_;
    } else {
      call_state.barred -= CallState::one_callback;
    }
    if (before_ < CallState::one_callback) call_state.record = call_state.joined;
  }

 private:
  int before_;
};

/// Called before a backend's first use: from then on fork and exit are watched. Idempotent.
void watch_process();

}  // namespace anyplace::detail
