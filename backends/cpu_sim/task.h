// SPDX-License-Identifier: Apache-2.0
//
// A Task is what the scheduler gives to a thread: a stream that can go on, or a spread job.
#pragma once

#include <atomic>
#include <cstdint>

#include "list.h"

namespace anyplace::cpu_sim {

// These are priorities as the core sees them: a lower number runs first, 0 is the default.
inline constexpr std::int32_t greatest_priority = -2;
inline constexpr std::int32_t least_priority = 1;
// Levels are priorities as the scheduler sees them: 0 is the most urgent.
inline constexpr unsigned levels = least_priority - greatest_priority + 1;

/// Returns the level of a priority; a priority out of range counts as the nearest end.
constexpr unsigned level_of(std::int32_t priority) noexcept {
  if (priority < greatest_priority) return 0;
  if (priority > least_priority) return levels - 1;
  return static_cast<unsigned>(priority - greatest_priority);
}

struct Operation;

class Task {
 public:
  Task(const Task&) = delete;  // Queues hold its address.
  Task& operator=(const Task&) = delete;

  /// Done says what a slice did. `caught_up` means that all or nearly all commands that were submitted so far have run.
  struct Done {
    std::uint64_t commands;
    bool caught_up;
  };
  /// Runs the task for one slice. Only the thread that took the task calls it. When it returns, or once the task was
  /// enqueued again, another thread may have the object.
  virtual Done run() noexcept = 0;

  // -- For the deterministic mode (director.h).
  /// Executes one command, if the task is a stream. Only the thread that took the task calls it.
  virtual void step() noexcept = 0;
  /// Says what the task does next. Nobody has the task meanwhile, or the thread that has it is blocked.
  virtual void describe(Operation& out) = 0;
  unsigned passed_over = 0;  ///< The director counts the choices since one took the task.

  /// Returns whether it is in the ready queue. This is a hint: it may be out of date.
  bool queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

  unsigned level() const noexcept { return level_; }

 protected:
  Task() noexcept : link_(this) {}
  virtual ~Task() = default;

  /// Is called while the task is in no queue.
  void set_level(unsigned level) noexcept { level_ = level; }

 private:
  friend class ReadyQueue;
  friend class Scheduler;
  Link<Task> link_;                  // The scheduler's lock guards it.
  std::atomic<bool> queued_{false};  // It is written under that lock.
  bool woken_ = false;               // That lock guards it; another task's completion readied this one.
  std::uint64_t push_ = 0;           // That lock guards it; it is the number of the push that readied it.
  unsigned level_ = 0;
  unsigned queued_level_ = 0;  // That lock guards it; the task is queued there (ReadyQueue::put_back).
};

}  // namespace anyplace::cpu_sim
