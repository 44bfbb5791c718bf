// SPDX-License-Identifier: Apache-2.0
//
// A kernel that accesses memory it may not ends the process. Before that, this code writes a line to standard error
// that names the kernel and the block, or the blocks that run as one.
//
// From the first kernel on, this backend handles SIGSEGV, SIGBUS, SIGFPE and SIGILL. On a thread that is in a kernel
// the handler writes that line. Then, on any thread, it does what would have happened without it: it calls the former
// handler, an application's or a sanitizer's, or lets the signal end the process. With ANYPLACE_CPU_SIM_FAULTS=off no
// handler is installed. Where device memory is protected (protection.h), the handlers are installed from the beginning.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>

namespace anyplace::cpu_sim {

/// Installs the handlers, unless they are installed. They are never removed.
void report_faults() noexcept;

class ReportText;

/// While it lives, the fault report knows which kernel this thread is in, and which blocks: the kernel runs `block`,
/// and `blocks` - 1 behind it in its row of the grid, as one. All three outlive it.
class InKernel {
 public:
  InKernel(const char* name, const anyplace_block& block, const std::uint32_t& blocks) noexcept {
    current_name = name;
    current_blocks = &blocks;
    current_block = &block;
  }
  InKernel(const InKernel&) = delete;  // Its end is noted once.
  InKernel& operator=(const InKernel&) = delete;
  ~InKernel() { current_block = nullptr; }

  /// Returns whether this thread is in a kernel.
  static bool any() noexcept { return current_block != nullptr; }
  /// Adds the kernel that this thread is in, "the kernel scale, block (3, 0, 0)" or "the kernel scale, one of the
  /// blocks (0, 0, 0) to (255, 0, 0)".
  static void describe(ReportText& text) noexcept;

 private:
  friend void write_fault(int number, const void* address) noexcept;
  // A signal handler can't allocate thread-local variables: CMakeLists.txt says that they are there from the start.
  static constinit thread_local const char* current_name;
  static constinit thread_local const anyplace_block* current_block;
  static constinit thread_local const std::uint32_t* current_blocks;
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
