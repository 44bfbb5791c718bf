// SPDX-License-Identifier: Apache-2.0
//
// Where one thread sleeps until another wakes it: a token that is given once and taken once. A token that is given
// before the thread sleeps keeps it awake, so nothing is lost between the two.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_PARKER_H
#define ANYPLACE_BACKENDS_CPU_SIM_PARKER_H

#include <atomic>
#include <cstdint>

#include "clock.h"

namespace anyplace::cpu_sim {

class Parker {
 public:
  Parker() = default;
  Parker(const Parker&) = delete;  // sleepers and wakers hold its address
  Parker& operator=(const Parker&) = delete;

  /// Gives the token. What was done before is visible to who takes it. The exchange is the last access to this object:
  /// who takes the token may destroy it.
  void unpark() noexcept {
    if (state_.exchange(kToken, std::memory_order_acq_rel) == kAsleep) wake(&state_);
  }

  /// Takes the token, sleeping until it is given; false when time ran out first.
  bool park(const Deadline& deadline) noexcept;
  /// The same for a short while.
  bool park_for(int64_t ns) noexcept;

 private:
  enum : uint32_t { kNothing, kToken, kAsleep };

  bool take() noexcept {
    uint32_t token = kToken;
    return state_.compare_exchange_strong(token, kNothing, std::memory_order_acquire, std::memory_order_relaxed);
  }
  bool fall_asleep() noexcept;
  bool wake_up() noexcept;
  static void wake(std::atomic<uint32_t>* state) noexcept;

  std::atomic<uint32_t> state_{kNothing};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_PARKER_H
