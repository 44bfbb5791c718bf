// SPDX-License-Identifier: Apache-2.0
//
// Event: a mark in a stream's work that others can wait for, ask about and measure between.
//
// Recording again overwrites; waits submitted before keep the record that they took. An event that was never recorded
// is complete: query is true, synchronize and waiting return at once.
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
  constexpr explicit EventView(std::uint64_t id) noexcept : id_(id) {}

  constexpr std::uint64_t id() const noexcept { return id_; }
  constexpr explicit operator bool() const noexcept { return id_ != 0; }

  Device device() const;
  /// Marks the work submitted to `stream` so far. Throws invalid_argument, naming both places, if it is of another
  /// device.
  ANYPLACE_HOT void record(const StreamView& stream) const;
  /// Whether the most recent record is complete. The faults of its stream are not its business.
  ANYPLACE_HOT [[nodiscard]] bool query() const;
  ANYPLACE_HOT void synchronize() const;
  /// False when `timeout` ran out first.
  [[nodiscard]] bool synchronize(std::chrono::nanoseconds timeout) const;
  /// When the most recent record completed, on the clock of the event's device (Device::clock), in nanoseconds. Where
  /// the vendor only tells the time between two events, it is right to what that tells over a second or two. Throws as
  /// elapsed_time does.
  std::uint64_t timestamp_ns() const;
  /// The vendor's event (CUevent). Throws unsupported where there is none.
  std::uint64_t native_handle() const;

  /// What another process of this machine passes to Event::import, to record this event and wait for it as well: bytes
  /// to be sent as they are. The event stays the same to the others when it is destroyed here; from then on nobody else
  /// can open it. ipc.h has the whole of sharing. Throws invalid_argument for an event made without
  /// EventOptions::interprocess, and for one that was imported; unsupported where the device lacks
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

  /// Wraps the vendor's event, which stays the caller's: it is never destroyed from here. `options` says how it was
  /// made. It counts as recorded. Throws unsupported where the device lacks Capability::event_from_native, and
  /// invalid_argument for a handle of 0.
  static Event from_native(const Device& device, std::uint64_t native_handle, EventOptions options = {});

  /// Another process's event, from what its export_handle() gave. Recording it here counts for that process, too, and
  /// the other way round. It has the option interprocess. Where a process ends before what it recorded is complete, and
  /// the vendor tells (cpu_sim does), the others' waits end within a second: query and synchronize throw peer_gone, a
  /// stream that waits has it as its fault and goes on. Throws invalid_argument, with the reason, for bytes that were
  /// changed or cut short, that are of another machine, start of the machine, backend, build or device, or of this
  /// process; invalid_handle if the event was destroyed; peer_gone if the process that made it has ended.
  static Event import(const Device& device, std::span<const std::byte> handle);

  EventView view() const noexcept { return *this; }
};

/// Milliseconds from the record of `start` to that of `end`; negative if end came first. Both are of one device: some
/// backends measure between two of theirs (cpu_sim), others throw invalid_argument.
/// Throws timing_disabled, not_recorded or not_ready.
ANYPLACE_API double elapsed_time(EventView start, EventView end);

}  // namespace anyplace

template <>
struct std::hash<anyplace::EventView> {
  std::size_t operator()(anyplace::EventView event) const noexcept { return std::hash<std::uint64_t>()(event.id()); }
};
