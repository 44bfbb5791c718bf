// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <new>
#include <utility>

#include "deadline.h"
#include "device.h"
#include "stream.h"

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

/// Counts who waits.
class Waiting {
 public:
  explicit Waiting(std::atomic<unsigned>& count) noexcept : count_(count) { count_.fetch_add(1); }
  Waiting(const Waiting&) = delete;  // it counts once
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { count_.fetch_sub(1); }

 private:
  std::atomic<unsigned>& count_;
};

}  // namespace

// ---- Event ---------------------------------------------------------------------------------------------------------

Event::Event(Device& device, std::uint32_t flags) : device_(device), flags_(flags) { first_.native = make(); }

Event::~Event() {
  if (first_.native != nullptr) ignore(driver().EventDestroy(first_.native));
  for (const Turn& turn : others_) {
    if (turn.native != nullptr) ignore(driver().EventDestroy(turn.native));
  }
}

void Event::destroy() {
  hipError_t first = hipSuccess;
  const bool lost = device_.lost();
  const auto end = [&](Turn& turn) {
    hipEvent_t const event = std::exchange(turn.native, nullptr);
    if (lost || event == nullptr) return;
    const hipError_t result = driver().EventDestroy(event);
    if (first == hipSuccess) first = result;
  };
  end(first_);
  for (Turn& turn : others_) end(turn);
  if (!lost) device_.check_end(first, "hipEventDestroy");
}

hipEvent_t Event::make() const {
  const DeviceScope scope(device_);
  hipEvent_t native = nullptr;
  device_.check(driver().EventCreateWithFlags(&native, hip_flags(flags_)), "hipEventCreateWithFlags");
  return native;
}

bool Event::query() const { return is_complete(device_, native()); }

hipEvent_t Event::hand_out() noexcept {
  const std::lock_guard lock(mutex_);
  handed_out_ = true;
  return native();
}

void Event::record_apart(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  Turn& current = *current_.load(std::memory_order_relaxed);
  if (handed_out_ || current.waiting.load(std::memory_order_relaxed) == 0) return stream.record(current.native);
  Turn& next = idle_turn();
  stream.record(next.native);
  current_.store(&next, std::memory_order_release);
}

Event::Turn& Event::idle_turn() {
  if (first_.waiting.load(std::memory_order_relaxed) == 0) return first_;
  for (Turn& turn : others_) {
    if (turn.waiting.load(std::memory_order_relaxed) == 0) return turn;
  }
  Turn& made = others_.emplace_back();
  try {
    made.native = make();
  } catch (...) {
    others_.pop_back();
    throw;
  }
  return made;
}

bool Event::synchronize(std::uint64_t timeout_ns) {
  if (timeout_ns == ANYPLACE_FOREVER) {
    device_.check(driver().EventSynchronize(native()), "hipEventSynchronize");
    return true;
  }
  const Deadline deadline(timeout_ns);
  if (query()) return true;
  if (timeout_ns == 0) return false;
  // A record between the two comes while this call is made, so that it may be the one that is meant.
  Turn& turn = *current_.load(std::memory_order_acquire);
  const Waiting waiting(turn.waiting);
  return poll_until(deadline, [&] { return is_complete(device_, turn.native); });
}

double Event::milliseconds_to(const Event& end) const {
  if (&device_ != &end.device_) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of hip:" + std::to_string(device_.index()) +
                                                 " and hip:" + std::to_string(end.device_.index()) +
                                                 "; HIP measures between events of one device");
  }
  float milliseconds = 0;
  device_.check(driver().EventElapsedTime(&milliseconds, native(), end.native()), "hipEventElapsedTime");
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
