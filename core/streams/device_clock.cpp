// SPDX-License-Identifier: Apache-2.0
#include "streams/device_clock.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "plugins/device_properties.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {
namespace {

constexpr std::int64_t between_marks_ns = 1'000'000'000;
constexpr std::size_t most_marks = 64;

std::uint64_t host_now() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

bool DeviceClock::is_told_by(const DeviceState& device) noexcept {
  return device.table->event_timestamp != nullptr && device.table->device_clock != nullptr;
}

std::int64_t DeviceClock::since(const Mark& mark, DeviceState& device, anyplace_event event, const char* operation) {
  double milliseconds = 0;
  check(device.table->event_elapsed(device.self, mark.event->handle, event, &milliseconds), device, operation);
  return std::llround(milliseconds * 1e6);
}

/// Called under the lock. The clock begins at the host's time, so that the two are near each other.
ClockReading DeviceClock::make_mark(DeviceState& device, const char* operation) {
  std::unique_ptr<EventState> event = make_event(device, ANYPLACE_EVENT_TIMING, operation);
  const HelperStream stream = take_helper_stream(device, operation);
  const std::uint64_t before = host_now();
  record_behind_work(*event, *stream, operation);
  static_cast<void>(synchronize(*event, ANYPLACE_FOREVER, operation));
  const std::uint64_t host = before + (host_now() - before) / 2;
  Mark made{std::move(event), host};
  if (!marks_.empty()) {
    const Mark& last = marks_.back();
    const std::int64_t elapsed = since(last, device, made.event->handle, operation);
    made.device_ns = last.device_ns + static_cast<std::uint64_t>(elapsed);
    if (elapsed < between_marks_ns) return {made.device_ns, host};
  }
  if (marks_.size() == most_marks) marks_.erase(marks_.begin());
  marks_.push_back(std::move(made));
  return {marks_.back().device_ns, host};
}

ClockReading DeviceClock::read(DeviceState& device, const char* operation) {
  require_capability(device, Capability::timed_events, operation);
  if (is_told_by(device)) {
    anyplace_clock clock{};
    clock.struct_size = sizeof(clock);
    check(device.table->device_clock(device.self, device.index, &clock), device, operation);
    return {clock.device, clock.host};
  }
  const std::lock_guard lock(mutex_);
  return make_mark(device, operation);
}

std::uint64_t DeviceClock::time_of(DeviceState& device, const Record& record, const char* operation) {
  if (is_told_by(device)) {
    std::uint64_t nanoseconds = 0;
    check(device.table->event_timestamp(device.self, record.handle, &nanoseconds), device, operation);
    return nanoseconds;
  }
  const std::lock_guard lock(mutex_);
  if (marks_.empty()) static_cast<void>(make_mark(device, operation));
  std::int64_t elapsed = since(marks_.back(), device, record.handle, operation);
  if (elapsed > between_marks_ns) {  // the last mark is old, and the event younger
    static_cast<void>(make_mark(device, operation));
    elapsed = since(marks_.back(), device, record.handle, operation);
  }
  const std::uint64_t about = marks_.back().device_ns + static_cast<std::uint64_t>(elapsed);
  const Mark* nearest = &marks_.back();
  const auto distance = [&](const Mark& mark) {
    return mark.device_ns < about ? about - mark.device_ns : mark.device_ns - about;
  };
  for (const Mark& mark : marks_) {
    if (distance(mark) < distance(*nearest)) nearest = &mark;
  }
  if (nearest == &marks_.back()) return about;
  return nearest->device_ns + static_cast<std::uint64_t>(since(*nearest, device, record.handle, operation));
}

void DeviceClock::forget() noexcept {
  std::vector<Mark> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(marks_);
}

DeviceClock* make_device_clock() { return new DeviceClock; }

}  // namespace anyplace::detail
