// SPDX-License-Identifier: Apache-2.0
//
// The Scheduler has the workers, one pool for the process, shared by all devices. It runs ready tasks and knows nothing
// of streams, commands or memory; those know nothing of threads. A thread runs a task for a slice: until the task has
// nothing more to do, or yields to another one. Host threads that synchronise run tasks too (help.h): they claim them
// here. At most limit() threads of both kinds run tasks at one time.
//
// An idle worker isn't woken for each task: waking costs the host microseconds, and a host that is about to synchronise
// completes a short task sooner than another thread could. Instead, idle workers poll the ready queue: every 1.5
// microseconds at first, then between short sleeps (idle backoff), and only when nothing was submitted for a while do
// they sleep until they are woken. A worker takes a lone task only if it saw it at two polls, so that the host can run
// it first.
//
// These are its guarantees:
// - Whenever a task is ready and fewer than limit() threads run one, a worker is polling or was woken. So two kernels
//   that wait for each other get two threads, and a task that nobody synchronises with starts within two polls.
// - A host that keeps submitting tasks and running them itself doesn't starve a ready task: if a worker saw the same
//   task waiting at two polls while limit() threads ran tasks, hosts claim nothing until a worker has taken a task.
// - The last worker is a reserve (if there are two or more): it polls rarely, and takes a task only when the task that
//   has waited longest was the same at two polls, which is when all others are in long kernels. One thread per core,
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

class Director;

class Scheduler {
 public:
  /// `workers` is at least 1. An idle worker's short sleeps take `backoff_ns`. With 0 it doesn't poll: it sleeps at
  /// once and is woken for each task.
  ///
  /// If there is a director (the deterministic mode), there are no workers: it is given all that becomes ready, and the
  /// ready queue stays empty.
  Scheduler(std::uint32_t workers, std::int64_t backoff_ns);
  Scheduler(const Scheduler&) = delete;  // Workers hold its address.
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = default;  // Only a scheduler that never started a thread is destroyed (see Engine).

  std::uint32_t limit() const noexcept { return limit_; }
  /// Returns whether idle threads poll for work before they sleep.
  bool polls() const noexcept { return backoff_ns_ != 0; }

  /// Makes sure that there is a worker. The caller does so before it submits work, so that the submission fails if no
  /// thread can be started. Throws Failure.
  void start() {
    if (!started_any_.load(std::memory_order_acquire)) [[unlikely]]
      start_first();
  }

  // -- Readying a task. Any thread may do so, after start().
  /// Readies a task whose slice is over, or which has something new to do.
  void enqueue(Task& task) noexcept { ready(task, plain); }
  /// Readies a task that was idle, because a host has submitted something to it.
  void enqueue_submitted(Task& task) noexcept { ready(task, by_host); }
  /// Readies a task that waited for another task's completion, which has come. It goes first.
  void enqueue_woken(Task& task) noexcept { ready(task, woken); }
  /// Makes a task ready again that the caller was given to run. It wakes no worker, because the caller returns to this
  /// scheduler next, and that does. The caller may hold a lock.
  void put_back(Task& task) noexcept;
  /// Takes a task out of the ready queue without running it. Returns false if it isn't there.
  bool withdraw(Task& task) noexcept;

