// SPDX-License-Identifier: Apache-2.0
// The queue of a held stream. Submitting threads fill it, and only the service thread empties it.
#include "streams/hold.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/layer_notes.h"
#include "runtime/no_destructor.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "streams/cross_wait.h"
#include "streams/event_state.h"

namespace anyplace::detail {

namespace {

NoDestructor<Holds> all_holds;

}  // namespace

Holds& holds() noexcept { return all_holds.value; }

HeldRecord::~HeldRecord() {
  if (handle != 0) destroy_event(*device, handle);
}

// ---- Filling -------------------------------------------------------------------------------------------------------

bool hold_back(StreamState& stream, HeldCommand command) {
  const std::lock_guard lock(holds().mutex);
  if (!stream.held.load(std::memory_order_relaxed)) return false;
  stream.hold->queue.push_back({nullptr, std::move(command)});
  ++stream.hold->queued;
  return true;
}

void hold_until(StreamState& stream, std::shared_ptr<CrossWait> wait) {
  Pin<StreamState> self = streams().pin_again(stream.id, "Stream::wait_event");
  const std::lock_guard lock(holds().mutex);
  Hold& hold = *stream.hold;
  if (!stream.held.load(std::memory_order_relaxed)) holds().streams.reserve(holds().streams.size() + 1);
  hold.queue.push_back({std::move(wait), nullptr});
  ++hold.queued;
  if (stream.held.load(std::memory_order_relaxed)) return;
  hold.self = std::move(self);
  holds().streams.push_back(&stream);
  stream.held.store(true, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_hold, true);
}

namespace {

/// The queue's reference to a held record. If it is destroyed before the record was submitted, its destructor marks the
/// record dropped.
struct QueuedRecord {
  std::shared_ptr<HeldRecord> record;

  explicit QueuedRecord(std::shared_ptr<HeldRecord> queued) noexcept : record(std::move(queued)) {}
  QueuedRecord(const QueuedRecord&) = delete;  // its destructor settles the record, once
  QueuedRecord& operator=(const QueuedRecord&) = delete;
  ~QueuedRecord() { settle(HeldRecord::State::dropped); }

