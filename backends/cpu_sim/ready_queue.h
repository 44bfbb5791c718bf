// SPDX-License-Identifier: Apache-2.0
//
// Which ready task runs next: the most urgent level first, first come first served within it. The only place with a
// policy; a simulator that replays one order from a seed would put another one here.
//
// Guarded by the scheduler's mutex, but for levels(), which any thread may read at any time.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
#define ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H

#include <array>
#include <atomic>
#include <cstdint>

#include "task.h"

namespace anyplace::cpu_sim {

class ReadyQueue {
 public:
  void push(Task& task) noexcept {
    tasks_[task.level()].push_back(task.link_);
    set_levels(levels() | (1u << task.level()));
  }

  /// Null if nothing is ready.
  Task* pop() noexcept {
    for (unsigned level = 0; level < kLevels; ++level) {
      Task* task = tasks_[level].pop_front();
      if (task == nullptr) continue;
      if (tasks_[level].empty()) set_levels(levels() & ~(1u << level));
      return task;
    }
    return nullptr;
  }

  /// Bit i: something of level i is ready. A hint: it may be old when it is read.
  uint32_t levels() const noexcept { return levels_.load(std::memory_order_relaxed); }

 private:
  void set_levels(uint32_t levels) noexcept { levels_.store(levels, std::memory_order_relaxed); }

  std::array<List<Task>, kLevels> tasks_;
  std::atomic<uint32_t> levels_{0};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_READY_QUEUE_H
