// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <new>
#include <utility>

#include "deadline.h"
#include "device.h"
#include "stream.h"

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
  const auto end = [this](const Turn& turn) {
    if (turn.native != nullptr) call_for(device_, [&] { return driver().EventDestroy(turn.native); });
  };
  end(first_);
  for (const Turn& turn : others_) end(turn);
}

void Event::destroy() {
  CUresult first = CUDA_SUCCESS;
  const bool lost = device_.lost();
  const auto end = [&](Turn& turn) {
    CUevent const event = std::exchange(turn.native, nullptr);
    if (lost || event == nullptr) return;
    const CUresult result = call_for(device_, [&] { return driver().EventDestroy(event); });
    if (first == CUDA_SUCCESS) first = result;
  };
  end(first_);
  for (Turn& turn : others_) end(turn);
  if (!lost) device_.check_end(first, "cuEventDestroy");
}

CUevent Event::make() const {
  const DeviceScope scope(device_);
  CUevent native = nullptr;
  device_.check(driver().EventCreate(&native, cuda_flags(flags_)), "cuEventCreate");
  return native;
}

bool Event::query_again(CUresult result) const {
  if (result == CUDA_ERROR_NOT_READY) return false;
  return is_complete(device_, native());
}

CUevent Event::hand_out() noexcept {
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
    device_.check(call_for(device_, [this] { return driver().EventSynchronize(native()); }), "cuEventSynchronize");
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
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of cuda:" + std::to_string(device_.index()) +
                                                 " and cuda:" + std::to_string(end.device_.index()) +
                                                 "; CUDA measures between events of one device");
  }
  const auto elapsed_time =
      driver().EventElapsedTime != nullptr ? driver().EventElapsedTime : driver().EventElapsedTime_v2;
  float milliseconds = 0;
  device_.check(call_for(device_, [&] { return elapsed_time(&milliseconds, native(), end.native()); }),
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
