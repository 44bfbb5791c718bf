// SPDX-License-Identifier: Apache-2.0
//
// Commands that are cut into pieces for several workers: kernels over their blocks, copies and fills over their bytes.
// Between two pieces a worker goes back to the scheduler, so a long kernel holds back a more urgent stream by one piece
// at most, and shares the workers fairly with one as urgent.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_SPREAD_H
#define ANYPLACE_BACKENDS_CPU_SIM_SPREAD_H

#include <atomic>
#include <cstdint>

#include "command.h"
#include "task.h"

namespace anyplace::cpu_sim {

/// A command of `units` equal parts that may run in any order and at the same time.
class Spreadable : public Command {
 public:
  struct Extent {
    uint64_t units;        // at least 1
    uint64_t grain;        // fewest units worth a piece of their own; pieces are multiples of it, but for the last
    bool is_long = false;  // so long that another thread is worth waking for it
  };
  virtual Extent extent() const noexcept = 0;

  /// Runs the units from `begin` up to `end`. Setting `stop` keeps further units from being started.
  virtual void run_units(uint64_t begin, uint64_t end, std::atomic<bool>& stop) noexcept = 0;

  Progress execute(Stream& stream) noexcept final;
};

/// The pieces of the one command of a stream that is spread now. Part of the stream, so that spreading allocates
/// nothing. It is enqueued while it has units left to hand out; who is handed the task cuts off a piece and enqueues
/// the rest before running it. Who completes the last unit completes the command.
class SpreadJob final : public Task {
 public:
  explicit SpreadJob(Stream& stream) noexcept : stream_(stream) {}
  /// The stream's.
  void adopt_level() noexcept;

  void begin(Spreadable& work, const Spreadable::Extent& extent) noexcept;
  Done run() noexcept override;

 private:
  uint64_t cut() noexcept;

  Stream& stream_;
  Spreadable* work_ = nullptr;
  Spreadable::Extent extent_{};
  uint64_t next_ = 0;  // first unit not handed out; of whoever was handed the task
  std::atomic<uint64_t> piece_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_SPREAD_H
