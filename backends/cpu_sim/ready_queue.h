// SPDX-License-Identifier: Apache-2.0
//
// Which ready task runs next: the most urgent level first; within it those that another task's completion readied,
// before those that were submitted or gave up their turn; of each the first comes first. Streams that go on waking each
// other don't keep the others waiting: after kMostWoken of them in a row it is the turn of another. The only place with
// a policy; a simulator that replays one order from a seed would put another one here.
//
// Guarded by the scheduler's lock, but for the hints, which any thread may read at any time: they may be old then.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
#define ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "task.h"

namespace anyplace::cpu_sim {

class ReadyQueue {
 public:
  /// `woken`: by another task's completion.
  void push(Task& task, bool woken) noexcept {
    Level& level = levels_[task.level_];
    (woken ? level.woken : level.others).push_back(task.link_);
    task.woken_ = woken;
    task.push_ = ++pushes_;
    task.queued_.store(true, std::memory_order_relaxed);
    size_.store(size() + 1, std::memory_order_relaxed);
    const uint32_t bit = 1u << task.level_;
    if ((ready_levels() & bit) == 0) ready_levels_.store(ready_levels() | bit, std::memory_order_relaxed);
    publish_oldest();
  }

  /// Null if nothing is ready.
  Task* pop() noexcept {
    Task* const task = next();
    if (task == nullptr) return nullptr;
    Level& level = levels_[task->level_];
    level.woken_in_a_row = task->woken_ ? level.woken_in_a_row + 1 : 0;
    unlink(*task);
    return task;
  }
  bool is_next(const Task& task) noexcept { return next() == &task; }
  /// A task that is here.
  void take(Task& task) noexcept { unlink(task); }

  // -- Hints.
  /// Bit i: something of level i is ready.
  uint32_t ready_levels() const noexcept { return ready_levels_.load(std::memory_order_relaxed); }
  uint32_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  /// The number of the push of what is ready for longest among the most urgent; 0 if nothing is ready.
  uint64_t oldest_push() const noexcept { return oldest_push_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned kMostWoken = 16;
  struct Level {
    List<Task> woken;
    List<Task> others;
    unsigned woken_in_a_row = 0;
  };

  Task* next() noexcept {
    if (ready_levels() == 0) return nullptr;
    Level& level = levels_[static_cast<unsigned>(__builtin_ctz(ready_levels()))];
    const bool woken = !level.woken.empty() && (level.others.empty() || level.woken_in_a_row < kMostWoken);
    return (woken ? level.woken : level.others).begin()->owner();
  }
  void unlink(Task& task) noexcept {
    task.link_.unlink();
    task.queued_.store(false, std::memory_order_relaxed);
    size_.store(size() - 1, std::memory_order_relaxed);
    const Level& level = levels_[task.level_];
    if (level.woken.empty() && level.others.empty()) {
      ready_levels_.store(ready_levels() & ~(1u << task.level_), std::memory_order_relaxed);
    }
    publish_oldest();
  }
  void publish_oldest() noexcept {
    uint64_t oldest = 0;
    if (ready_levels() != 0) {
      Level& level = levels_[static_cast<unsigned>(__builtin_ctz(ready_levels()))];
      // Each list is in the order of its pushes.
      const uint64_t woken = level.woken.empty() ? UINT64_MAX : level.woken.begin()->owner()->push_;
      const uint64_t other = level.others.empty() ? UINT64_MAX : level.others.begin()->owner()->push_;
      oldest = std::min(woken, other);
    }
    oldest_push_.store(oldest, std::memory_order_relaxed);
  }

  std::array<Level, kLevels> levels_;
  uint64_t pushes_ = 0;
  // On a line of its own: it is looked at after each command, and changes less often than the rest.
  alignas(64) std::atomic<uint32_t> ready_levels_{0};
  alignas(64) std::atomic<uint32_t> size_{0};
  std::atomic<uint64_t> oldest_push_{0};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
