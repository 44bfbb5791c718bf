// SPDX-License-Identifier: Apache-2.0
//
// Spreading: commands are cut into pieces for several workers, kernels by blocks, copies and fills by bytes. Between
// two pieces a worker goes back to the scheduler, so a long kernel delays a more urgent stream by one piece at most,
// and shares the workers fairly with a stream that is as urgent.
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
    std::uint64_t units;   // at least 1
    std::uint64_t grain;   // the fewest units that are worth a piece; all pieces but the last are multiples of it
    bool is_long = false;  // whether it takes so long that waking another thread is worthwhile
  };
  virtual Extent extent() const noexcept = 0;

  /// Runs the units from `begin` up to `end`. Setting `stop` keeps further units from being started.
  virtual void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept = 0;

  Progress execute(Stream& stream) noexcept final;
};

/// The pieces of the one command of a stream that is spread now. It is a part of the stream, so that spreading
/// allocates nothing. It is in the scheduler's queue while units are left. A thread that takes it cuts off a piece and
/// enqueues the rest before running the piece. The thread that completes the last unit completes the command.
class SpreadJob final : public Task {
 public:
  explicit SpreadJob(Stream& stream) noexcept : stream_(stream) {}
  /// Takes over the stream's level.
  void adopt_level() noexcept;

  void begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  Done run() noexcept override;

 private:
  std::uint64_t cut() noexcept;

  Stream& stream_;
  Spreadable* work_ = nullptr;
  Spreadable::Extent extent_{};
  std::uint64_t next_ = 0;  // the first unit that isn't handed out; only the thread that has the task uses it
  std::atomic<std::uint64_t> piece_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace anyplace::cpu_sim
