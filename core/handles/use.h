// SPDX-License-Identifier: Apache-2.0
//
// use(): how a hot call reaches the objects of its handles. It keeps one object or two alive and in place while the
// call's body runs: by hazard pointers where the thread has them and nothing is unusual, else by pins.
//
//   use<EventState, StreamState>("Event::record", event_id, stream_id,
//                                [](const auto& guard) { record_event(guard, "Event::record"); });
//
// A body is written once, as a template over its guard, and compiled for each guard: PlainUse, PinnedUse and, for the
// core's own objects that have no handle, Given. Where guard.careful is false, the comparison with the slots has shown
// that the handles' devices work, the process isn't exiting, the stream isn't held and the event's most recent record
// wasn't made on a held stream (slots.h says how). Where it is true, the body checks these itself. A single guard that
// decides at run time was tried: Event::record takes 54 instructions with it instead of 35, because the state of both
// paths lives across the backend's entry in saved registers.
#pragma once

#include <cstdint>
#include <utility>

#include "handles/hazard_pointer.h"
#include "handles/slots.h"
#include "runtime/call.h"

namespace anyplace::detail {

/// Names one handle or two in the thread's hazard pointers for as long as it lives.
class Publication {
 public:
  [[gnu::always_inline]] Publication(ThreadHazards& hazards, std::uint64_t id) noexcept : hazards_(hazards) {
    hazards.publish(id);
  }
  [[gnu::always_inline]] Publication(ThreadHazards& hazards, std::uint64_t first, std::uint64_t second) noexcept
      : hazards_(hazards) {
    hazards.publish(first, second);
  }
  Publication(const Publication&) = delete;  // cleared once
  Publication& operator=(const Publication&) = delete;
  [[gnu::always_inline]] ~Publication() { hazards_.clear(); }

 private:
  ThreadHazards& hazards_;
};

/// raise() for the last published handle, which is a T's. It finds the device itself, so that the caller keeps nothing
/// in registers for it.
template <class T>
[[noreturn, gnu::noinline, gnu::cold]] void raise_published(anyplace_status status, const ThreadHazards& hazards,
                                                            const char* operation) {
  DeviceState* const device =
      SlotTable<T>::first_slot(hazards.second.load(std::memory_order_relaxed)).device.load(std::memory_order_relaxed);
  raise(status, *device, operation);
}

// ---- The guards ----------------------------------------------------------------------------------------------------
// Each guard has first() and second(), the objects; with one handle both are the same. check() throws the Error of a
// status, with the place of the second object's device.

template <class First, class Second = First>
class PlainUse {
 public:
  static constexpr bool careful = false;

  PlainUse(const ThreadHazards& hazards, const Slot& first, const Slot& second) noexcept
      : hazards_(hazards), first_(first), second_(second) {}
  First& first() const noexcept { return *static_cast<First*>(first_.object); }
  Second& second() const noexcept { return *static_cast<Second*>(second_.object); }
  [[gnu::always_inline]] void check(anyplace_status status, const char* operation) const {
    if (status != ANYPLACE_STATUS_OK) [[unlikely]]
      raise_published<Second>(status, hazards_, operation);
  }

 private:
  const ThreadHazards& hazards_;
  const Slot& first_;
  const Slot& second_;
};

template <class First, class Second = First>
class PinnedUse {
 public:
  static constexpr bool careful = true;

  PinnedUse(const Pin<First>& first, const Pin<Second>& second) noexcept : first_(first), second_(second) {}
  First& first() const noexcept { return *first_; }
  Second& second() const noexcept { return *second_; }
  void check(anyplace_status status, const char* operation) const {
    detail::check(status, *second_->device, operation);
  }

 private:
  const Pin<First>& first_;
  const Pin<Second>& second_;
};

/// The guard of objects that the caller keeps alive.
template <class First, class Second = First>
class Given {
 public:
  static constexpr bool careful = true;

  Given(First& first, Second& second) noexcept : first_(first), second_(second) {}
  explicit Given(First& only) noexcept : first_(only), second_(only) {}
  First& first() const noexcept { return first_; }
  Second& second() const noexcept { return second_; }
  void check(anyplace_status status, const char* operation) const { detail::check(status, *second_.device, operation); }

 private:
  First& first_;
  Second& second_;
};

// ---- The slow path and the fast path -------------------------------------------------------------------------------

template <class First, class Second, class Body>
[[gnu::noinline, gnu::cold]] auto use_pinned(const char* operation, std::uint64_t first, std::uint64_t second,
                                             Body body) {
  enter(operation);
  join_fast_path();  // the thread's next calls take the fast path
  const Pin<First> first_pin = table_of<First>().pin(first, operation);
  const Pin<Second> second_pin = table_of<Second>().pin(second, operation);
  return body(PinnedUse<First, Second>(first_pin, second_pin));
}
template <class Only, class Body>
[[gnu::noinline, gnu::cold]] auto use_pinned(const char* operation, std::uint64_t id, Body body) {
  enter(operation);
  join_fast_path();  // the thread's next calls take the fast path
  const Pin<Only> pinned = table_of<Only>().pin(id, operation);
  return body(PinnedUse<Only>(pinned, pinned));
}

/// Runs body(guard) with the objects of one handle or two. A bad first handle is reported before a bad second one.
/// Throws invalid_handle, what enter() throws, and what the body throws.
template <class First, class Second, class Body>
[[gnu::always_inline]] inline auto use(const char* operation, std::uint64_t first, std::uint64_t second, Body body) {
  if (ThreadHazards* const hazards = call_state.hazards) [[likely]] {
    const Publication published(*hazards, first, second);
    const Slot& first_slot = SlotTable<First>::first_slot(first);
    const Slot& second_slot = SlotTable<Second>::first_slot(second);
    if (first_slot.is(first) && second_slot.is(second)) [[likely]]
      return body(PlainUse<First, Second>(*hazards, first_slot, second_slot));
  }
  return use_pinned<First, Second>(operation, first, second, body);
}
/// Takes the fast path alone, for calls that need more than their handles' objects and get it differently on the slow
/// path. False if the thread or the handle can't take it, or if body(guard) returned false, which it may only before it
/// has done anything.
template <class Only, class Body>
[[gnu::always_inline]] inline bool use_plain(std::uint64_t id, Body body) {
  ThreadHazards* const hazards = call_state.hazards;
  if (hazards == nullptr) [[unlikely]]
    return false;
  const Publication published(*hazards, id);
  const Slot& slot = SlotTable<Only>::first_slot(id);
  return slot.is(id) && body(PlainUse<Only>(*hazards, slot, slot));
}

template <class Only, class Body>
[[gnu::always_inline]] inline auto use(const char* operation, std::uint64_t id, Body body) {
  if (ThreadHazards* const hazards = call_state.hazards) [[likely]] {
    const Publication published(*hazards, id);
    const Slot& slot = SlotTable<Only>::first_slot(id);
    if (slot.is(id)) [[likely]]
      return body(PlainUse<Only>(*hazards, slot, slot));
  }
  return use_pinned<Only>(operation, id, body);
}

}  // namespace anyplace::detail
