// SPDX-License-Identifier: Apache-2.0
//
// The process's phase and how it changes: to forked in the child of a fork, to exiting in exit.cpp.
#include "process.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "borrow.h"
#include "exit.h"

namespace anyplace::detail {

std::atomic<Phase> process_phase{Phase::running};
constinit thread_local CallState call_state;

namespace {

/// Runs in the child, whose only thread may have come out of anywhere: it may not lock, allocate or call a backend.
void in_child_of_fork() noexcept {
  process_phase.store(Phase::forked, std::memory_order_relaxed);
  leave_short_calls();  // the calling thread is the only one; what it starts has not joined, and won't
}

}  // namespace

void watch_process() {
  static std::once_flag watched;
  std::call_once(watched, [] {
    // Without memory for it the next use tries again; twice does no harm.
    if (pthread_atfork(nullptr, nullptr, in_child_of_fork) != 0) throw std::bad_alloc();
    if (std::atexit(shut_down_at_exit) != 0) throw std::bad_alloc();
  });
}

}  // namespace anyplace::detail
