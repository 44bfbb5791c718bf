// SPDX-License-Identifier: Apache-2.0
//
// The workers: one pool for the process, shared by all devices. It runs ready tasks and knows nothing of streams,
// commands or memory; those know nothing of threads. Together with stream.h and command_queue.h this is the engine,
// which can be replaced without touching the rest.
//
// Guarantees
// - A task that is enqueued runs as soon as a worker is free: whenever a task is ready, as many workers are awake (or
//   being started) as there are ready tasks, up to the limit. So two kernels that wait for each other get two workers.
// - No thread is started before start(), that is, before the first submitted work.
// - mutex_ is a leaf of the lock order (see stream.h) and is never held while a task runs.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H
#define ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "clock.h"
#include "ready_queue.h"

namespace anyplace::cpu_sim {

class Scheduler {
 public:
  explicit Scheduler(uint32_t workers);
  Scheduler(const Scheduler&) = delete;  // workers hold its address
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = delete;  // lives as long as the process; see Engine

  uint32_t workers() const noexcept { return limit_; }

  /// Makes sure that there is a worker. Called before work is submitted, so that a system without threads is a failure
  /// of the call and not work that never runs. Throws Failure.
  void start() {
    if (!started_any_.load(std::memory_order_acquire)) start_first();
  }

  /// Hands the task to a worker. Any thread, after start().
  void enqueue(Task& task) noexcept;

  /// Whether something more urgent than `level`, or as urgent, is ready. Hints for a task that could make room.
  bool more_urgent(unsigned level) const noexcept { return (ready_.levels() & ((1u << level) - 1)) != 0; }
  bool as_urgent(unsigned level) const noexcept { return (ready_.levels() & (1u << level)) != 0; }

  /// Ends and joins the workers once nothing is ready; false when one is still busy at the deadline, which leaves it.
  /// Called once, last.
  bool stop(const Deadline& deadline);

 private:
  void start_first();
  void start_worker();
  void work() noexcept;

  const uint32_t limit_;
  std::atomic<bool> started_any_{false};

  std::mutex threads_mutex_;          // taken before mutex_
  std::vector<std::thread> threads_;  // guarded by threads_mutex_

  std::mutex mutex_;
  ReadyQueue ready_;              // guarded by mutex_
  uint32_t started_ = 0;          // guarded by mutex_; workers started or being started
  uint32_t idle_ = 0;             // guarded by mutex_; workers asleep to whom no wake-up is on its way
  uint32_t wakeups_ = 0;          // guarded by mutex_; on their way
  uint32_t ended_ = 0;            // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  std::condition_variable wake_;  // wakeups_ or stopping_ changed
  std::condition_variable end_;   // ended_ changed
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H
