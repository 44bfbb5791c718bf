// SPDX-License-Identifier: Apache-2.0
//
// A device's clock. A backend that has both entries (device_clock, event_timestamp) tells it. For other backends the
// core makes a clock of the times between two events: it records events of its own now and then, the marks, and
// measures from the nearest mark. The longer such a time is, the coarser is the vendor's figure (CUDA's is a float of
// milliseconds), so while somebody asks there is a mark every second or so.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/device.h"
#include "streams/event_state.h"

namespace anyplace::detail {

/// The clock of a DeviceState; made with it, never destroyed.
class DeviceClock {
 public:
  DeviceClock() = default;
  DeviceClock(const DeviceClock&) = delete;  // it owns events
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Throws unsupported where the device can't measure time.
  ClockReading read(DeviceState& device, const char* operation);
  /// When the record completed. Its event was made with timing.
  std::uint64_t time_of(DeviceState& device, const Record& record, const char* operation);
  /// Destroys the marks. Called at the device's reset and at exit.
  void forget() noexcept;

 private:
  struct Mark {
    std::unique_ptr<EventState> event;
    std::uint64_t device_ns = 0;
  };

  static bool is_told_by(const DeviceState& device) noexcept;
  ClockReading make_mark(DeviceState& device, const char* operation);
  /// The time from a mark to the event, in nanoseconds.
  static std::int64_t since(const Mark& mark, DeviceState& device, anyplace_event event, const char* operation);

  std::mutex mutex_;         // guards what follows; the backend is called under it
  std::vector<Mark> marks_;  ///< the oldest first
};

DeviceClock* make_device_clock();

}  // namespace anyplace::detail
