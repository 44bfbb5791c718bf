// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <new>

#include "deadline.h"
#include "device.h"

namespace anyplace::cuda {
namespace {

unsigned cuda_flags(std::uint32_t flags) {
  unsigned made = CU_EVENT_DEFAULT;
  if ((flags & ANYPLACE_EVENT_TIMING) == 0) made |= CU_EVENT_DISABLE_TIMING;
  if ((flags & ANYPLACE_EVENT_BLOCKING_SYNC) != 0) made |= CU_EVENT_BLOCKING_SYNC;
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) made |= CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  return made;
}

/// Calls that take an event need no context by the manual; should a driver want one, or find another library's
/// destroyed one current, it gets ours.
template <class Call>
CUresult call_for(const Device& device, Call&& call) {
  const CUresult result = call();
  if (!is_of_current_context(result)) [[likely]]
    return result;
  const ContextScope scope(device.context_or_null());
  return scope.result() == CUDA_SUCCESS ? call() : scope.result();
}

bool is_complete(Device& device, CUevent event) {
  const CUresult result = call_for(device, [&] { return driver().EventQuery(event); });
  if (result == CUDA_ERROR_NOT_READY) return false;
  device.check(result, "cuEventQuery");
  return true;
}

}  // namespace

// ---- Event ---------------------------------------------------------------------------------------------------------

Event::Event(Device& device, std::uint32_t flags) : device_(device) {
  const DeviceScope scope(device);
  device.check(driver().EventCreate(&native_, cuda_flags(flags)), "cuEventCreate");
}

Event::~Event() {
  if (native_ != nullptr) call_for(device_, [this] { return driver().EventDestroy(native_); });
}

void Event::destroy() {
  CUevent const event = std::exchange(native_, nullptr);
  if (device_.lost()) return;
  device_.check_end(call_for(device_, [&] { return driver().EventDestroy(event); }), "cuEventDestroy");
}

bool Event::query_again(CUresult result) const {
  if (result == CUDA_ERROR_NOT_READY) return false;
  return is_complete(device_, native_);
}

bool Event::synchronize(std::uint64_t timeout_ns) const {
  if (timeout_ns != ANYPLACE_FOREVER) return poll_until(Deadline(timeout_ns), [this] { return query(); });
  device_.check(call_for(device_, [&] { return driver().EventSynchronize(native_); }), "cuEventSynchronize");
  return true;
}

double Event::milliseconds_to(const Event& end) const {
  if (&device_ != &end.device_) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of cuda:" + std::to_string(device_.index()) +
                                                 " and cuda:" + std::to_string(end.device_.index()) +
                                                 "; CUDA measures between events of one device");
  }
  const auto elapsed_time =
      driver().EventElapsedTime != nullptr ? driver().EventElapsedTime : driver().EventElapsedTime_v2;
  float milliseconds = 0;
  device_.check(call_for(device_, [&] { return elapsed_time(&milliseconds, native_, end.native_); }),
                "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

// ---- Marker and EventPool ------------------------------------------------------------------------------------------

Marker::~Marker() { device_.event_pool().give(event_); }

bool Marker::is_over() const { return is_complete(device_, event_); }

CUevent EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      CUevent const event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  const DeviceScope scope(device_);
  CUevent event = nullptr;
  device_.check(driver().EventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  return event;
}

void EventPool::give(CUevent event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    idle_.push_back(event);
  } catch (const std::bad_alloc&) {
    call_for(device_, [event] { return driver().EventDestroy(event); });
  }
}

CUresult EventPool::close() noexcept {
  CUresult first = CUDA_SUCCESS;
  for (CUevent const event : idle_) {
    const CUresult result = driver().EventDestroy(event);
    if (first == CUDA_SUCCESS) first = result;
  }
  idle_.clear();
  return first;
}

}  // namespace anyplace::cuda
