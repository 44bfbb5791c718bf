// SPDX-License-Identifier: Apache-2.0
//
// This backend starts its threads here. They have names, and block the process's asynchronous signals, which the
// application's own threads handle. Signals for faults of the thread itself (SIGSEGV and the like) aren't blocked.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

namespace anyplace::cpu_sim {

/// Throws Failure(BACKEND_FAILED) when the system gives no thread. `name` has at most 15 characters.
std::thread start_thread(const char* name, std::function<void()> body);

/// Gives up the core of a thread that has polled another one for `polled_ns`, once that was long enough. The two may be
/// on one core; the other could then not begin before this one sleeps.
void give_up_core(std::int64_t polled_ns) noexcept;

/// Returns whether the calling thread was made by start_thread or is helping. If so, waiting for all threads or all
/// work would mean waiting for itself.
bool on_own_thread() noexcept;

/// Marks the calling host thread as helping (help.h) for as long as it lives.
class HelpingScope {
 public:
  HelpingScope() noexcept;
  HelpingScope(const HelpingScope&) = delete;
  HelpingScope& operator=(const HelpingScope&) = delete;
  ~HelpingScope();

 private:
  const bool before_;
};

}  // namespace anyplace::cpu_sim