  void settle(HeldRecord::State state) noexcept {
    std::vector<std::shared_ptr<CrossWait>> waits;
    {
      const std::lock_guard lock(holds().mutex);
      if (record->state != HeldRecord::State::queued) return;
      record->state = state;
      waits.swap(record->waits);
      holds().changed.notify_all();
    }
    // After a record that failed there is nothing to wait for. (If its device was lost, the waits were signalled
    // already.)
    for (const std::shared_ptr<CrossWait>& wait : waits) {
      if (state == HeldRecord::State::submitted) {
        start_cross_wait(wait, record->handle);
      } else {
        signal_cross_wait(*wait, nullptr);
      }
    }
  }
};

}  // namespace

bool hold_back_record(EventState& event, StreamState& stream, const char* operation) {
  DeviceState& device = *stream.device;
  auto record = std::make_shared<HeldRecord>();
  record->device = &device;
  record->stream_id = stream.id;
  anyplace_event_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.flags = event.flags;
  {
    const CoreCalls scope;
    check(device.table->event_create(device.self, device.index, &desc, &record->handle), device, operation);
  }
  const auto queued = std::make_shared<QueuedRecord>(record);
  HeldCommand command = [queued, &device, handle = stream.handle] {
    const anyplace_status status = device.table->event_record(device.self, queued->record->handle, handle);
    if (status == ANYPLACE_STATUS_OK) queued->settle(HeldRecord::State::submitted);
    return status;
  };
  const std::lock_guard lock(holds().mutex);
  if (!stream.held.load(std::memory_order_relaxed)) {
    // The record was never queued, so the destructor of `queued` has nothing to settle.
    record->state = HeldRecord::State::submitted;
    return false;
  }
  stream.hold->queue.push_back({nullptr, std::move(command)});
  ++stream.hold->queued;
  event.held_record.swap(record);  // an older record is released after the mutex
  event.record_is_held.store(true, std::memory_order_seq_cst);
  event.recorded.store(true, std::memory_order_release);
  events().set_careful_for(event.id, event.care_for, care_for_held_record, true);
  return true;
}

// ---- Emptying ------------------------------------------------------------------------------------------------------
namespace {

void submit_held(StreamState& stream, const HeldCommand& command) noexcept {
  constexpr const char* operation = "a submission that was held back";
  DeviceState& device = *stream.device;
  if (device.lost.load(std::memory_order_relaxed)) return;
  try {
    const anyplace_status status = command();
    if (status != ANYPLACE_STATUS_OK) {
      keep_fault(stream, error_or_shortage([&] { return make_error(status, device, operation); }));
    }
  } catch (const Error& error) {
    keep_fault(stream, error);
  } catch (const std::bad_alloc&) {
    keep_fault(stream, no_memory_error());
  } catch (const std::exception& exception) {
    leave_message(0, "", exception.what());
    keep_fault(stream, error_or_shortage([&] { return make_error(ANYPLACE_STATUS_INTERNAL, device, operation); }));
  }
}

/// Ends the hold of a stream whose queue is empty. Called under holds().mutex; the pin is to be dropped after
/// unlocking.
Pin<StreamState> let_go(StreamState& stream) noexcept {
  stream.held.store(false, std::memory_order_release);
  streams().set_careful_for(stream.id, stream.care_for, care_for_hold, false);
  stream.hold->draining = false;
  std::erase(holds().streams, &stream);
  return std::move(stream.hold->self);
}

void drain(StreamState& stream) noexcept {
  Hold& hold = *stream.hold;
  std::unique_lock lock(holds().mutex);
  while (!hold.queue.empty()) {
    if (hold.queue.front().wait && !hold.queue.front().wait->signalled) {
      hold.draining = false;
      return;
    }
    std::list<HeldItem> item;
    item.splice(item.begin(), hold.queue, hold.queue.begin());
    lock.unlock();
    if (item.front().command) submit_held(stream, item.front().command);
    {
      // The submission may own code of the user's (a host function that never ran), whose destructor runs here.
      const CallbackScope scope;
      item.clear();
    }
    lock.lock();
    ++hold.passed;
    holds().changed.notify_all();
  }
  const Pin<StreamState> self = let_go(stream);
  lock.unlock();
  // If the user has destroyed the stream, the end of `self` disposes of it.
}

}  // namespace

bool drain_is_due(const CrossWait& wait) noexcept {
  if (wait.held_stream == nullptr) return false;
  Hold& hold = *wait.held_stream->hold;
  if (hold.draining || hold.queue.empty() || hold.queue.front().wait.get() != &wait) return false;
  hold.draining = true;
  return true;
}

bool release_at_once(const CrossWait& wait, Pin<StreamState>& self) noexcept {
  StreamState& stream = *wait.held_stream;
  if (stream.hold->queue.size() != 1) return false;
  stream.hold->queue.clear();
  ++stream.hold->passed;
  self = let_go(stream);
  return true;
}

bool is_last_of(const StreamState& stream, const CrossWait& wait) noexcept {
  const std::lock_guard lock(holds().mutex);
  return stream.held.load(std::memory_order_relaxed) && !stream.hold->queue.empty() &&
         stream.hold->queue.back().wait.get() == &wait;
}

void post_drain(StreamState& stream) noexcept {
  post_to_service([&stream] { drain(stream); });
}

// ---- The host's waits ----------------------------------------------------------------------------------------------

bool wait_until_submitted(StreamState& stream, const Deadline& deadline) {
  std::unique_lock lock(holds().mutex);
  const Hold& hold = *stream.hold;
  const std::uint64_t until = hold.queued;
  const auto is_over = [&] { return hold.passed >= until || stream.device->lost.load(std::memory_order_relaxed); };
  const auto helper = [&] {
    const bool waits = !hold.queue.empty() && hold.queue.front().wait && !hold.queue.front().wait->signalled;
    return waits ? hold.queue.front().wait->help : nullptr;
  };
  while (true) {
    if (!wait_for_condition(holds().changed, lock, deadline, [&] { return is_over() || helper() != nullptr; })) {
      return false;
    }
    if (is_over()) return true;
    if (!deadline.forever() && deadline.left() == 0) return false;
    const auto help = helper();
    lock.unlock();
    help();
    lock.lock();
  }
}

bool is_held_back(const DeviceState& device) {
  const std::lock_guard lock(holds().mutex);
  return std::any_of(holds().streams.begin(), holds().streams.end(),
                     [&](const StreamState* stream) { return stream->device == &device; });
}

bool wait_until_submitted(DeviceState& device, const Deadline& deadline) {
  struct Ticket {
    std::uint64_t stream_id;
    std::uint64_t until;
  };
  std::vector<Ticket> tickets;
  std::unique_lock lock(holds().mutex);
  for (const StreamState* stream : holds().streams) {
    if (stream->device == &device) tickets.push_back({stream->id, stream->hold->queued});
  }
  if (tickets.empty()) return true;
  return wait_for_condition(holds().changed, lock, deadline, [&] {
    if (device.lost.load(std::memory_order_relaxed)) return true;
    return std::none_of(holds().streams.begin(), holds().streams.end(), [&](const StreamState* stream) {
      return std::any_of(tickets.begin(), tickets.end(), [&](const Ticket& ticket) {
        return ticket.stream_id == stream->id && stream->hold->passed < ticket.until;
      });
    });
  });
}

bool wait_until_submitted(HeldRecord& record, const Deadline& deadline) {
  std::unique_lock lock(holds().mutex);
  return wait_for_condition(holds().changed, lock, deadline, [&] {
    return record.state != HeldRecord::State::queued || record.device->lost.load(std::memory_order_relaxed);
  });
}

}  // namespace anyplace::detail
