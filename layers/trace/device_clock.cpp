// SPDX-License-Identifier: Apache-2.0
#include "device_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace anyplace::trace {
namespace {

/// Clocks drift apart, and times between events are exact to some millionths only: so they are compared, and the
/// reference replaced, that often.
constexpr std::int64_t renewal_ns = 1'000'000'000;

std::int64_t ns_of(double milliseconds) { return std::llround(milliseconds * 1e6); }

}  // namespace

std::optional<DeviceClock::Interval> DeviceClock::interval(const TracedBackend& backend, std::int32_t device,
                                                           Timing& timing, std::uint64_t submitted_ns) {
  std::optional<Interval> found =
      backend.has_clock() ? by_clock(backend, device, timing) : by_reference(backend, timing, submitted_ns);
  if (!found) return found;
  // The first event may complete just before the operation is submitted.
  found->begin_ns = std::max(found->begin_ns, submitted_ns);
  found->end_ns = std::max(found->end_ns, found->begin_ns);
  return found;
}

std::optional<DeviceClock::Interval> DeviceClock::by_clock(const TracedBackend& backend, std::int32_t device,
                                                           const Timing& timing) {
  if (backend.has_virtual_time()) {
    offset_ns_ = backend.virtual_offset_ns();
  } else if (const std::uint64_t now = monotonic_ns();
             read_at_ns_ == 0 || now - read_at_ns_ > std::uint64_t{renewal_ns}) {
    anyplace_clock clock;
    if (!backend.read_clock(device, clock)) return std::nullopt;
    offset_ns_ = static_cast<std::int64_t>(clock.host - clock.device);
    read_at_ns_ = now;
  }
  std::uint64_t begin = 0, end = 0;
  if (!backend.timestamp(timing.begin, begin) || !backend.timestamp(timing.end, end)) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(offset_ns_);
  return Interval{begin + offset, end + offset};
}

std::optional<DeviceClock::Interval> DeviceClock::by_reference(const TracedBackend& backend, Timing& timing,
                                                               std::uint64_t submitted_ns) {
  if (reference_ == 0 || generation_ != timing.generation) {
    double length = 0;
    if (!backend.elapsed(timing.begin, timing.end, length)) return std::nullopt;
    reference_ = std::exchange(timing.begin, 0);
    generation_ = timing.generation;
    reference_ns_ = static_cast<std::int64_t>(submitted_ns);
    timing.end = 0;
    return Interval{submitted_ns, submitted_ns + static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns_of(length)))};
  }
  double begin = 0, end = 0;
  if (!backend.elapsed(reference_, timing.begin, begin) || !backend.elapsed(reference_, timing.end, end)) {
    return std::nullopt;
  }
  reference_ns_ = std::max(reference_ns_, static_cast<std::int64_t>(submitted_ns) - ns_of(begin));
  const Interval found{static_cast<std::uint64_t>(reference_ns_ + ns_of(begin)),
                       static_cast<std::uint64_t>(reference_ns_ + ns_of(end))};
  if (ns_of(end) > renewal_ns) {
    reference_ns_ += ns_of(end);
    std::swap(reference_, timing.end);
  }
  return found;
}

}  // namespace anyplace::trace
