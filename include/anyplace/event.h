// SPDX-License-Identifier: Apache-2.0
//
// Event: a mark in a stream's work that others can wait for, ask about and measure between.
//
// Recording again overwrites; waits submitted before keep the record that they took. An event that was never recorded
// is complete: query is true, and synchronize and waits return at once.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device.h"
#include "export.h"

namespace anyplace {

class StreamView;

/// What an event can do. Less makes it cheaper.
struct EventOptions {
  bool timing = false;         ///< elapsed_time needs it
  bool blocking_sync = false;  ///< a synchronising host sleeps instead of spinning
  bool interprocess = false;   ///< other processes may open it (export_handle); not together with timing
};

/// Names an event without owning it: 64 bits, free to copy, never reused. Using one whose event was destroyed, or a
/// null one, throws invalid_handle. Every member may be called from any thread and can throw device_lost, forked,
/// shut_down, and not_permitted inside a host function or kernel.
class ANYPLACE_API EventView {
 public:
  constexpr EventView() noexcept = default;
  /// The event with that number, which id() gave; nothing is checked before it is used.
  constexpr explicit EventView(std::uint64_t id) noexcept : id_(id) {}

  /// The number of the event; 0 for a null view. It means the same in this process alone.
  constexpr std::uint64_t id() const noexcept { return id_; }
  /// Whether it names an event, which may have been destroyed.
  constexpr explicit operator bool() const noexcept { return id_ != 0; }

  /// The device that it was made for.
  Device device() const;
  /// Marks the work submitted to `stream` so far. Throws invalid_argument, naming both places, if it is of another
  /// device.
  ANYPLACE_HOT void record(const StreamView& stream) const;
  /// Whether the most recent record is complete. Faults of its stream aren't reported here.
  ANYPLACE_HOT [[nodiscard]] bool query() const;
  /// Returns when the most recent record is complete. Faults of its stream aren't thrown here.
  ANYPLACE_HOT void synchronize() const;
  /// Waits as above, but at most `timeout`: returns false if it ran out first.
  [[nodiscard]] bool synchronize(std::chrono::nanoseconds timeout) const;
  /// When the most recent record completed, on the clock of the event's device (Device::clock), in nanoseconds. Where
  /// the vendor only tells the time between two events, this is as exact as the vendor's figure for a span of a second
  /// or two. Throws as elapsed_time does.
  std::uint64_t timestamp_ns() const;
  /// The vendor's event (CUevent). Throws unsupported where there is none.
  std::uint64_t native_handle() const;

  /// Bytes that another process of this machine passes to Event::import, to record this event and wait for it as well.
  /// They are to be sent as they are. When the event is destroyed here, it stays the same to processes that have it
  /// open, and no other can open it any more. ipc.h describes sharing. Throws invalid_argument for an event made
  /// without EventOptions::interprocess, and for one that was imported; unsupported where the device lacks
  /// Capability::interprocess_events.
  std::vector<std::byte> export_handle() const;

  friend constexpr bool operator==(EventView, EventView) noexcept = default;
  friend constexpr auto operator<=>(EventView, EventView) noexcept = default;

 protected:
  std::uint64_t id_ = 0;
};

/// Owns an event. Destroying it is safe at any time, also while streams wait on it and inside a host function.
class ANYPLACE_API Event : public EventView {
 public:
  Event() noexcept = default;
  /// Throws invalid_argument for interprocess with timing, unsupported for what the device lacks.
  explicit Event(const Device& device, EventOptions options = {});
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;  // two owners would destroy it twice; copy the view
  Event& operator=(const Event&) = delete;
  ~Event();

  /// Wraps the vendor's event, which stays the caller's: it is never destroyed from here. `options` says how the
  /// vendor's event was made. It counts as recorded. Throws unsupported where the device lacks
  /// Capability::event_from_native, and invalid_argument for a handle of 0.
  static Event from_native(const Device& device, std::uint64_t native_handle, EventOptions options = {});

  /// Opens another process's event, by the bytes of its export_handle(). A record made in either process counts in
  /// both. The event has the option interprocess. Where a process ends before its record is complete, and the vendor
  /// tells (cpu_sim does), the others' waits end within a second: query and synchronize throw peer_gone, and a waiting
  /// stream has it as its fault and goes on. Throws invalid_argument, with the reason, for bytes that were changed or
  /// cut short, or that are of another machine, start of the machine, backend, build or device, or of this process;
  /// invalid_handle if the event was destroyed; peer_gone if the process that made it has ended.
  static Event import(const Device& device, std::span<const std::byte> handle);

  /// The event as a view, without the ownership.
  EventView view() const noexcept { return *this; }
};

/// Milliseconds from the record of `start` to that of `end`; negative if end came first. Both events are of one device,
/// or of two of a backend that can measure between its devices (cpu_sim can); otherwise it throws invalid_argument.
/// Throws timing_disabled, not_recorded or not_ready.
ANYPLACE_API double elapsed_time(EventView start, EventView end);

}  // namespace anyplace

template <>
struct std::hash<anyplace::EventView> {
  std::size_t operator()(anyplace::EventView event) const noexcept { return std::hash<std::uint64_t>()(event.id()); }
};
