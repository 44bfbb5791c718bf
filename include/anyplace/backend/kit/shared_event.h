// SPDX-License-Identifier: Apache-2.0
//
// SharedEvent: what an interprocess event has beside what every event has: its place in an EventArena, where several
// processes see its most recent record and whether that is done.
//
// The backend submits what reaches a record's target (record()), and what holds a stream back (EventArena's
// wake_when_over()). A record of its own process it may also wait for by its own means.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "../abi.h"
#include "event_arena.h"
#include "ipc_bytes.h"
#include "results.h"

namespace anyplace::backend {

/// An interprocess event: a place in an arena, which is the process's own or another's. Thread-safe.
class SharedEvent {
 public:
  using State = EventArena::State;

  /// This text says why a record is gone.
  static constexpr const char* gone_text =
      "the process that recorded the event has ended before what it recorded was complete";

  /// A new one, of this process. Throws as EventArena::take_event.
  static std::unique_ptr<SharedEvent> make() {
    std::shared_ptr<EventArena> arena = EventArena::own();
    const std::uint32_t number = arena->take_event();
    try {
      return std::make_unique<SharedEvent>(arena, number, true);
    } catch (...) {
      arena->give_event(number);
      throw;
    }
  }
  /// One that another process exported. `vendor` is the backend's name in a sentence. Throws as EventArena::join, and
  /// INVALID_ARGUMENT for bytes that are no event's.
  static std::unique_ptr<SharedEvent> import(const anyplace_ipc_handle& handle, const char* vendor) {
    const auto bytes = read_ipc_bytes<Bytes>(handle, vendor);
    if (bytes.number >= EventArenaLayout::events) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string("the bytes are no event of ") + vendor + "'s");
    }
    std::shared_ptr<EventArena> arena = EventArena::join({{bytes.pid, bytes.start}, bytes.nonce, bytes.descriptor});
    return std::make_unique<SharedEvent>(std::move(arena), bytes.number, false);
  }

  /// The event `number` of the arena; with `own` its place is given back at the end.
  SharedEvent(std::shared_ptr<EventArena> arena, std::uint32_t number, bool own) noexcept
      : arena_(std::move(arena)), number_(number), own_(own) {}
  SharedEvent(const SharedEvent&) = delete;  // its place is given back once
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent() {
    if (own_) arena_->give_event(number_);
  }

  /// Writes by what other processes find it.
  void export_to(anyplace_ipc_handle& out) const noexcept {
    const ArenaAddress& address = arena_->address();
    write_ipc_bytes(Bytes{address.owner.start, address.nonce, address.owner.pid, address.descriptor, number_, 0}, out);
  }

  /// The arena that it is in.
  const std::shared_ptr<EventArena>& arena() const noexcept { return arena_; }

  /// The most recent record, whichever process made it. It is good for as long as the event's arena is kept.
  SharedRecord latest() const noexcept { return {arena_->event(number_).load(std::memory_order_seq_cst)}; }

  /// Records the event. `submit(counter, target)` makes the stream reach that target of the counter
  /// (EventArena::Counter) behind its work; it is called under the counter's mutex. `stream` is a number that no stream
  /// with other work has at the same time. Any thread may call it. Throws as EventArena::make_counter, and what
  /// `submit` throws; then the event is as it was.
  template <class Submit>
  SharedRecord record(std::uint64_t stream, Submit&& submit) {
    const std::shared_ptr<EventArena::Counter> counter = counter_for(stream);
    SharedRecord made;
    {
      const std::lock_guard lock(counter->submit);
      const std::uint64_t target = counter->issued + 1;
      made = counter->record(target);
      submit(counter, target);
      counter->issued = target;
    }
    arena_->event(number_).store(made.word, std::memory_order_seq_cst);
    return made;
  }

  /// Throws Failure(PEER_GONE) if the process that recorded it has ended before.
  bool complete(const SharedRecord& record) const { return is_done(arena_->find_out(record)); }
  /// Waits while the record is pending and left_ns() is above 0: what is left of the time, in nanoseconds. Returns
  /// false when time ran out first. Throws as complete().
  template <class Left>
  bool synchronize(const SharedRecord& record, Left&& left_ns) const {
    return is_done(arena_->wait(record, std::forward<Left>(left_ns)));
  }

 private:
  /// What crosses to the other process.
  struct Bytes {
    std::uint64_t start;
    std::uint64_t nonce;
    std::uint32_t pid;
    std::uint32_t descriptor;
    std::uint32_t number;
    std::uint32_t reserved;
  };

  static bool is_done(State seen) {
    if (seen == State::gone) refuse(ANYPLACE_STATUS_PEER_GONE, gone_text);
    return seen == State::done;
  }

  /// The counter of the stream that recorded the event last is kept, because that stream mostly records it again. An
  /// event shares its counter with no other: a target that is abandoned takes only this event's records with it.
  std::shared_ptr<EventArena::Counter> counter_for(std::uint64_t stream) {
    const std::lock_guard lock(mutex_);
    if (counter_ == nullptr || counted_ != stream) {
      counter_ = arena_->make_counter();
      counted_ = stream;
    }
    return counter_;
  }

  const std::shared_ptr<EventArena> arena_;
  const std::uint32_t number_;
  const bool own_;
  std::mutex mutex_;                              // guards the next two; a leaf
  std::shared_ptr<EventArena::Counter> counter_;  // of the stream `counted_`
  std::uint64_t counted_ = 0;
};

}  // namespace anyplace::backend
