// SPDX-License-Identifier: Apache-2.0
//
// Holds: submissions that the core keeps back while a stream waits for something that its backend can't wait for.
//
// A held stream has a queue of waits and submissions, first in, first out, whose front is a wait that has not been
// signalled. When that wait is signalled, the service thread submits what follows it, up to the next wait that has not
// been signalled. When the queue is empty the stream is no longer held. Invariant: nothing overtakes. A submission goes
// straight to the backend only if it found the queue empty under the mutex, or if it isn't ordered after the wait that
// holds the stream.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/deadline.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

struct CrossWait;
struct EventState;

/// The held streams of all devices, under one lock. Held streams are rare, and with one lock no lock order can be
/// violated.
struct Holds {
  std::mutex mutex;  // guards every Hold, HeldRecord, CrossWait (where it says so) and what is below; a leaf
  std::condition_variable
      changed;  ///< a queue advanced or became empty, a record was submitted, a wait was signalled, a device was lost
  std::vector<StreamState*> streams;                  ///< the streams that are held
  std::list<std::shared_ptr<CrossWait>> outstanding;  ///< waits that are not signalled yet
};
/// The holds of the process. They are never destroyed, because threads may wait on them while the process exits.
Holds& holds() noexcept;

/// A wait or a submission.
struct HeldItem {
  std::shared_ptr<CrossWait> wait;  ///< null for a submission
  HeldCommand command;
};

/// The queue of a held stream. Guarded by holds().mutex.
struct Hold {
  std::list<HeldItem> queue;
  std::uint64_t queued = 0;  ///< items that ever entered the queue
  std::uint64_t passed = 0;  ///< items that left it: submissions that were made, waits that are over
  bool draining = false;     ///< the service thread is emptying the queue, or was asked to
  /// Set while the stream is held: a stream that the user destroyed lives on until its queue is empty.
  Pin<StreamState> self;
};

/// A record in a held stream's queue. It has a backend's event of its own, so that recording the user's event again, or
/// destroying it, doesn't affect waits for this record.
struct HeldRecord {
  DeviceState* device = nullptr;
  std::uint64_t stream_id = 0;  ///< the held stream
  anyplace_event handle = 0;
  ServiceRoom room{"Event::record"};  ///< destroying it may be handed over to the service thread

  // -- Guarded by holds().mutex.
  enum class State { queued, submitted, dropped } state = State::queued;
  std::vector<std::shared_ptr<CrossWait>> waits;  ///< cross waits that are started when the record was submitted

  HeldRecord() = default;
  HeldRecord(const HeldRecord&) = delete;  // it owns the backend's event
  HeldRecord& operator=(const HeldRecord&) = delete;
  ~HeldRecord();
};

/// Adds the wait to the stream's queue, which holds the stream if it isn't held yet.
void hold_until(StreamState& stream, std::shared_ptr<CrossWait> wait);

/// Called under holds().mutex for a wait that was just signalled. Returns whether the caller must call post_drain()
/// after unlocking.
bool drain_is_due(const CrossWait& wait) noexcept;
/// Called under holds().mutex after drain_is_due() has said so. If nothing is queued behind the wait, the stream isn't
/// held any more, nothing has to be drained, and `self` is the stream's pin, to be dropped after unlocking.
bool release_at_once(const CrossWait& wait, Pin<StreamState>& self) noexcept;
/// Whether the wait is the last that was queued on the held stream: nothing was submitted behind it.
bool is_last_of(const StreamState& stream, const CrossWait& wait) noexcept;
void post_drain(StreamState& stream) noexcept;

/// Queues a record of `event` in the held stream. Returns false if the stream isn't held any more; the caller then
/// records directly. Throws.
bool hold_back_record(EventState& event, StreamState& stream, const char* operation);

// -- Waits of host threads. Each returns true at once if nothing is held, and false if time ran out. They return true
// early when the device is lost, which the caller checks.
/// Waits until everything that is in the stream's queue now has been submitted.
bool wait_until_submitted(StreamState& stream, const Deadline& deadline);
/// Waits until everything that is in the queues of the device's held streams now has been submitted, including those of
/// streams that the user has destroyed.
bool wait_until_submitted(DeviceState& device, const Deadline& deadline);
/// Whether it would have anything to wait for.
bool is_held_back(const DeviceState& device);
/// Waits until the record has been submitted or dropped.
bool wait_until_submitted(HeldRecord& record, const Deadline& deadline);

}  // namespace anyplace::detail
