// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <mutex>
#include <utility>

#include "failure.h"
#include "stream.h"

namespace anyplace::cpu_sim {

namespace {

/// Returns null for an event of this process alone.
std::unique_ptr<SharedEvent> make_shared_part(std::uint32_t flags) {
  constexpr std::uint32_t known =
      std::uint32_t{ANYPLACE_EVENT_TIMING} | ANYPLACE_EVENT_BLOCKING_SYNC | ANYPLACE_EVENT_INTERPROCESS;
  if ((flags & ~known) != 0) bad_argument("event flags " + hex(flags) + " contain unknown ones");
  if ((flags & ANYPLACE_EVENT_INTERPROCESS) == 0) return nullptr;
  if ((flags & ANYPLACE_EVENT_TIMING) != 0) bad_argument("an interprocess event has no timing");
  return SharedEvent::make();
}

}  // namespace

Event::Event(std::int32_t device, std::uint64_t id, std::uint32_t flags)
    : id_(id), flags_(flags), device_(device), shared_(make_shared_part(flags)) {}

Event::Event(std::int32_t device, std::uint64_t id, std::unique_ptr<SharedEvent> shared) noexcept
    : id_(id), flags_(ANYPLACE_EVENT_INTERPROCESS), device_(device), shared_(std::move(shared)) {}

void Event::record(Stream& stream) {
  constexpr std::uint32_t special = std::uint32_t{ANYPLACE_EVENT_TIMING} | ANYPLACE_EVENT_INTERPROCESS;
  if ((flags_ & special) != 0) return timing() ? record_stamped(stream) : record_shared(stream);
  const Record record{&stream.timeline(), stream.mark()};
  std::lock_guard lock(lock_);
  latest_.write(record);
}

void Event::record_stamped(Stream& stream) {
  Ref<Stamp> stamp = unused_stamp();
  const Record record{&stream.timeline(), stream.submit<StampTime>(Ref<Stamp>(stamp))};
  set_latest(record, std::move(stamp));
}

Ref<Stamp> Event::unused_stamp() {
  {
    std::lock_guard lock(lock_);
    if (spare_stamp_) return std::exchange(spare_stamp_, {});
  }
  return make_ref<Stamp>();
}

void Event::set_latest(const Record& record, Ref<Stamp> stamp) noexcept {
  std::lock_guard lock(lock_);
  latest_.write(record);
  std::swap(stamp_, stamp);
  if (stamp && stamp->is_unshared()) std::swap(spare_stamp_, stamp);
  // What is left in `stamp` is destroyed after the lock, as `stamp` came before it.
}

void Event::record_shared(Stream& stream) {
  Record local;
  const SharedRecord record = submit_shared_record(*shared_, stream, local);
  std::lock_guard lock(lock_);
  latest_.write(local);
  shared_record_ = record;
}

std::optional<SharedRecord> Event::latest_elsewhere() const noexcept {
  const SharedRecord latest = shared_->latest();
  std::lock_guard lock(lock_);
  if (latest.word == shared_record_.word) return std::nullopt;
  return latest;
}

Event::Stamped Event::latest_stamped() const {
  std::lock_guard lock(lock_);
  return {latest_.read(), stamp_};
}

std::uint64_t NativeEvents::number_of(Event& event) {
  const std::lock_guard lock(mutex_);
  events_.emplace(event.id(), &event);
  event.is_known_.store(true, std::memory_order_relaxed);
  return event.id();
}

Event& NativeEvents::add_handle(std::int32_t device, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(number);
  if (found == events_.end()) bad_argument(std::to_string(number) + " is no native event of cpu_sim");
  Event& event = *found->second;
  if (event.device() != device) {
    bad_argument("native event " + std::to_string(number) + " is of device " + std::to_string(event.device()) +
                 " and not of device " + std::to_string(device));
  }
  ++event.handles_;
  return event;
}

bool NativeEvents::forget(Event& event) noexcept {
  const std::lock_guard lock(mutex_);
  if (event.handles_ != 0) {
    --event.handles_;
    return false;
  }
  events_.erase(event.id());
  return true;
}

namespace {

/// Returns the stamp of an event's most recent record, which is complete. `which` names the event: "the start event".
std::int64_t stamp_of(const Event& event, const std::string& which) {
  if (!event.timing()) fail(ANYPLACE_STATUS_TIMING_DISABLED, which + " was made without timing");
  const Event::Stamped latest = event.latest_stamped();
  if (!latest.stamp) fail(ANYPLACE_STATUS_NOT_RECORDED, which + " was never recorded");
  if (!latest.record.complete()) fail(ANYPLACE_STATUS_NOT_READY, which + "'s record is not complete");
  return latest.stamp->ns.load(std::memory_order_relaxed);
}

}  // namespace

std::uint64_t timestamp_ns(const Event& event) { return static_cast<std::uint64_t>(stamp_of(event, "the event")); }

double elapsed_ms(const Event& start, const Event& end) {
  const std::int64_t first = stamp_of(start, "the start event");
  return static_cast<double>(stamp_of(end, "the end event") - first) / 1e6;
}

}  // namespace anyplace::cpu_sim
