// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler hands to a thread: a stream that can go on, or a piece of a kernel that is spread over workers.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_TASK_H
#define ANYPLACE_BACKENDS_CPU_SIM_TASK_H

#include <atomic>
#include <cstdint>

#include "list.h"

namespace anyplace::cpu_sim {

// Priorities as the core sees them: a lower number runs first, 0 is the default.
inline constexpr int32_t kGreatestPriority = -2;
inline constexpr int32_t kLeastPriority = 1;
// Levels as the scheduler sees them: 0 is the most urgent.
inline constexpr unsigned kLevels = kLeastPriority - kGreatestPriority + 1;

/// The level of a priority; a priority out of range counts as the nearest end.
constexpr unsigned level_of(int32_t priority) noexcept {
  if (priority < kGreatestPriority) return 0;
  if (priority > kLeastPriority) return kLevels - 1;
  return static_cast<unsigned>(priority - kGreatestPriority);
}

class Task {
 public:
  Task(const Task&) = delete;  // queues hold its address
  Task& operator=(const Task&) = delete;

  /// What a turn did. `caught_up`: it has run all, or nearly all, that was submitted so far.
  struct Done {
    uint64_t commands;
    bool caught_up;
  };
  /// One turn. Whoever runs it was handed the task: nobody else does until it is enqueued again, and after it is, or
  /// after the turn ended otherwise, the object may be another's.
  virtual Done run() noexcept = 0;

  /// Whether it is in the scheduler's queue. A hint: it may be old when it is read.
  bool queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

  unsigned level() const noexcept { return level_; }

 protected:
  Task() noexcept : link_(this) {}
  virtual ~Task() = default;

  /// While the task is in no queue.
  void set_level(unsigned level) noexcept { level_ = level; }

 private:
  friend class ReadyQueue;
  friend class Scheduler;
  Link<Task> link_;                  // guarded by the scheduler's lock
  std::atomic<bool> queued_{false};  // written under it
  bool woken_ = false;               // guarded by it; how it got there
  uint64_t push_ = 0;                // guarded by it; when
  unsigned level_ = 0;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_TASK_H
