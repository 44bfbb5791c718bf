// SPDX-License-Identifier: Apache-2.0
//
// GraphHostCalls: the host functions of one graph, which the vendor calls at each launch. The data that the vendor was
// given for a call stays in place as long as a launch may use it, also one that was made before an update.
//
// Invariant: after end() none is called, and none is running.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// Thread-safe.
class GraphHostCalls {
 public:
  GraphHostCalls() = default;
  GraphHostCalls(const GraphHostCalls&) = delete;  // the vendor's graph points at what is in it
  GraphHostCalls& operator=(const GraphHostCalls&) = delete;

  /// Returns the argument for run(). `in_use` is how many host functions the graph needs now. Only a limited number of
  /// those that updates left behind are kept; beyond it UNSUPPORTED is thrown, so that the core makes a new graph.
  void* get(anyplace_host_function function, void* user, std::size_t in_use) {
    const Key key(reinterpret_cast<std::uintptr_t>(function), user);
    const std::lock_guard lock(mutex_);
    const auto known = calls_.find(key);
    if (known != calls_.end()) return &known->second;
    if (calls_.size() >= most_left_behind + in_use) {
      refuse(ANYPLACE_STATUS_UNSUPPORTED, "the graph keeps " + std::to_string(calls_.size()) +
                                              " host functions, most of them of earlier updates; make another one");
    }
    return &calls_.emplace(key, Call{this, function, user}).first->second;
  }

  /// The function that the vendor calls, on its thread.
  static void run(void* given) noexcept {
    const Call& call = *static_cast<const Call*>(given);
    GraphHostCalls& owner = *call.owner;
    {
      const std::lock_guard lock(owner.mutex_);
      if (owner.ended_) return;
      ++owner.running_;
    }
    call.function(call.user, ANYPLACE_STATUS_OK);
    const std::lock_guard lock(owner.mutex_);
    if (--owner.running_ == 0) owner.idle_.notify_all();
  }

  /// Waits for those that are running. With `keep` they are never freed, because the vendor may still make a call.
  static void end(GraphHostCalls* calls, bool keep) noexcept {
    {
      std::unique_lock lock(calls->mutex_);
      calls->ended_ = true;
      calls->idle_.wait(lock, [calls] { return calls->running_ == 0; });
    }
    if (!keep || calls->calls_.empty()) {
      delete calls;
      return;
    }
    // A list keeps them reachable, so that a leak checker doesn't report them.
    static constinit std::atomic<GraphHostCalls*> kept{nullptr};
    calls->next_kept_ = kept.load(std::memory_order_relaxed);
    while (!kept.compare_exchange_weak(calls->next_kept_, calls, std::memory_order_release)) {
    }
  }

 private:
  struct Call {
    GraphHostCalls* owner;
    anyplace_host_function function;
    void* user;
  };
  using Key = std::pair<std::uintptr_t, void*>;  // a function and its user
  static constexpr std::size_t most_left_behind = 1024;

  std::mutex mutex_;  // guards all below; a leaf
  std::condition_variable idle_;
  unsigned running_ = 0;
  bool ended_ = false;
  std::map<Key, Call> calls_;  // a map, because addresses must not change
  GraphHostCalls* next_kept_ = nullptr;
};

}  // namespace anyplace::backend
