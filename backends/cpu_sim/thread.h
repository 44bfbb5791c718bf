// SPDX-License-Identifier: Apache-2.0
//
// How this backend starts threads: named, and deaf to the process's asynchronous signals, which belong to the
// application's own threads. Faults of the thread itself (SIGSEGV and the like) stay deliverable.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_THREAD_H
#define ANYPLACE_BACKENDS_CPU_SIM_THREAD_H

#include <functional>
#include <thread>

namespace anyplace::cpu_sim {

/// Throws Failure(BACKEND_FAILED) when the system gives no thread. `name` has at most 15 characters.
std::thread start_thread(const char* name, std::function<void()> body);

/// Whether the calling thread was made by start_thread, or helps: whether waiting for all threads, or for all work,
/// would be waiting for itself.
bool on_own_thread() noexcept;

/// While it lives the calling thread, which is the host's, runs work of the simulator's (help.h).
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

#endif  // ANYPLACE_BACKENDS_CPU_SIM_THREAD_H
