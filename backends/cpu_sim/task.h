// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler hands to a worker: a stream that can go on, or a piece of a kernel that is spread over workers.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_TASK_H
#define ANYPLACE_BACKENDS_CPU_SIM_TASK_H

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

  /// One turn on a worker. Whoever runs it was handed the task: nobody else does until it is enqueued again, and after
  /// it is, or after the turn ended otherwise, the object may be gone.
  virtual void run() noexcept = 0;

  unsigned level() const noexcept { return level_; }

 protected:
  explicit Task(unsigned level) noexcept : link_(this), level_(level) {}
  virtual ~Task() = default;

 private:
  friend class ReadyQueue;
  Link<Task> link_;  // guarded by the scheduler's mutex
  const unsigned level_;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_TASK_H
