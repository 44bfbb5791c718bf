// SPDX-License-Identifier: Apache-2.0
//
// The handler's code is async-signal-safe: it formats by hand and calls only write, sigaction and raise. What it does
// about protected memory is in protection_report.cpp.
#include "fault_report.h"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "protection.h"
#include "report_text.h"

namespace anyplace::cpu_sim {

constinit thread_local const char* InKernel::current_name = nullptr;
constinit thread_local const anyplace_block* InKernel::current_block = nullptr;
constinit thread_local const std::uint32_t* InKernel::current_blocks = nullptr;

namespace {

constexpr std::size_t signal_stack_bytes = 64 << 10;

/// Adds "(3, 0, 0)": the position of the block that is `further` ones behind `block` in its row.
void add_position(ReportText& text, const anyplace_block& block, std::uint32_t further) noexcept {
  for (int i = 0; i < 3; ++i) {
    text.add(i == 0 ? "(" : ", ");
    text.add(block.index[i] + (i == 0 ? further : 0));
  }
  text.add(")");
}

struct Signal {
  int number;
  const char* name;
  struct sigaction before;  // The former handler is written here before this one is installed.
};
Signal signals[] = {{SIGSEGV, "SIGSEGV", {}}, {SIGBUS, "SIGBUS", {}}, {SIGFPE, "SIGFPE", {}}, {SIGILL, "SIGILL", {}}};

Signal* find(int number) noexcept {
  for (Signal& signal : signals) {
    if (signal.number == number) return &signal;
  }
  return nullptr;
}

void on_signal(int number, siginfo_t* info, void* context) noexcept;

/// Does what would happen without this handler. With `once` the instruction may succeed if it is tried again.
void pass_on(Signal& signal, siginfo_t* info, void* context, bool once) noexcept {
  const struct sigaction& before = signal.before;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal.number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal.number);
  const bool sent = info->si_code <= 0;  // kill or raise sent it: the instruction won't raise it again.
  if (sent && before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;  // A faulty instruction's signal can't be ignored.
  sigaction(signal.number, &action, nullptr);
  if (sent || once) raise(signal.number);  // The signal is delivered when this handler returns.
}

}  // namespace

void InKernel::describe(ReportText& text) noexcept {
  const std::uint32_t blocks = *current_blocks;
  text.add("the kernel ");
  text.add(current_name);
  text.add(blocks > 1 ? ", one of the blocks " : ", block ");
  add_position(text, *current_block, 0);
  if (blocks <= 1) return;
  text.add(" to ");
  add_position(text, *current_block, blocks - 1);
}

void write_fault(int number, const void* address) noexcept {
  const Signal* const signal = find(number);
  if (!InKernel::any() || signal == nullptr) return;
  ReportText line;
  line.add("anyplace: cpu_sim: ");
  line.add(signal->name);
  line.add(" at address ");
  line.add_hex(reinterpret_cast<std::uintptr_t>(address));
  line.add(" in ");
  InKernel::describe(line);
  InKernel::current_block = nullptr;  // The report is written once.
  line.add("; what stops a process here is a fault of the kernel, or other results, on a device");
  line.write();
}

namespace {

void on_signal(int number, siginfo_t* info, void* context) noexcept {
  const int before = errno;
  Protection::Fault fault = Protection::Fault::unknown;
  if (Protection* const protection = Protection::get(); protection != nullptr && number == SIGSEGV) {
    if (info->si_code > 0) fault = protection->fault(*info, context);
  }
  if (fault == Protection::Fault::unknown && info->si_code > 0) write_fault(number, info->si_addr);
  Signal* const signal = find(number);
  if (fault != Protection::Fault::opened && signal != nullptr) {
    pass_on(*signal, info, context, fault == Protection::Fault::reported);
  }
  errno = before;
}

}  // namespace

void report_faults() noexcept {
  static std::atomic<bool> begun{false};
  if (begun.exchange(true, std::memory_order_relaxed)) return;
  for (Signal& signal : signals) {
    if (sigaction(signal.number, nullptr, &signal.before) != 0) continue;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    // The former handler's flags and mask are kept, so that it finds what it expects when it is called.
    action.sa_mask = signal.before.sa_mask;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | (signal.before.sa_flags & SA_NODEFER);
    sigaction(signal.number, &action, nullptr);
  }
}

SignalStack::SignalStack() noexcept {
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  void* const memory =
      mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  stack = {};
  stack.ss_sp = memory;
  stack.ss_size = signal_stack_bytes;
  if (sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, signal_stack_bytes);
  }
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  if (sigaltstack(&stack, nullptr) == 0) munmap(memory_, signal_stack_bytes);
}

}  // namespace anyplace::cpu_sim
