// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: the workers, one pool for the process, shared by all devices. It runs ready tasks and knows nothing of
// streams, commands or memory; those know nothing of threads. Host threads that synchronise run tasks too (help.h):
// they claim them here. At most limit() threads of both kinds run tasks at one time.
//
// An idle worker isn't woken for each task: waking costs the host microseconds, and a host that is about to synchronise
// completes a short task sooner than another thread could. Instead, idle workers look at the queue: every 1.5
// microseconds at first, then between short sleeps (idle backoff), and only when nothing was submitted for a while do
// they sleep until they are woken. A worker takes a lone task only if it saw it at two looks, so that the host can run
// it first.
//
// Guarantees
// - Whenever a task is ready and fewer than limit() threads run one, a worker is looking or was woken. So two kernels
//   that wait for each other get two threads, and a task that nobody synchronises with starts within two looks.
// - A host that keeps submitting tasks and running them itself doesn't starve a ready task: if a worker saw the same
//   task waiting at two looks while limit() threads ran tasks, hosts claim nothing until a worker has taken a task.
// - The last worker is a reserve (if there are two or more): it looks rarely, and takes a task only when the task that
//   has waited longest was the same at two looks, which is when all others are in long kernels. One thread per core,
//   the host's included, is faster than one more.
// - No thread is started before start(), that is, before the first submitted work.
// - lock_ is a leaf of the lock order (see stream.h) and is never held while a task runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "clock.h"
#include "parker.h"
#include "ready_queue.h"
#include "spin_lock.h"

namespace anyplace::cpu_sim {

class Scheduler {
 public:
  /// `workers` is at least 1. `backoff_ns`: the length of an idle worker's short sleeps. With 0 it doesn't look: it
  /// sleeps at once and is woken for each task.
  Scheduler(std::uint32_t workers, std::int64_t backoff_ns);
  Scheduler(const Scheduler&) = delete;  // workers hold its address
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = default;  // only a scheduler that never started a thread is destroyed (see Engine)

  std::uint32_t limit() const noexcept { return limit_; }
  /// Whether idle threads look for work before they sleep.
  bool looks() const noexcept { return backoff_ns_ != 0; }

  /// Makes sure that there is a worker. Called before work is submitted, so that the call fails if no thread can be
  /// started. Throws Failure.
  void start() {
    if (!started_any_.load(std::memory_order_acquire)) [[unlikely]]
      start_first();
  }

  // -- Readying a task. Any thread, after start().
  /// Something was submitted to the task, or its turn is over.
  void enqueue(Task& task) noexcept { ready(task, plain); }
  /// The same when a host submitted something to an idle task.
  void enqueue_submitted(Task& task) noexcept { ready(task, by_host); }
  /// The task waited for another task's completion, which has come. The same thread runs it next if it can.
  void enqueue_woken(Task& task) noexcept { ready(task, woken); }
  /// Readies a task again that the caller was given to run, and calls nobody: the caller returns to this scheduler
  /// next, which does. For callers that hold a lock.
  void put_back(Task& task) noexcept;
  /// Takes a task out of the queue without running it. False if it isn't there.
  bool withdraw(Task& task) noexcept;

