// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <atomic>
#include <utility>

#include "device.h"
#include "stream.h"
#include "ticks.h"

namespace anyplace::levelzero {

Event::Event(Device& device, std::uint32_t flags)
    : device_(device),
      timing_((flags & ANYPLACE_EVENT_TIMING) != 0),
      shared_((flags & ANYPLACE_EVENT_INTERPROCESS) != 0 ? SharedEvent::make() : nullptr) {
  device.context();
  if (timing_ && device.facts().ticks_per_second == 0) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "this device doesn't say how fast its timer is, so it can't measure time");
  }
}

Event::Event(Device& device, std::unique_ptr<SharedEvent> shared)
    : device_(device), timing_(false), shared_(std::move(shared)) {
  device.context();
}

void Event::record(Stream& stream) {
  // The mutex covers both steps, so that when two threads record, the signal that is kept is the one of the later
  // marker.
  const std::lock_guard lock(mutex_);
  SignalRef done;
  if (shared_ != nullptr) {
    own_record_ = submit_shared_record(*shared_, stream, done);
  } else {
    done = timing_ ? stream.timestamp() : stream.marker();
  }
  signal_ = std::move(done);
  stands_in_ = false;
}

std::optional<SharedRecord> Event::foreign_record() const {
  if (shared_ == nullptr) return std::nullopt;
  const SharedRecord latest = shared_->latest();
  const std::lock_guard lock(mutex_);
  if (latest.word == own_record_.word) return std::nullopt;
  return latest;
}

void Event::hold_back(Stream& stream) const {
  if (const auto record = foreign_record()) return submit_shared_wait(*shared_, *record, stream);
  stream.wait(signal());
}

void Event::export_to(anyplace_ipc_handle& out) const {
  if (shared_ == nullptr) refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the event was made for this process alone");
  shared_->export_to(out);
}

SignalRef Event::signal() const {
  const std::lock_guard lock(mutex_);
  return signal_;
}

SignalRef Event::recorded() const {
  const std::lock_guard lock(mutex_);
  return stands_in_ ? SignalRef() : signal_;
}

bool Event::query() const {
  if (const auto record = foreign_record()) return shared_->complete(*record);
  const SignalRef last = signal();
  return !last || last->is_complete();
}

bool Event::synchronize(std::uint64_t timeout_ns) const {
  if (const auto record = foreign_record()) return synchronize_shared(*shared_, *record, Deadline(timeout_ns));
  const SignalRef last = signal();
  return !last || last->wait(Deadline(timeout_ns));
}

double Event::milliseconds_to(const Event& end) const {
  if (&device_ != &end.device_) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of " + device_.place() + " and " + end.device_.place() +
                                                 "; each device counts by a timer of its own");
  }
  const SignalRef from = recorded();
  const SignalRef to = end.recorded();
  if (!from || !to) refuse(ANYPLACE_STATUS_NOT_RECORDED, "one of the events was never recorded");
  if (!from->is_complete() || !to->is_complete()) refuse(ANYPLACE_STATUS_NOT_READY, "one of the events isn't complete");
  // The device writes the timestamps. The host sees them because the events have host scope.
  const std::uint64_t start_ticks = std::atomic_ref(*from->timestamp()).load(std::memory_order_acquire);
  const std::uint64_t end_ticks = std::atomic_ref(*to->timestamp()).load(std::memory_order_acquire);
  return milliseconds_between(start_ticks, end_ticks, device_.facts().timestamp_bits, device_.facts().ticks_per_second);
}

ze_event_handle_t Event::hand_out() {
  const std::lock_guard lock(mutex_);
  if (!signal_) {
    // The event was never recorded, or was recorded on a stream without work. So it is complete, and a signalled event
    // stands for it.
    SignalRef complete = device_.signals().take();
    device_.check(complete->signal_from_host(), "zeEventHostSignal");
    complete->set_complete();
    signal_ = std::move(complete);
    stands_in_ = true;
  }
  return signal_->native();
}

}  // namespace anyplace::levelzero
