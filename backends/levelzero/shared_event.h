// SPDX-License-Identifier: Apache-2.0
//
// SharedEvent: the shared part of an interprocess event: its place in an arena that several processes map
// (anyplace/backend/kit/event_arena.h), where they see its most recent record and whether that is done.
//
// Level Zero can share event pools between processes, but such events don't keep the contract: a ze_event is signalled
// once and reset by hand, and the process that resets it can't know whether another one still waits. So no object of
// Level Zero is shared. A record is a step of the device's helper thread, in the stream's order, which raises a counter
// in the arena. A stream that waits for another process's record waits for a signal that this process's host signals.
#pragma once

#include <cstdint>
#include <memory>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/kit/event_arena.h"
#include "signal.h"

namespace anyplace::levelzero {

using anyplace::backend::SharedRecord;

class Stream;

class SharedEvent {
 public:
  /// Makes an event of this process. Throws what EventArena::take_event throws.
  static std::unique_ptr<SharedEvent> make();
  /// Opens an event that another process exported. Throws what EventArena::join throws, and INVALID_ARGUMENT for bytes
  /// that aren't an event's.
  static std::unique_ptr<SharedEvent> import(const anyplace_ipc_handle& handle);

  SharedEvent(std::shared_ptr<backend::EventArena> arena, std::uint32_t number, bool own) noexcept
      : arena_(std::move(arena)), number_(number), own_(own) {}
  SharedEvent(const SharedEvent&) = delete;  // it gives its place back once
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent() {
    if (own_) arena_->give_event(number_);
  }

  void export_to(anyplace_ipc_handle& out) const noexcept;

  /// The most recent record, whichever process made it. It is valid as long as the event is kept.
  SharedRecord latest() const noexcept { return {arena_->event(number_).load(std::memory_order_seq_cst)}; }
  /// Records the event behind the stream's work. `done` becomes this process's own signal of the record, null if the
  /// stream has no work; other processes see the record as done before it is signalled. Called by one thread at a time.
  /// Throws what EventArena::make_counter and Waiter::make_job throw.
  SharedRecord record(Stream& stream, SignalRef& done);

  /// Whether the record is done. Throws Failure(PEER_GONE) if the process that made it ended before that.
  bool complete(const SharedRecord& record) const;
  /// Waits until the record is done; returns false when time ran out. Throws Failure(PEER_GONE) as complete() does.
  bool synchronize(const SharedRecord& record, const Deadline& deadline) const;
  /// Holds back what is submitted later. If the process that made the record ends before it is done, the stream gets a
  /// fault.
  void hold_back(Stream& stream, const SharedRecord& record) const;

 private:
  const std::shared_ptr<backend::EventArena> arena_;
  const std::uint32_t number_;
  const bool own_;
  std::shared_ptr<backend::EventArena::Counter> counter_;  ///< of the stream that last recorded it here
  std::uint64_t counted_ = 0;                              ///< the cookie of that stream
};

}  // namespace anyplace::levelzero