  // -- For a host that helps.
  /// Takes a task out of the ready queue. The caller runs it and then calls done(). Returns false if the task isn't
  /// there, or if the threads that may run tasks are needed for others.
  bool claim(Task& task) noexcept;
  void done() noexcept;
  /// Counts a host that polls for work to help with. Returns false if too many hosts do that already; this one then
  /// sleeps.
  bool begin_polling() noexcept {
    if (hosts_polling_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    end_polling();
    return false;
  }
  void end_polling() noexcept { hosts_polling_.fetch_sub(1, std::memory_order_relaxed); }
  /// Wakes a worker that pauses between polls. It is called if a host waits for a ready task that it can't run itself,
  /// or if a ready task has enough work left to be worth it.
  void wake_worker() noexcept;
  /// Returns whether limit() threads run tasks now. If so, a thread that goes on with its task keeps other ready tasks
  /// from running. This is a hint.
  bool full() const noexcept { return running_.load(std::memory_order_relaxed) >= limit_; }
  bool delays_more_urgent(unsigned level) const noexcept { return more_urgent(level) && full(); }

  // -- Hints for a task that could end its slice.
  /// Returns whether a task that is more urgent than `level` is ready.
  bool more_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & ((1u << level) - 1)) != 0; }
  /// Returns a number that changes when a host readies or claims something.
  std::uint32_t host_actions() const noexcept { return host_actions_.load(std::memory_order_relaxed); }
  bool others_ready() const noexcept { return ready_.ready_levels() != 0; }
  bool as_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & (1u << level)) != 0; }
  /// Returns whether tasks other than `task` are ready of which one may be as urgent.
  bool others_as_urgent(const Task& task) const noexcept {
    return as_urgent(task.level()) && (!task.queued() || ready_.size() > 1);
  }

  /// Returns the nanoseconds that the workers have spent on tasks, all together, up to now; at most limit() times the
  /// time since the first of them began. What hosts ran themselves isn't in it. The figure never falls. It is meant for
  /// monitoring, because it takes locks.
  std::int64_t worked_ns();

  /// Ends and joins the workers once nothing is ready. Returns false if one is still busy at the deadline, and then it
  /// is left running. It is called once, as the last call.
  bool stop(const Deadline& deadline);

 private:
  struct Worker {
    explicit Worker(bool is_reserve) noexcept : reserve(is_reserve) {}
    Parker parker;
    const bool reserve;
    // The worker itself writes these, for worked_ns().
    std::atomic<std::int64_t> worked_ns{0};    // It has the time of the slices that are over.
    std::atomic<std::int64_t> slice_began{0};  // It is 0 between tasks.
    // Only the worker itself uses these.
    std::int64_t pause_ns = 0;       // This is how long it pauses before its next poll.
    std::uint32_t host_actions = 0;  // host_actions_ had this value after its last task.
    std::uint64_t waited_for = 0;    // oldest_push() returned this number at its last poll.
    bool asleep = false;             // lock_ guards it; it says whether sleepers_ has the worker.
    Worker* next = nullptr;          // lock_ guards it; it is the next one in sleepers_.
  };
  /// A Wakeup says what carry_out() does after lock_ is released.
  struct Wakeup {
    Worker* wake = nullptr;
    bool start = false;
    bool reserve = false;  // The worker that is started is a reserve.
  };

  enum : unsigned { plain = 0, woken = 1, by_host = 2 };
  void ready(Task& task, unsigned how) noexcept;
  Wakeup choose_worker(bool even_if_polling) noexcept;
  Worker* take_sleeper(bool reserve) noexcept;
  void carry_out(const Wakeup& wakeup) noexcept;
  void start_first();
  void start_worker(bool reserve);
  void add_worker(bool reserve);
  std::uint32_t started() noexcept;
  void work(Worker& self) noexcept;
  Task* take(Wakeup* wakeup) noexcept;
  Task* wait_for_task(Worker& self) noexcept;
  bool keeps_running(Worker& self, const Task::Done& done, std::int64_t took_ns) noexcept;
  /// A poll found nothing to take, something, or the same task as the poll before.
  enum class Found { nothing, something, twice };
  Found poll(Worker& self) noexcept;
  bool pause(Worker& self) noexcept;
  void sleep(Worker& self) noexcept;
  std::uint32_t& polling(bool reserve) noexcept { return reserve ? reserves_polling_ : polling_; }

  const std::uint32_t limit_;
  const std::int64_t backoff_ns_;
  Director* const director_;  // It is null in threads mode.
  std::atomic<bool> started_any_{false};

  std::mutex threads_mutex_;                      // It is taken before lock_.
  std::vector<std::thread> threads_;              // threads_mutex_ guards it.
  std::vector<std::unique_ptr<Worker>> workers_;  // threads_mutex_ guards it.
  std::int64_t reported_worked_ns_ = 0;           // threads_mutex_ guards it; worked_ns() returned it last.

  alignas(64) SpinLock lock_;
  ReadyQueue ready_;                       // lock_ guards it.
  Worker* sleepers_ = nullptr;             // lock_ guards it.
  Worker* last_poller_ = nullptr;          // lock_ guards it; this worker began to poll last.
  std::uint32_t started_ = 0;              // lock_ guards it; it counts the workers that are started or being started.
  std::uint32_t polling_ = 0;              // lock_ guards it; it counts the idle workers that poll or are about to.
  std::uint32_t reserves_polling_ = 0;     // lock_ guards it; it counts the reserves that poll or are about to.
  std::atomic<std::uint32_t> running_{0};  // It is written under lock_; it counts the threads that have a task.
  std::atomic<std::uint32_t> pushes_{0};   // It is written under lock_; it counts the tasks that were ever readied.
  std::atomic<std::uint32_t> host_actions_{0};  // It is written under lock_; it counts what hosts readied or claimed.
  std::atomic<bool> starving_{false};           // It is written under lock_; hosts claim nothing while it is set.
  std::atomic<bool> stopping_{false};           // It is written under lock_.

  std::atomic<std::uint32_t> hosts_polling_{0};

  std::mutex end_mutex_;
  std::uint32_t ended_ = 0;      // end_mutex_ guards it.
  std::condition_variable end_;  // It is notified when ended_ changed, or started_ after stop().
};

}  // namespace anyplace::cpu_sim
