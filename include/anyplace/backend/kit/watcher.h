// SPDX-License-Identifier: Apache-2.0
//
// Watcher: a backend's thread, for a vendor that doesn't report on its own that work is over or that a device failed.
// While something is pending it looks, less and less often; otherwise it sleeps.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "start_thread.h"

namespace anyplace::backend {

/// The object that a Watcher looks after. Its methods are called on the Watcher's thread, which holds no lock.
class Watched {
 public:
  /// Called once, before all else.
  virtual void thread_begins() noexcept {}
  /// With `ask_vendor` nothing woke the thread since the last look, so a call to the vendor is worth while.
  virtual void look(bool ask_vendor) noexcept = 0;
  /// Whether the thread has to look again before it is woken.
  virtual bool anything_pending() const noexcept = 0;

 protected:
  ~Watched() = default;
};

/// A thread that looks after what nobody waits for, as long as there is something.
class Watcher {
 public:
  /// The pointer `thread_name` is kept; the system allows 15 characters. `watched` must outlive stop().
  Watcher(const char* thread_name, Watched& watched) noexcept : name_(thread_name), watched_(watched) {}
  Watcher(const Watcher&) = delete;  // the thread points at it
  Watcher& operator=(const Watcher&) = delete;

  /// Starts the thread unless it runs. Throws Failure if no thread can be started. Thread-safe.
  void start();
  /// Makes the thread look at once: something is pending, or a device was lost. Thread-safe.
  void wake() noexcept;
  /// Ends the thread and waits for it. It looks a last time, without asking the vendor.
  void stop() noexcept;

 private:
  void run() noexcept;

  const char* const name_;
  Watched& watched_;
  std::mutex mutex_;  // guards all below; a leaf
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

inline void Watcher::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  thread_ = start_thread(name_, [this] { run(); });
}

inline void Watcher::wake() noexcept {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

inline void Watcher::stop() noexcept {
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    ended.swap(thread_);
  }
  if (ended.joinable()) ended.join();
}

inline void Watcher::run() noexcept {
  constexpr std::chrono::milliseconds shortest_pause{1};
  constexpr std::chrono::milliseconds longest_pause{50};
  watched_.thread_begins();
  auto pause = shortest_pause;
  bool ask = false;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    watched_.look(ask);
    const bool pending = watched_.anything_pending();
    lock.lock();
    const auto due = [this] { return woken_ || stopping_; };
    if (pending) {
      ask = !changed_.wait_for(lock, pause, due);
      pause = ask ? std::min(pause * 2, longest_pause) : shortest_pause;
    } else {
      changed_.wait(lock, due);
      ask = false;
      pause = shortest_pause;
    }
  }
  lock.unlock();
  watched_.look(false);
}

}  // namespace anyplace::backend
