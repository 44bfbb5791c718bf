// SPDX-License-Identifier: Apache-2.0
//
// Once: does something at its first call, and again at the next when that threw. (std::call_once promises the same; it
// hangs after a throw under ThreadSanitizer, which intercepts what it is built on.)
#pragma once

#include <atomic>
#include <mutex>

namespace opencl_backend {

class Once {
 public:
  template <class Action>
  void run(Action&& action) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    action();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;  // held while the action runs: what that does must not come back here
};

}  // namespace opencl_backend
