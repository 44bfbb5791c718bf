// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <new>

#include "deadline.h"
#include "device.h"

namespace anyplace::hip {
namespace {

unsigned hip_flags(std::uint32_t flags) {
  unsigned made = hipEventDefault;
  if ((flags & ANYPLACE_EVENT_TIMING) == 0) made |= hipEventDisableTiming;
  if ((flags & ANYPLACE_EVENT_BLOCKING_SYNC) != 0) made |= hipEventBlockingSync;
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) made |= hipEventInterprocess | hipEventDisableTiming;
  return made;
}

bool is_complete(Device& device, hipEvent_t event) {
  const hipError_t result = driver().EventQuery(event);
  if (result == hipErrorNotReady) return false;
  device.check(result, "hipEventQuery");
  return true;
}

}  // namespace

// ---- Event ---------------------------------------------------------------------------------------------------------

Event::Event(Device& device, std::uint32_t flags) : device_(device) {
  const DeviceScope scope(device);
  device.check(driver().EventCreateWithFlags(&native_, hip_flags(flags)), "hipEventCreateWithFlags");
}

Event::~Event() {
  if (native_ != nullptr) ignore(driver().EventDestroy(native_));
}

void Event::destroy() {
  hipEvent_t const event = std::exchange(native_, nullptr);
  if (device_.lost()) return;
  device_.check_end(driver().EventDestroy(event), "hipEventDestroy");
}

bool Event::query() const { return is_complete(device_, native_); }

bool Event::synchronize(std::uint64_t timeout_ns) const {
  if (timeout_ns != ANYPLACE_FOREVER) return poll_until(Deadline(timeout_ns), [this] { return query(); });
  device_.check(driver().EventSynchronize(native_), "hipEventSynchronize");
  return true;
}

double Event::milliseconds_to(const Event& end) const {
  if (&device_ != &end.device_) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of hip:" + std::to_string(device_.index()) +
                                                 " and hip:" + std::to_string(end.device_.index()) +
                                                 "; HIP measures between events of one device");
  }
  float milliseconds = 0;
  device_.check(driver().EventElapsedTime(&milliseconds, native_, end.native_), "hipEventElapsedTime");
  return static_cast<double>(milliseconds);
}

// ---- Marker and EventPool ------------------------------------------------------------------------------------------

Marker::~Marker() { device_.event_pool().give(event_); }

bool Marker::is_over() const { return is_complete(device_, event_); }

hipEvent_t EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      hipEvent_t const event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  const DeviceScope scope(device_);
  hipEvent_t event = nullptr;
  device_.check(driver().EventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreateWithFlags");
  return event;
}

void EventPool::give(hipEvent_t event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    idle_.push_back(event);
  } catch (const std::bad_alloc&) {
    ignore(driver().EventDestroy(event));
  }
}

hipError_t EventPool::close() noexcept {
  hipError_t first = hipSuccess;
  for (hipEvent_t const event : idle_) {
    const hipError_t result = driver().EventDestroy(event);
    if (first == hipSuccess) first = result;
  }
  idle_.clear();
  return first;
}

}  // namespace anyplace::hip
