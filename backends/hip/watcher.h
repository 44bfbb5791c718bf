// SPDX-License-Identifier: Apache-2.0
//
// Watcher: the one thread of this backend. HIP tells nobody unasked that a device failed, and runs no host functions of
// its then; so while host functions are pending, this asks now and then, and settles those that will never run. And
// hipStreamDestroy waits for the stream's work, as CUDA's doesn't: streams that are destroyed while work is pending are
// kept (Work), and this destroys them when it is over. Started when it is first needed, asleep while nothing is
// pending.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace anyplace::hip {

class Device;

class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;  // the thread points at it
  Watcher& operator=(const Watcher&) = delete;

  /// Before anything else, once.
  void watch(const std::vector<std::unique_ptr<Device>>& devices) noexcept { devices_ = &devices; }
  /// Starts the thread unless it runs. Throws when there is none to be had.
  void start();
  /// Makes it look at once: something is pending, or a device was lost.
  void wake() noexcept;
  /// Ends the thread and waits for it.
  void stop() noexcept;

 private:
  void run() noexcept;
  bool anything_pending() const noexcept;

  const std::vector<std::unique_ptr<Device>>* devices_ = nullptr;
  std::mutex mutex_;  // guards all below; a leaf
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace anyplace::hip
