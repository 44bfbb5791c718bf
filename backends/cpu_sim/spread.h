// SPDX-License-Identifier: Apache-2.0
//
// Spreading: several threads run one command of many equal parts, kernels by blocks, copies and fills by bytes. The
// threads take ranges of the parts, sized by how long the ranges before took. The thread that executes the stream runs
// the first range, which has the fewest parts. If what is left would take less time than another thread needs to join,
// that thread runs it all.
//
// Between two ranges a thread looks whether a more urgent task is ready, or whether a task as urgent has been ready for
// a while, and returns to the scheduler if so. So a long kernel delays a more urgent stream by one range at most.
//
// A graph's launch (graph_run.h) is run by several threads as well. It divides its work itself, and uses the stream's
// SpreadJob only to get further threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "command.h"
#include "task.h"

namespace anyplace::cpu_sim {

class Scheduler;

/// A Spreadable is a command of `units` equal parts, which may run in any order and at the same time.
class Spreadable : public Command {
 public:
  struct Extent {
    std::uint64_t units;  // It is at least 1 and below 2^63.
    std::uint64_t grain;  // This is the least size of a range; all ranges but the last are multiples of it.
  };
  virtual Extent extent() const noexcept = 0;

  /// Runs the units from `begin` up to `end`. Setting `stop` keeps further units from being started.
  virtual void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept = 0;

  Progress execute(Stream& stream) noexcept final;
};

/// Ranges divide the units of one Spreadable. Any number of threads may run ranges at the same time.
class Ranges {
 public:
  /// Must return before any thread calls run().
  void begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  bool left() const noexcept { return next_.load(std::memory_order_relaxed) < extent_.units; }
  /// Runs ranges until no unit is left, or until another task goes first. Returns true in the second case, if units
  /// were left then. `job` is the task by which other threads join.
  bool run(Scheduler& scheduler, const Task& job) noexcept;

 private:
  std::uint64_t range(const Scheduler& scheduler) const noexcept;
  void measure(Scheduler& scheduler, std::uint64_t units, std::int64_t took_ns) noexcept;

  Spreadable* work_ = nullptr;
  Spreadable::Extent extent_{};
  std::atomic<std::uint64_t> next_{0};  // No thread has taken this unit yet, nor those behind it; it may pass the end.
  std::atomic<std::uint64_t> wanted_{0};  // This many units take range_ns; it is 0 before a range was measured.
  std::atomic<bool> stop_{false};
};

/// Returns whether a thread that began at `began_ns` stops its work now, because a ready task is more urgent, or is as
/// urgent and the thread has had its time. `job` is the task by which others join that work.
bool should_yield(const Scheduler& scheduler, const Task& job, std::int64_t began_ns, std::int64_t now_ns) noexcept;

/// JointWork is work that several threads divide by its own rules, which count the threads, too.
class JointWork {
 public:
  enum class Joined {
    left,       // Another thread completes the command; the caller may touch neither this nor the stream any more.
    completes,  // The caller completes the command.
    refused     // The thread did nothing, and the job is back in the ready queue.
  };
  /// A thread that took the job from the ready queue calls this.
  virtual Joined join() noexcept = 0;

 protected:
  JointWork() = default;
  ~JointWork() = default;
};

/// A SpreadJob has the command of a stream that is being spread. It is a part of the stream, so that spreading
/// allocates nothing.
///
/// As a task it is in the ready queue while units are left, and a thread that takes it from there joins. users_ counts
/// the threads that run ranges, and the job itself while it is in the queue; the last of them completes the command. A
/// thread that finds no unit left takes the job out of the queue before it leaves.
class SpreadJob final : public Task {
 public:
  explicit SpreadJob(Stream& stream) noexcept : stream_(stream) {}
  /// Takes over the stream's level.
  void adopt_level() noexcept;

  /// Runs the command of the stream that the caller executes. It returns Progress::elsewhere if another thread
  /// completes the command.
  Progress begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  Done run() noexcept override;
  void step() noexcept override { static_cast<void>(run()); }
  void describe(Operation& out) override;

  // -- For JointWork, which enqueues this task when it wants one more thread.
  void begin_joint(JointWork& work) noexcept;
  /// Counts a piece of the joint work that is done. Only the thread that began the work calls it. The count lies in
  /// memory that is never freed (stream_pool.h), so threads that don't take part may watch it.
  void count_piece() noexcept { pieces_.store(pieces_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// Watches that thread for a microsecond. Returns false if it completes pieces so fast that another thread would only
  /// slow it down.
  bool is_worth_joining() const noexcept;

 private:
  void enqueue_once() noexcept;
  bool run_ranges() noexcept;

  Stream& stream_;
  std::atomic<JointWork*> joint_{nullptr};  // It is null while ranges_ are what is shared.
  Ranges ranges_;
  std::atomic<std::uint32_t> pieces_{0};
  std::atomic<std::uint32_t> users_{0};
  std::atomic<bool> enqueued_{false};  // It says whether the job is in the ready queue, or about to be.
};

}  // namespace anyplace::cpu_sim
