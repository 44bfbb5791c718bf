// SPDX-License-Identifier: Apache-2.0
//
// This header has the commands that wait for a gate and that stamp the time for an event. (The queue has an entry of
// its own for a wait for another stream.)
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "command.h"
#include "director.h"
#include "operation.h"
#include "ref.h"
#include "stream.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

/// The host opens a Gate once. Its handle and the queued waits share it.
struct Gate final : RefCounted<Gate> {
  Timeline timeline{nullptr};  // It goes from 0 to 1.
  // It is opened by a message of another rank (Director::receive): so is each gate of a rank in the deterministic mode.
  // It is written when the gate is made.
  bool is_message = false;

  /// One thread at a time calls it.
  void open() noexcept;
};

/// Parks the stream until the gate is open. When the stream is woken, it executes this command again, which is then
/// done.
class WaitGate final : public Command {
 public:
  explicit WaitGate(Ref<Gate> gate) noexcept : gate_(std::move(gate)) {}

  Progress execute(Stream& stream) noexcept override {
    // The command keeps the gate alive until the stream is woken; after that park() touches neither.
    return stream.park(gate_->timeline, 1) ? Progress::elsewhere : Progress::done;
  }
  void describe(Operation& out) const override {
    out.be_silent(gate_->is_message ? "wait for a message" : "wait for a gate");
    if (gate_->is_message) out.message = gate_.get();
  }

 private:
  Ref<Gate> gate_;
};

/// A Stamp says when a timed record completed. It is written before the record's number is reached, and read after.
struct Stamp final : RefCounted<Stamp> {
  std::atomic<std::int64_t> ns{0};
};

class StampTime final : public Command {
 public:
  explicit StampTime(Ref<Stamp> stamp) noexcept : stamp_(std::move(stamp)) {}

  Progress execute(Stream&) noexcept override {
    stamp_->ns.store(device_now_ns(), std::memory_order_relaxed);
    return Progress::done;
  }
  void describe(Operation& out) const override {
    out.be_silent("time stamp");
    out.kind = Operation::Kind::time_stamp;
  }

 private:
  Ref<Stamp> stamp_;
};

}  // namespace anyplace::cpu_sim
