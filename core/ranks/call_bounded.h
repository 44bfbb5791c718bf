// SPDX-License-Identifier: Apache-2.0
//
// call_bounded: a call of an engine's that waits for other ranks and can't be given a limit, on a thread of its own.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/deadline.h"

namespace anyplace::detail {

/// Calls `function` on a thread of its own, which blocks all signals, and waits for it, at most until the deadline.
/// False: it still runs, and is left to itself, with what it captured. Throws std::system_error if there is no thread.
inline bool call_bounded(const Deadline& deadline, std::function<void()> function) {
  struct Shared {
    std::mutex mutex;  // guards done
    std::condition_variable changed;
    bool done = false;
    std::function<void()> function;
  };
  struct NoSignals {
    sigset_t before;
    NoSignals() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const auto shared = std::make_shared<Shared>();
  shared->function = std::move(function);
  {
    const NoSignals scope;  // the thread's mask is its maker's
    std::thread([shared] {
      shared->function();
      const std::lock_guard lock(shared->mutex);
      shared->done = true;
      shared->changed.notify_all();
    }).detach();
  }
  std::unique_lock lock(shared->mutex);
  return wait_for_condition(shared->changed, lock, deadline, [&] { return shared->done; });
}

}  // namespace anyplace::detail
