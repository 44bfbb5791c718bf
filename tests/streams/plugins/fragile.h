// SPDX-License-Identifier: Apache-2.0
//
// What the tests see and decide of the backend "fragile" (fragile.cpp): it finds out when the core uses a handle after,
// or during, the call that destroys it, and can stop inside a call until the test lets it go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

namespace test {

struct Fragile {
  static constexpr const char* variable = "ANYPLACE_TEST_FRAGILE";

  std::atomic<int> misused{0};  ///< calls with a handle that is destroyed or being destroyed
  std::atomic<int> destroyed{0};
  std::atomic<int> calls{0};  ///< record, wait, query, synchronize and launch

  std::mutex mutex;  // guards what is below
  std::condition_variable changed;
  bool stop_next = false;  ///< the next of those calls stops
  bool stop_all = false;   ///< all of them do
  int stopped = 0;
  bool go_on = false;

  /// In the test.
  Fragile() { ::setenv(variable, std::to_string(reinterpret_cast<std::uintptr_t>(this)).c_str(), 1); }
  Fragile(const Fragile&) = delete;  // the plugin has its address
  Fragile& operator=(const Fragile&) = delete;

  void stop_next_call() {
    const std::lock_guard lock(mutex);
    stop_next = true;
  }
  void stop_all_calls() {
    const std::lock_guard lock(mutex);
    stop_all = true;
  }
  void wait_until_stopped(int count = 1) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopped >= count; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    go_on = true;
    stop_all = false;
    changed.notify_all();
  }
  void wait_until_destroyed(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return destroyed.load() >= count; });
  }

  /// In the plugin.
  void maybe_stop() {
    ++calls;
    std::unique_lock lock(mutex);
    if (!stop_next && !stop_all) return;
    stop_next = false;
    ++stopped;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
  }
  void count_destroyed() {
    const std::lock_guard lock(mutex);
    ++destroyed;
    changed.notify_all();
  }
};

}  // namespace test
