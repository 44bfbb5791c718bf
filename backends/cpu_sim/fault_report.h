// SPDX-License-Identifier: Apache-2.0
//
// A kernel that accesses memory it may not ends the process. Before that, this code writes a line to standard error
// that names the kernel and the block.
//
// From the first kernel on, this backend handles SIGSEGV, SIGBUS, SIGFPE and SIGILL. On a thread that is in a kernel
// the handler writes that line. Then, on any thread, it does what would have happened without it: it calls the former
// handler, an application's or a sanitizer's, or lets the signal end the process. With ANYPLACE_CPU_SIM_FAULTS=off no
// handler is installed. Where device memory is protected (protection.h), the handlers are installed from the beginning.
#pragma once

#include <anyplace/backend/abi.h>

namespace anyplace::cpu_sim {

/// Installs the handlers, unless they are installed. They are never removed.
void report_faults() noexcept;

/// While it lives, the fault report knows which kernel and block this thread is in. `name` and `block` outlive it.
class InKernel {
 public:
  InKernel(const char* name, const anyplace_block& block) noexcept {
    current_name = name;
    current_block = &block;
  }
  InKernel(const InKernel&) = delete;  // Its end is noted once.
  InKernel& operator=(const InKernel&) = delete;
  ~InKernel() { current_block = nullptr; }

  /// Return this thread's kernel and block; the block is null if it is in none.
  static const char* name() noexcept { return current_name; }
  static const anyplace_block* block() noexcept { return current_block; }

 private:
  friend void write_fault(int number, const void* address) noexcept;
  // A signal handler can't allocate thread-local variables: CMakeLists.txt says that they are there from the start.
  static constinit thread_local const char* current_name;
  static constinit thread_local const anyplace_block* current_block;
};

/// Gives this thread, for as long as it lives, an alternate stack for signal handlers, because a kernel may have
/// overflowed the thread's own. It does nothing if the thread has an alternate stack already.
class SignalStack {
 public:
  SignalStack() noexcept;
  SignalStack(const SignalStack&) = delete;  // It is given back once.
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  void* memory_ = nullptr;
};

}  // namespace anyplace::cpu_sim
