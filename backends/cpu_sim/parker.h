// SPDX-License-Identifier: Apache-2.0
//
// By a Parker, one thread sleeps until another wakes it, by a token that is given once and taken once. A token that is
// given before the thread sleeps keeps it awake, so no wake-up is lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.h"

namespace anyplace::cpu_sim {

class Parker {
 public:
  Parker() = default;
  Parker(const Parker&) = delete;  // Sleepers and wakers hold its address.
  Parker& operator=(const Parker&) = delete;

  /// Gives the token. Everything done before is visible to the thread that takes it. The exchange is the last access to
  /// this object, because the thread that takes the token may destroy it.
  void unpark() noexcept {
    if (state_.exchange(token_set, std::memory_order_acq_rel) == asleep) wake(&state_);
  }

  /// Takes the token, sleeping until it is given. Returns false when time ran out first.
  bool park(const Deadline& deadline) noexcept;
  /// Does the same for at most `ns` nanoseconds.
  bool park_for(std::int64_t ns) noexcept;

 private:
  enum : std::uint32_t { nothing, token_set, asleep };

  bool take() noexcept {
    std::uint32_t token = token_set;
    return state_.compare_exchange_strong(token, nothing, std::memory_order_acquire, std::memory_order_relaxed);
  }
  bool fall_asleep() noexcept;
  bool wake_up() noexcept;
  static void wake(std::atomic<std::uint32_t>* state) noexcept;

  std::atomic<std::uint32_t> state_{nothing};
};

}  // namespace anyplace::cpu_sim
