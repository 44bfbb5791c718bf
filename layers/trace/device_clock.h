// SPDX-License-Identifier: Apache-2.0
//
// DeviceClock: when an event completed, on the host's clock.
//
// A backend with a clock (device_clock, event_timestamp) tells. Of others the time between two events is known, and it
// is measured from a reference event. When that completed isn't known exactly: since nothing runs before it was
// submitted, the reference is moved to later whenever something seems to have. So its error is the shortest time that
// a submission took to get to the device.
#pragma once

#include <cstdint>
#include <optional>

#include "traced_backend.h"

namespace anyplace::trace {

/// For the writer's thread.
class DeviceClock {
 public:
  struct Interval {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };
  /// When an operation ran, both events of which are complete. It was submitted at that time. `timing` may be given
  /// other events, which are returned to the pool in the place of those that are kept; one without any isn't returned.
  /// Nothing if the backend can't tell.
  std::optional<Interval> interval(const TracedBackend& backend, std::int32_t device, Timing& timing,
                                   std::uint64_t submitted_ns);

 private:
  std::optional<Interval> by_clock(const TracedBackend& backend, std::int32_t device, const Timing& timing);
  std::optional<Interval> by_reference(const TracedBackend& backend, Timing& timing, std::uint64_t submitted_ns);

  std::uint64_t read_at_ns_ = 0;  ///< when the two clocks were compared
  std::int64_t offset_ns_ = 0;    ///< of the host's clock to the device's
  anyplace_event reference_ = 0;
  std::uint32_t generation_ = 0;
  std::int64_t reference_ns_ = 0;  ///< when the reference completed
};

}  // namespace anyplace::trace
