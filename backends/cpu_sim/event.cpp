// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <mutex>
#include <utility>

#include "failure.h"
#include "stream.h"

namespace anyplace::cpu_sim {

Event::Event(std::uint64_t id, std::uint32_t flags) : id_(id), flags_(flags) {
  constexpr std::uint32_t known =
      std::uint32_t{ANYPLACE_EVENT_TIMING} | ANYPLACE_EVENT_BLOCKING_SYNC | ANYPLACE_EVENT_INTERPROCESS;
  if ((flags & ~known) != 0) bad_argument("event flags " + hex(flags) + " contain unknown ones");
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) != 0) {
    fail(ANYPLACE_STATUS_UNSUPPORTED, "cpu_sim has no interprocess events");
  }
}

void Event::record(Stream& stream) {
  if (timing()) return record_stamped(stream);
  const Record record{&stream.timeline(), stream.mark()};
  std::lock_guard lock(lock_);
  latest_.write(record);
}

void Event::record_stamped(Stream& stream) {
  Ref<Stamp> stamp = make_ref<Stamp>();
  const Record record{&stream.timeline(), stream.submit<StampTime>(Ref<Stamp>(stamp))};
  std::lock_guard lock(lock_);
  latest_.write(record);
  std::swap(stamp_, stamp);  // the earlier stamp is destroyed after the lock, because `stamp` was declared before it
}

Event::Stamped Event::latest_stamped() const {
  std::lock_guard lock(lock_);
  return {latest_.read(), stamp_};
}

double elapsed_ms(const Event& start, const Event& end) {
  if (!start.timing() || !end.timing()) {
    fail(ANYPLACE_STATUS_TIMING_DISABLED,
         std::string("the ") + (start.timing() ? "end" : "start") + " event was made without timing");
  }
  const Event::Stamped first = start.latest_stamped();
  const Event::Stamped last = end.latest_stamped();
  if (!first.stamp || !last.stamp) {
    fail(ANYPLACE_STATUS_NOT_RECORDED,
         std::string("the ") + (first.stamp ? "end" : "start") + " event was never recorded");
  }
  if (!first.record.complete() || !last.record.complete()) {
    fail(ANYPLACE_STATUS_NOT_READY,
         std::string("the ") + (first.record.complete() ? "end" : "start") + " event's record is not complete");
  }
  const std::int64_t ns =
      last.stamp->ns.load(std::memory_order_relaxed) - first.stamp->ns.load(std::memory_order_relaxed);
  return static_cast<double>(ns) / 1e6;
}

}  // namespace anyplace::cpu_sim