  // -- For a host that helps.
  /// Takes a task out of the queue. The caller runs it and then calls done(). False if the task isn't in the queue, or
  /// if the threads that may run tasks are needed for others.
  bool claim(Task& task) noexcept;
  void done() noexcept;
  /// A host begins to look for work to help with, without sleeping. False if too many hosts do that already; it then
  /// sleeps.
  bool begin_looking() noexcept {
    if (hosts_looking_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    end_looking();
    return false;
  }
  void end_looking() noexcept { hosts_looking_.fetch_sub(1, std::memory_order_relaxed); }
  /// A host waits for a ready task that it can't run itself, or a ready task has work for long: wakes a worker that
  /// pauses.
  void call() noexcept;
  /// Whether limit() threads run tasks now. If so, a thread that goes on with its task keeps other ready tasks from
  /// running. A hint.
  bool full() const noexcept { return running_.load(std::memory_order_relaxed) >= limit_; }
  bool in_the_way(unsigned level) const noexcept { return more_urgent(level) && full(); }

  /// Whether a task that is more urgent than `level` (or as urgent) is ready. Hints for a task that could end its turn.
  bool more_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & ((1u << level) - 1)) != 0; }
  /// Changes when a host readies or claims something. A hint.
  std::uint32_t host_actions() const noexcept { return host_actions_.load(std::memory_order_relaxed); }
  bool others_ready() const noexcept { return ready_.ready_levels() != 0; }
  std::uint32_t ready_tasks() const noexcept { return ready_.size(); }
  bool as_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & (1u << level)) != 0; }
  /// The same of tasks other than `task`.
  bool others_as_urgent(const Task& task) const noexcept {
    return as_urgent(task.level()) && (!task.queued() || ready_.size() > 1);
  }

  /// Nanoseconds that the workers have spent on tasks, all together, up to now; at most limit() times the time since
  /// the first of them began. What hosts ran themselves isn't in it. Never falls. For monitoring: it takes locks.
  std::int64_t worked_ns();

  /// Ends and joins the workers once nothing is ready; false if one is still busy at the deadline, and then it is left
  /// running. Called once, as the last call.
  bool stop(const Deadline& deadline);

 private:
  struct Worker {
    explicit Worker(bool is_reserve) noexcept : reserve(is_reserve) {}
    Parker parker;
    const bool reserve;
    // Written by the worker itself, for worked_ns().
    std::atomic<std::int64_t> worked_ns{0};   // in turns that are over
    std::atomic<std::int64_t> turn_began{0};  // 0 between tasks
    // Only the worker itself uses these.
    std::int64_t pause_ns = 0;       // before its next look
    std::uint32_t host_actions = 0;  // host_actions_ after its last task
    std::uint64_t waited_for = 0;    // the push number of the task that had waited longest at its last look
    bool asleep = false;             // guarded by lock_; whether it is in sleepers_ and not counted in looking()
    Worker* next = nullptr;          // guarded by lock_; in sleepers_
  };
  /// What carry_out() does after lock_ is released.
  struct Call {
    Worker* wake = nullptr;
    bool start = false;
    bool reserve = false;  // start one
  };

  enum : unsigned { plain = 0, woken = 1, by_host = 2 };
  void ready(Task& task, unsigned how) noexcept;
  Call call_somebody(bool even_if_looking) noexcept;
  Worker* call_sleeper(bool reserve) noexcept;
  void carry_out(const Call& call) noexcept;
  void start_first();
  void start_worker(bool reserve);
  std::uint32_t started() noexcept;
  void work(Worker& self) noexcept;
  Task* take(Call* call) noexcept;
  Task* wait_for_task(Worker& self) noexcept;
  bool stays(Worker& self, const Task::Done& done, std::int64_t took_ns) noexcept;
  enum class Seen { nothing, something, twice };
  Seen look(Worker& self) noexcept;
  bool pause(Worker& self) noexcept;
  void sleep(Worker& self) noexcept;
  std::uint32_t& looking(bool reserve) noexcept { return reserve ? reserves_looking_ : looking_; }

  const std::uint32_t limit_;
  const std::int64_t backoff_ns_;
  std::atomic<bool> started_any_{false};

  std::mutex threads_mutex_;                      // taken before lock_
  std::vector<std::thread> threads_;              // guarded by threads_mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by threads_mutex_
  std::int64_t told_worked_ns_ = 0;               // guarded by threads_mutex_; what worked_ns() returned last

  alignas(64) SpinLock lock_;
  ReadyQueue ready_;                            // guarded by lock_
  Worker* sleepers_ = nullptr;                  // guarded by lock_
  Worker* looker_ = nullptr;                    // guarded by lock_; the one that began to look last
  std::uint32_t started_ = 0;                   // guarded by lock_; workers started or being started
  std::uint32_t looking_ = 0;                   // guarded by lock_; idle workers that look or are about to
  std::uint32_t reserves_looking_ = 0;          // guarded by lock_
  std::atomic<std::uint32_t> running_{0};       // written under lock_; threads with a task
  std::atomic<std::uint32_t> pushes_{0};        // written under lock_; tasks that were ever readied
  std::atomic<std::uint32_t> host_actions_{0};  // written under lock_; tasks that hosts ever readied or claimed
  std::atomic<bool> starving_{false};           // written under lock_; hosts claim nothing while it is set
  std::atomic<bool> stopping_{false};           // written under lock_

  std::atomic<std::uint32_t> hosts_looking_{0};

  std::mutex end_mutex_;
  std::uint32_t ended_ = 0;      // guarded by end_mutex_
  std::condition_variable end_;  // ended_ changed, or started_ after stop()
};

}  // namespace anyplace::cpu_sim
