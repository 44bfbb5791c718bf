// SPDX-License-Identifier: Apache-2.0
//
// The process's phase and how it changes: to forked in the child of a fork, to exiting in exit.cpp.
#include "process.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>

#include "exit.h"

namespace anyplace::detail {

std::atomic<Phase> process_phase{Phase::running};
constinit thread_local int callback_depth = 0;

namespace {

/// Runs in the child, whose only thread may have come out of anywhere: it may not lock, allocate or call a backend.
void in_child_of_fork() noexcept { process_phase.store(Phase::forked, std::memory_order_relaxed); }

}  // namespace

void watch_process() {
  static std::once_flag watched;
  std::call_once(watched, [] {
    pthread_atfork(nullptr, nullptr, in_child_of_fork);
    std::atexit(shut_down_at_exit);
  });
}

}  // namespace anyplace::detail
