// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <sched.h>

#include <utility>

#include "anyplace/backend/kit/start_thread.h"
#include "fault_report.h"

namespace anyplace::cpu_sim {
namespace {

constinit thread_local bool own_thread = false;

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  return backend::start_thread(name, [run = std::move(body)] {
    own_thread = true;
    const SignalStack signal_stack;
    run();
  });
}

void give_up_core(std::int64_t polled_ns) noexcept {
  constexpr std::int64_t enough_ns = 500;
  if (polled_ns > enough_ns) sched_yield();
}

bool on_own_thread() noexcept { return own_thread; }

HelpingScope::HelpingScope() noexcept : before_(std::exchange(own_thread, true)) {}
HelpingScope::~HelpingScope() { own_thread = before_; }

}  // namespace anyplace::cpu_sim
