// SPDX-License-Identifier: Apache-2.0
//
// ReadyQueue decides which ready task runs next: the most urgent level first; within a level tasks that another task's
// completion readied, before tasks that were submitted to or ended their slice; and of each kind the one that has
// waited longest. So that streams which keep waking each other don't starve the others, a task of the second kind runs
// after most_woken of the first kind in a row. This is the only place with a policy; a simulator that replays one order
// from a seed would replace it.
//
// The scheduler's lock guards it, except the hints: any thread may read these at any time, and they may be out of
// date.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "task.h"

namespace anyplace::cpu_sim {

class ReadyQueue {
 public:
  /// `woken` says that another task's completion readied it.
  void push(Task& task, bool woken) noexcept { push(task, woken, task.level_); }
  /// Pushes a task that was taken, and has nothing to do now. It goes behind the next less urgent tasks that are ready,
  /// if there are some: else it would be next again, and keep them from running.
  void put_back(Task& task) noexcept {
    const std::uint32_t less_urgent = ready_levels() & ~((2u << task.level_) - 1);
    push(task, false, less_urgent == 0 ? task.level_ : static_cast<unsigned>(__builtin_ctz(less_urgent)));
  }

  /// Returns null if nothing is ready.
  Task* pop() noexcept {
    Task* const task = next();
    if (task == nullptr) return nullptr;
    Level& level = levels_[task->queued_level_];
    level.woken_in_a_row = task->woken_ ? level.woken_in_a_row + 1 : 0;
    unlink(*task);
    return task;
  }
  bool is_next(const Task& task) noexcept { return next() == &task; }
  /// Removes a task that is in the queue.
  void take(Task& task) noexcept { unlink(task); }

  // -- Hints.
  /// Bit i says that something of level i is ready.
  std::uint32_t ready_levels() const noexcept { return ready_levels_.load(std::memory_order_relaxed); }
  std::uint32_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  /// Returns the push number of the most urgent task that has been ready longest; 0 if nothing is ready.
  std::uint64_t oldest_push() const noexcept { return oldest_push_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned most_woken = 16;
  struct Level {
    List<Task> woken;
    List<Task> others;
    unsigned woken_in_a_row = 0;
  };

  void push(Task& task, bool woken, unsigned at) noexcept {
    Level& level = levels_[at];
    task.queued_level_ = at;
    (woken ? level.woken : level.others).push_back(task.link_);
    task.woken_ = woken;
    task.push_ = ++pushes_;
    task.queued_.store(true, std::memory_order_relaxed);
    size_.store(size() + 1, std::memory_order_relaxed);
    const std::uint32_t bit = 1u << at;
    if ((ready_levels() & bit) == 0) ready_levels_.store(ready_levels() | bit, std::memory_order_relaxed);
    publish_oldest();
  }

  Task* next() noexcept {
    if (ready_levels() == 0) return nullptr;
    Level& level = levels_[static_cast<unsigned>(__builtin_ctz(ready_levels()))];
    const bool woken = !level.woken.empty() && (level.others.empty() || level.woken_in_a_row < most_woken);
    return (woken ? level.woken : level.others).begin()->owner();
  }
  void unlink(Task& task) noexcept {
    task.link_.unlink();
    task.queued_.store(false, std::memory_order_relaxed);
    size_.store(size() - 1, std::memory_order_relaxed);
    const Level& level = levels_[task.queued_level_];
    if (level.woken.empty() && level.others.empty()) {
      ready_levels_.store(ready_levels() & ~(1u << task.queued_level_), std::memory_order_relaxed);
    }
    publish_oldest();
  }
  void publish_oldest() noexcept {
    std::uint64_t oldest = 0;
    if (ready_levels() != 0) {
      Level& level = levels_[static_cast<unsigned>(__builtin_ctz(ready_levels()))];
      // Each list is in the order of the pushes.
      const std::uint64_t woken = level.woken.empty() ? UINT64_MAX : level.woken.begin()->owner()->push_;
      const std::uint64_t other = level.others.empty() ? UINT64_MAX : level.others.begin()->owner()->push_;
      oldest = std::min(woken, other);
    }
    oldest_push_.store(oldest, std::memory_order_relaxed);
  }

  std::array<Level, levels> levels_;
  std::uint64_t pushes_ = 0;
  // It has its own cache line, because it is read after each command and changes less often than the rest.
  alignas(64) std::atomic<std::uint32_t> ready_levels_{0};
  alignas(64) std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint64_t> oldest_push_{0};
};

}  // namespace anyplace::cpu_sim
