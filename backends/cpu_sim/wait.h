// SPDX-License-Identifier: Apache-2.0
//
// Commands that run no code of the user's: waiting for a timeline, and stamping the time for an event.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_WAIT_H
#define ANYPLACE_BACKENDS_CPU_SIM_WAIT_H

#include <atomic>
#include <cstdint>
#include <utility>

#include "clock.h"
#include "command.h"
#include "ref.h"
#include "stream.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

/// Parks the stream until a timeline reaches a target. Woken, it looks again and is done.
class Wait final : public Command {
 public:
  Wait(Ref<Timeline> timeline, uint64_t target) noexcept : timeline_(std::move(timeline)), target_(target) {}

  Progress execute(Stream& stream) noexcept override {
    // The command keeps the timeline alive until the stream is woken by it; after that park must not touch either.
    return stream.park(*timeline_, target_) ? Progress::kElsewhere : Progress::kDone;
  }

 private:
  Ref<Timeline> timeline_;
  uint64_t target_;
};

/// When a timed record completed. Written once, before the record's number is reached; read after.
struct Stamp final : RefCounted<Stamp> {
  std::atomic<int64_t> ns{0};
};

class StampTime final : public Command {
 public:
  explicit StampTime(Ref<Stamp> stamp) noexcept : stamp_(std::move(stamp)) {}

  Progress execute(Stream&) noexcept override {
    stamp_->ns.store(now_ns(), std::memory_order_relaxed);
    return Progress::kDone;
  }

 private:
  Ref<Stamp> stamp_;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_WAIT_H
