// SPDX-License-Identifier: Apache-2.0
//
// Commands that run no code of the user's: waiting for a gate, and stamping the time for an event. (Waiting for another
// stream is an entry of the queue's own.)
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

/// What a host opens once. Shared by its handle and the waits that are queued.
struct Gate final : RefCounted<Gate> {
  Timeline timeline{nullptr};  // from 0 to 1

  /// By one thread at a time.
  void open() noexcept;
};

/// Parks the stream until a gate is open. Woken, it looks again and is done.
class WaitGate final : public Command {
 public:
  explicit WaitGate(Ref<Gate> gate) noexcept : gate_(std::move(gate)) {}

  Progress execute(Stream& stream) noexcept override {
    // The command keeps the gate alive until the stream is woken by it; after that park must not touch either.
    return stream.park(gate_->timeline, 1) ? Progress::kElsewhere : Progress::kDone;
  }

 private:
  Ref<Gate> gate_;
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
