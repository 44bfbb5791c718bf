// SPDX-License-Identifier: Apache-2.0
//
// The workers: one pool for the process, shared by all devices. It runs ready tasks and knows nothing of streams,
// commands or memory; those know nothing of threads. Hosts that synchronise run tasks too (help.h): they claim them
// here. At most limit() threads, of both kinds, run tasks at one time.
//
// An idle worker isn't woken for each task, because a host that is about to synchronise does a short one sooner than
// any other thread could, and waking costs the host microseconds. Idle workers look at the queue: every microsecond at
// first, then between short sleeps ("dozing"), and only when nothing was submitted for a while they sleep until they
// are woken. They are polite: a lone task is left to the host until it was there at two looks.
//
// Guarantees
// - Whenever a task is ready and fewer than limit() threads run one, a worker is looking, or was woken. So two kernels
//   that wait for each other get two threads, and a task that nobody synchronises with starts within two looks.
// - A host that goes on submitting and helping itself doesn't keep a ready task waiting: when the next task was there
// at
//   two looks while all threads that may run did, hosts claim nothing until a worker has taken something.
// - The last worker is a reserve (if there are two or more): it looks rarely, and takes a task only when the next one
//   was the same at two looks, which is when all others are in long kernels. One thread per core, the host's included,
//   is faster than one more.
// - No thread is started before start(), that is, before the first submitted work.
// - lock_ is a leaf of the lock order (see stream.h) and is never held while a task runs.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H
#define ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H

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
  /// `workers` at least 1. `doze_ns`: how long the short sleeps of an idle worker are; 0: none, it sleeps at once and
  /// is woken for each task.
  Scheduler(uint32_t workers, int64_t doze_ns);
  Scheduler(const Scheduler&) = delete;  // workers hold its address
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() = default;  // only of one that never started a thread; see Engine

  uint32_t limit() const noexcept { return limit_; }

  /// Makes sure that there is a worker. Called before work is submitted, so that a system without threads is a failure
  /// of the call and not work that never runs. Throws Failure.
  void start() {
    if (!started_any_.load(std::memory_order_acquire)) [[unlikely]]
      start_first();
  }

  // -- Readying a task. Any thread, after start().
  /// Something was submitted to it, or its turn is over.
  void enqueue(Task& task) noexcept { ready(task, kPlain); }
  /// The same, by a host: it was idle, and something was submitted to it.
  void enqueue_submitted(Task& task) noexcept { ready(task, kByHost); }
  /// Another task's completion was what it waited for: the same thread goes on with it if it can.
  void enqueue_woken(Task& task) noexcept { ready(task, kWoken); }
  /// Work for several threads at once: worth waking one.
  void enqueue_for_all(Task& task) noexcept { ready(task, kWoken | kForAll); }

  // -- For a host that helps.
  /// Takes a task out of the queue, to be run by the caller, who then calls done(). False if it isn't there, or if all
  /// threads that may run are needed for others.
  bool claim(Task& task) noexcept;
  void done() noexcept;
  /// A host looks for something to help with, without sleeping. False if so many do that it had better sleep.
  bool begin_looking() noexcept {
    if (hosts_looking_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    end_looking();
    return false;
  }
  void end_looking() noexcept { hosts_looking_.fetch_sub(1, std::memory_order_relaxed); }
  /// Something is ready that a host waits for and can't help with: whoever rests is to look now.
  void call() noexcept;
  /// As many threads run something as may: who goes on keeps another task waiting. A hint.
  bool full() const noexcept { return running_.load(std::memory_order_relaxed) >= limit_; }
  bool in_the_way(unsigned level) const noexcept { return more_urgent(level) && full(); }

  /// Whether something more urgent than `level`, or as urgent, is ready. Hints for a task that could make room.
  bool more_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & ((1u << level) - 1)) != 0; }
  /// Changes when a host readies or claims something. A hint.
  uint32_t host_actions() const noexcept { return host_actions_.load(std::memory_order_relaxed); }
  bool others_ready() const noexcept { return ready_.ready_levels() != 0; }
  bool as_urgent(unsigned level) const noexcept { return (ready_.ready_levels() & (1u << level)) != 0; }

  /// Ends and joins the workers once nothing is ready; false when one is still busy at the deadline, which leaves it.
  /// Called once, last.
  bool stop(const Deadline& deadline);

 private:
  struct Worker {
    explicit Worker(bool is_reserve) noexcept : reserve(is_reserve) {}
    Parker parker;
    const bool reserve;
    // Its own.
    int64_t pause_ns = 0;       // before its next look
    uint32_t host_actions = 0;  // after its last task
    uint64_t waited_for = 0;    // the push of the task that was the oldest at its last look
    bool asleep = false;        // guarded by lock_; until it is called: it is in sleepers_, and not in looking()
    Worker* next = nullptr;     // guarded by lock_; in sleepers_
  };
  /// What is to be done once lock_ is let go.
  struct Call {
    Worker* wake = nullptr;
    bool start = false;
    bool reserve = false;  // start one
  };

  enum : unsigned { kPlain = 0, kWoken = 1, kForAll = 2, kByHost = 4 };
  void ready(Task& task, unsigned how) noexcept;
  Call call_somebody(bool even_if_looking) noexcept;
  Worker* call_sleeper(bool reserve) noexcept;
  void carry_out(const Call& call) noexcept;
  void start_first();
  void start_worker(bool reserve);
  uint32_t started() noexcept;
  void work(Worker& self) noexcept;
  Task* take(Call* call) noexcept;
  Task* wait_for_task(Worker& self) noexcept;
  bool stays(Worker& self, const Task::Done& done, int64_t took_ns) noexcept;
  enum class Seen { kNothing, kSomething, kTwice };
  Seen look(Worker& self) noexcept;
  bool pause(Worker& self) noexcept;
  void sleep(Worker& self) noexcept;
  uint32_t& looking(bool reserve) noexcept { return reserve ? reserves_looking_ : looking_; }

  const uint32_t limit_;
  const int64_t doze_ns_;
  std::atomic<bool> started_any_{false};

  std::mutex threads_mutex_;                      // taken before lock_
  std::vector<std::thread> threads_;              // guarded by threads_mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by threads_mutex_

  alignas(64) SpinLock lock_;
  ReadyQueue ready_;                       // guarded by lock_
  Worker* sleepers_ = nullptr;             // guarded by lock_
  Worker* looker_ = nullptr;               // guarded by lock_; the one that began to look last
  uint32_t started_ = 0;                   // guarded by lock_; workers started or being started
  uint32_t looking_ = 0;                   // guarded by lock_; idle workers that look, or are about to
  uint32_t reserves_looking_ = 0;          // guarded by lock_
  std::atomic<uint32_t> running_{0};       // written under lock_; threads with a task
  std::atomic<uint32_t> pushes_{0};        // written under lock_; tasks that were ever readied
  std::atomic<uint32_t> host_actions_{0};  // written under lock_; tasks that hosts ever readied or claimed
  std::atomic<bool> starving_{false};      // written under lock_; hosts are to claim nothing
  std::atomic<bool> stopping_{false};      // written under lock_

  std::atomic<uint32_t> hosts_looking_{0};

  std::mutex end_mutex_;
  uint32_t ended_ = 0;           // guarded by end_mutex_
  std::condition_variable end_;  // ended_ changed, or started_ after stop()
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_SCHEDULER_H
