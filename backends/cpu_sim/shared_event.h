// SPDX-License-Identifier: Apache-2.0
//
// SharedEvent: what an interprocess event has beside what every event has: its place in an arena (event_arena.h), where
// other processes see its most recent record, and the commands of streams that record it and wait for it.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <memory>

#include "event_arena.h"
#include "record.h"

namespace anyplace::cpu_sim {

class Stream;

class SharedEvent {
 public:
  /// A new one, of this process. Throws as EventArena::take_event.
  static std::unique_ptr<SharedEvent> make();
  /// One that another process exported. Throws as EventArena::join, and INVALID_ARGUMENT for bytes that are no event's.
  static std::unique_ptr<SharedEvent> import(const anyplace_ipc_handle& handle);

  SharedEvent(std::shared_ptr<EventArena> arena, std::uint32_t number, bool own) noexcept
      : arena_(std::move(arena)), number_(number), own_(own) {}
  SharedEvent(const SharedEvent&) = delete;  // its place is given back once
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent() {
    if (own_) arena_->give_event(number_);
  }

  void export_to(anyplace_ipc_handle& out) const noexcept;

  /// The most recent record, whichever process made it. Good for as long as the event's arena is kept.
  SharedRecord latest() const noexcept { return {arena_->event(number_).load(std::memory_order_seq_cst)}; }
  /// Records it. `local` is the same record on the stream's own timeline. Throws as EventArena::counter_of, and if
  /// nothing can be submitted.
  SharedRecord record(Stream& stream, Record& local);

  /// Throws Failure(PEER_GONE) if the process that recorded it has ended before.
  bool complete(const SharedRecord& record) const;
  /// The same, waiting. False when time ran out first.
  bool synchronize(const SharedRecord& record, std::uint64_t timeout_ns, bool spins) const;
  /// Holds back what is submitted later. If the process that recorded it ends before, that is the stream's fault.
  void hold_back(Stream& stream, const SharedRecord& record, backend::Host host, std::uint64_t cookie) const;

 private:
  const std::shared_ptr<EventArena> arena_;
  const std::uint32_t number_;
  const bool own_;
};

}  // namespace anyplace::cpu_sim
