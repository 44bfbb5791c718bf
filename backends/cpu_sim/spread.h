// SPDX-License-Identifier: Apache-2.0
//
// Spreading: a command of many equal parts is run by several threads, kernels by blocks, copies and fills by bytes. The
// threads take ranges off it, sized by how long the ranges before took. The first range is the least one and is run by
// the thread that has the stream's turn; what is short from then on isn't worth another thread's while, and that one
// runs it all.
//
// Between two ranges a thread sees whether something more urgent is ready, or has been as urgent for a while, and goes
// back to the scheduler. So a long kernel delays a more urgent stream by one range at most.
//
// A graph's launch (graph_run.h) has several threads as well. It divides its work in its own way, and uses only the
// invitation of the stream's SpreadJob.
#pragma once

#include <atomic>
#include <cstdint>

#include "command.h"
#include "task.h"

namespace anyplace::cpu_sim {

class Scheduler;

/// A command of `units` equal parts that may run in any order and at the same time.
class Spreadable : public Command {
 public:
  struct Extent {
    std::uint64_t units;  // at least 1, below 2^63
    std::uint64_t grain;  // the fewest units that are worth a range; all ranges but the last are multiples of it
  };
  virtual Extent extent() const noexcept = 0;

  /// Runs the units from `begin` up to `end`. Setting `stop` keeps further units from being started.
  virtual void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept = 0;

  Progress execute(Stream& stream) noexcept final;
};

/// The parts of one Spreadable, handed out. Any number of threads may run them at the same time.
class Ranges {
 public:
  /// Called before any thread runs one.
  void begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  bool left() const noexcept { return next_.load(std::memory_order_relaxed) < extent_.units; }
  /// Runs ranges until no unit is left, or until something else is more urgent; true if that was so while units were
  /// left. `invitation` is the task by which other threads join.
  bool run(Scheduler& scheduler, const Task& invitation) noexcept;

 private:
  std::uint64_t range(const Scheduler& scheduler) const noexcept;
  void measure(Scheduler& scheduler, std::uint64_t units, std::int64_t took_ns) noexcept;

  Spreadable* work_ = nullptr;
  Spreadable::Extent extent_{};
  std::atomic<std::uint64_t> next_{0};    // the first unit that isn't handed out; may pass the last
  std::atomic<std::uint64_t> wanted_{0};  // units that take as long as a range should; 0 before one was measured
  std::atomic<bool> stop_{false};
};

/// Whether a thread that began at `began_ns` leaves its work to others now, because they are more urgent, or as urgent
/// and it has had its time. `invitation` is the task by which others join that work.
bool gives_way(const Scheduler& scheduler, const Task& invitation, std::int64_t began_ns, std::int64_t now_ns) noexcept;

/// Work that several threads divide among themselves.
class JointWork {
 public:
  enum class Left {
    to_others,  // another thread completes the command; the caller may touch neither this nor the stream any more
    complete,   // the caller completes the command
    refused     // nothing was done, and the invitation is back in the queue
  };
  /// Called by a thread that took the invitation.
  virtual Left join() noexcept = 0;

 protected:
  JointWork() = default;
  ~JointWork() = default;
};

/// The one command of a stream that is spread now. It is a part of the stream, so that spreading allocates nothing.
///
/// As a task it is an invitation: it is in the scheduler's queue while units are left, and a thread that takes it
/// joins. parties_ counts the threads that run ranges, and the invitation while it is out; the last of them completes
/// the command. A thread that finds no units left takes the invitation back before it leaves.
class SpreadJob final : public Task {
 public:
  explicit SpreadJob(Stream& stream) noexcept : stream_(stream) {}
  /// Takes over the stream's level.
  void adopt_level() noexcept;

  /// Runs the command of the stream whose turn the caller has. Progress::elsewhere: another thread completes it.
  Progress begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  Done run() noexcept override;

  // -- For JointWork. It counts its parties itself, and readies this task when it wants one more.
  void begin_joint(JointWork& work) noexcept;
  // One thread, the owner, has the work to itself and claims one piece after the other, until another thread ends that.
  // The claims are counted here, in memory that is never freed, so that a thread can look at them that doesn't take
  // part.
  /// The owner has the first piece. Called before the task is readied.
  void open_claims() noexcept;
  /// Claims the next piece, and returns its number; closed_claims or more if the claims were closed: then it isn't the
  /// caller's.
  std::uint64_t claim() noexcept { return claims_.fetch_add(1, std::memory_order_acq_rel); }
  /// Closes the claims, and returns how many pieces were claimed. What the owner did before it claimed the last of them
  /// is visible to the caller.
  std::uint64_t close_claims() noexcept;
  /// The same by the owner when nobody can have joined.
  void end_claims() noexcept { claims_.store(closed_claims, std::memory_order_relaxed); }
  std::uint64_t claims() const noexcept { return claims_.load(std::memory_order_relaxed); }
  /// Watches the owner for a microsecond. False if it claims pieces so fast that another thread would only hold it up.
  bool is_worth_joining() const noexcept;
  static constexpr std::uint64_t closed_claims = std::uint64_t{1} << 63;

 private:
  void invite() noexcept;
  bool run_ranges() noexcept;

  Stream& stream_;
  JointWork* joint_ = nullptr;  // null while ranges_ are what is shared
  Ranges ranges_;
  std::atomic<std::uint64_t> claims_{closed_claims};
  std::atomic<std::uint32_t> parties_{0};
  std::atomic<bool> invited_{false};  // whether the invitation is out, or about to be
};

}  // namespace anyplace::cpu_sim
