// SPDX-License-Identifier: Apache-2.0
//
// A kernel that leaves its memory ends the process, as nothing else can be done about it; what is added here is a line
// on standard error that says which kernel it was, and which block.
//
// From the first kernel on, SIGSEGV, SIGBUS, SIGFPE and SIGILL have a handler of this backend's. On a thread that is
// in a kernel it writes that line; then, and on every other thread at once, it does what would have happened without
// it: it calls the handler that was there before, an application's or a sanitizer's, or dies by the signal.
// ANYPLACE_CPU_SIM_FAULTS=off leaves the signals alone.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_FAULT_REPORT_H
#define ANYPLACE_BACKENDS_CPU_SIM_FAULT_REPORT_H

#include <anyplace/backend/abi.h>

namespace anyplace::cpu_sim {

/// Puts the handlers there. Idempotent. They are never taken away.
void report_faults() noexcept;

/// Says which kernel and block this thread is in, as long as it lives. `name` and `block` outlive it.
class InKernel {
 public:
  InKernel(const char* name, const anyplace_block& block) noexcept {
    current_name = name;
    current_block = &block;
  }
  InKernel(const InKernel&) = delete;  // ended once
  InKernel& operator=(const InKernel&) = delete;
  ~InKernel() { current_block = nullptr; }

 private:
  friend void write_fault(int number, const void* address) noexcept;
  // Initial-exec: a signal handler can't have them allocated.
  static constinit thread_local const char* current_name __attribute__((tls_model("initial-exec")));
  static constinit thread_local const anyplace_block* current_block __attribute__((tls_model("initial-exec")));
};

/// A stack of its own for signal handlers of this thread, as long as it lives: a kernel may have run out of its stack.
/// Does nothing where the thread has one already.
class SignalStack {
 public:
  SignalStack() noexcept;
  SignalStack(const SignalStack&) = delete;  // given back once
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  void* memory_ = nullptr;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_FAULT_REPORT_H
