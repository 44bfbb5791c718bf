// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <utility>

#include "failure.h"
#include "stream.h"

namespace anyplace::cpu_sim {

Event::Event(uint64_t id, uint32_t flags) : id_(id), flags_(flags) {
  constexpr uint32_t kKnown =
      uint32_t{ANYPLACE_EVENT_TIMING} | ANYPLACE_EVENT_BLOCKING_SYNC | ANYPLACE_EVENT_INTERPROCESS;
  if ((flags & ~kKnown) != 0) bad_argument("event flags " + hex(flags) + " contain unknown ones");
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) {
    fail(ANYPLACE_STATUS_UNSUPPORTED, "cpu_sim has no interprocess events");
  }
}

void Event::record(Stream& stream) {
  EventRecord record;
  record.timeline = stream.timeline();
  if (timing()) {
    record.stamp = make_ref<Stamp>();
    record.target = stream.submit<StampTime>(Ref<Stamp>(record.stamp));
  } else {
    record.target = stream.mark();
  }
  std::lock_guard lock(mutex_);
  std::swap(latest_, record);  // the earlier record dies after the lock, with what may hang on it
}

EventRecord Event::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

double elapsed_ms(const Event& start, const Event& end) {
  if (!start.timing() || !end.timing()) {
    fail(ANYPLACE_STATUS_TIMING_DISABLED,
         std::string("the ") + (start.timing() ? "end" : "start") + " event was made without timing");
  }
  const EventRecord first = start.latest();
  const EventRecord last = end.latest();
  if (!first.timeline || !last.timeline) {
    fail(ANYPLACE_STATUS_NOT_RECORDED,
         std::string("the ") + (first.timeline ? "end" : "start") + " event was never recorded");
  }
  if (!first.complete() || !last.complete()) {
    fail(ANYPLACE_STATUS_NOT_READY,
         std::string("the ") + (first.complete() ? "end" : "start") + " event's record is not complete");
  }
  const int64_t ns = last.stamp->ns.load(std::memory_order_relaxed) - first.stamp->ns.load(std::memory_order_relaxed);
  return static_cast<double>(ns) / 1e6;
}

}  // namespace anyplace::cpu_sim
