// SPDX-License-Identifier: Apache-2.0
//
// Spreading: a command of many equal parts is run by several threads, kernels by blocks, copies and fills by bytes. The
// threads take ranges off it, sized by how long the ranges before took. The first range is the least one and is run by
// the thread that has the stream's turn; what is short from then on isn't worth another thread's while, and that one
// runs it all.
//
// Between two ranges a thread sees whether something more urgent is ready, or has been as urgent for a while, and goes
// back to the scheduler. So a long kernel delays a more urgent stream by one range at most.
#pragma once

#include <atomic>
#include <cstdint>

#include "command.h"
#include "task.h"

namespace anyplace::cpu_sim {

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

 private:
  bool left() const noexcept { return next_.load(std::memory_order_relaxed) < extent_.units; }
  std::uint64_t range() const noexcept;
  void measure(std::uint64_t units, std::int64_t took_ns) noexcept;
  void invite() noexcept;
  bool gives_way(std::int64_t began_ns, std::int64_t now_ns) const noexcept;
  bool run_ranges() noexcept;

  Stream& stream_;
  Spreadable* work_ = nullptr;
  Spreadable::Extent extent_{};
  std::atomic<std::uint64_t> next_{0};    // the first unit that isn't handed out; may pass the last
  std::atomic<std::uint64_t> wanted_{0};  // units that take as long as a range should; 0 before one was measured
  std::atomic<std::uint32_t> parties_{0};
  std::atomic<bool> invited_{false};  // whether the invitation is out, or about to be
  std::atomic<bool> stop_{false};
};

}  // namespace anyplace::cpu_sim
