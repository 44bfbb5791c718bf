// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "failure.h"
#include "fault_report.h"

namespace anyplace::cpu_sim {
namespace {

// With the initial-exec model it is a part of every thread from its start. Else the C library would allocate it at its
// first use and free it on another thread, which a race detector takes for a race.
constinit thread_local bool own_thread __attribute__((tls_model("initial-exec"))) = false;

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

bool on_own_thread() noexcept { return own_thread; }

HelpingScope::HelpingScope() noexcept : before_(std::exchange(own_thread, true)) {}
HelpingScope::~HelpingScope() { own_thread = before_; }

}  // namespace anyplace::cpu_sim
