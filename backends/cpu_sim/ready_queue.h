// SPDX-License-Identifier: Apache-2.0
//
// Which ready task runs next: the most urgent level first; within it first come, first served, but for a task that
// another one's completion readied, which comes first of all. The only place with a policy; a simulator that replays
// one order from a seed would put another one here.
//
// Guarded by the scheduler's lock, but for levels() and size(), which any thread may read at any time: hints, which may
// be old when they are read.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
#define ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H

#include <array>
#include <atomic>
#include <cstdint>

#include "task.h"

namespace anyplace::cpu_sim {

class ReadyQueue {
 public:
  void push_back(Task& task) noexcept {
    tasks_[task.level_].push_back(task.link_);
    count_in(task);
  }
  void push_front(Task& task) noexcept {
    tasks_[task.level_].push_front(task.link_);
    count_in(task);
  }

  /// Null if nothing is ready.
  Task* pop() noexcept {
    if (levels() == 0) return nullptr;
    Task* task = tasks_[static_cast<unsigned>(__builtin_ctz(levels()))].pop_front();
    count_out(*task);
    return task;
  }
  /// False if it isn't here.
  bool take(Task& task) noexcept {
    if (!task.queued()) return false;
    task.link_.unlink();
    count_out(task);
    return true;
  }

  /// Bit i: something of level i is ready.
  uint32_t levels() const noexcept { return levels_.load(std::memory_order_relaxed); }
  uint32_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  void count_in(Task& task) noexcept {
    task.queued_.store(true, std::memory_order_relaxed);
    size_.store(size() + 1, std::memory_order_relaxed);
    const uint32_t bit = 1u << task.level_;
    if ((levels() & bit) == 0) levels_.store(levels() | bit, std::memory_order_relaxed);
  }
  void count_out(Task& task) noexcept {
    task.queued_.store(false, std::memory_order_relaxed);
    size_.store(size() - 1, std::memory_order_relaxed);
    if (tasks_[task.level_].empty()) levels_.store(levels() & ~(1u << task.level_), std::memory_order_relaxed);
  }

  std::array<List<Task>, kLevels> tasks_;
  std::atomic<uint32_t> levels_{0};
  std::atomic<uint32_t> size_{0};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
