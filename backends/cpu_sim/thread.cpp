// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <pthread.h>
#include <sched.h>

#include <system_error>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "failure.h"
#include "fault_report.h"

namespace anyplace::cpu_sim {
namespace {

constinit thread_local bool own_thread = false;

}  // namespace

std::thread start_thread(const char* name, std::function<void()> body) {
  const anyplace::backend::SignalsBlocked blocked;
  try {
    return std::thread([name, run = std::move(body)] {
      own_thread = true;
      pthread_setname_np(pthread_self(), name);
      const SignalStack signal_stack;
      run();
    });
  } catch (const std::system_error& error) {
    throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, std::string("no thread could be started: ") + error.what(),
                  error.code().value(), "pthread_create");
  }
}

void give_up_core(std::int64_t polled_ns) noexcept {
  constexpr std::int64_t enough_ns = 500;
  if (polled_ns > enough_ns) sched_yield();
}

bool on_own_thread() noexcept { return own_thread; }

HelpingScope::HelpingScope() noexcept : before_(std::exchange(own_thread, true)) {}
HelpingScope::~HelpingScope() { own_thread = before_; }

}  // namespace anyplace::cpu_sim
