// SPDX-License-Identifier: Apache-2.0
//
// SharedEvent: what an interprocess event has beside what every event has: its place in an arena that several processes
// map (anyplace/backend/kit/event_arena.h), where they see its most recent record and whether that is done.
//
// Level Zero shares event pools between processes, but its events don't keep the contract: a ze_event is signalled once
// and reset by hand, and who resets it can't know whether another process still waits. So nothing of Level Zero's
// crosses: a record is a step of the device's helper thread, in the stream's order, which raises a counter in the
// arena; and a stream that waits for another process's record waits for a signal that this process gives from the host.
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
  /// A new one, of this process. Throws as EventArena::take_event.
  static std::unique_ptr<SharedEvent> make();
  /// One that another process exported. Throws as EventArena::join, and INVALID_ARGUMENT for bytes that are no event's.
  static std::unique_ptr<SharedEvent> import(const anyplace_ipc_handle& handle);

  SharedEvent(std::shared_ptr<backend::EventArena> arena, std::uint32_t number, bool own) noexcept
      : arena_(std::move(arena)), number_(number), own_(own) {}
  SharedEvent(const SharedEvent&) = delete;  // its place is given back once
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent() {
    if (own_) arena_->give_event(number_);
  }

  void export_to(anyplace_ipc_handle& out) const noexcept;

  /// The most recent record, whichever process made it. Good for as long as the event is kept.
  SharedRecord latest() const noexcept { return {arena_->event(number_).load(std::memory_order_seq_cst)}; }
  /// Records it, behind the stream's work. `done` is this process's own signal of the record, null if the stream has no
  /// work: other processes see the record as done before it is signalled. By one thread at a time. Throws as
  /// EventArena::make_counter and Waiter::make_job.
  SharedRecord record(Stream& stream, SignalRef& done);

  /// Throws Failure(PEER_GONE) if the process that recorded it has ended before.
  bool complete(const SharedRecord& record) const;
  /// The same, waiting. False when time ran out first.
  bool synchronize(const SharedRecord& record, const Deadline& deadline) const;
  /// Holds back what is submitted later. If the process that recorded it ends before, that is the stream's fault.
  void hold_back(Stream& stream, const SharedRecord& record) const;

 private:
  const std::shared_ptr<backend::EventArena> arena_;
  const std::uint32_t number_;
  const bool own_;
  std::shared_ptr<backend::EventArena::Counter> counter_;  ///< of the stream that recorded it last here
  std::uint64_t counted_ = 0;                              ///< that stream: its cookie
};

}  // namespace anyplace::levelzero
