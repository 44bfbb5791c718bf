// SPDX-License-Identifier: Apache-2.0
//
// Holds: what the core keeps back while a stream waits for something that its backend can't wait for.
//
// A held stream has a queue of waits and submissions, first in, first out; its front is a wait that has not been
// signalled. When it is, the service thread submits what follows, up to the next such wait; when the queue is empty the
// stream is held no more. Invariant: nothing overtakes. A submission goes straight to the backend only if it found the
// queue empty under the mutex, or was never ordered after the wait that made it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "deadline.h"
#include "stream_state.h"

namespace anyplace::detail {

struct CrossWait;
struct EventState;

/// One lock for all that is held, on every device: being held is rare, and with one lock there is no order to get
/// wrong.
struct Holds {
  std::mutex mutex;  // guards every Hold, HeldRecord, CrossWait (where it says so) and what is below; a leaf
  std::condition_variable
      changed;  ///< a hold went on or ended, a record was submitted, a wait signalled, a device lost
  std::vector<StreamState*> streams;                  ///< those that are held
  std::list<std::shared_ptr<CrossWait>> outstanding;  ///< not signalled yet
};
/// Never destroyed: threads may wait on it while the process exits.
Holds& holds() noexcept;

/// A wait or a submission.
struct HeldItem {
  std::shared_ptr<CrossWait> wait;  ///< null: it is a submission
  HeldCommand command;
};

/// Guarded by holds().mutex.
struct Hold {
  std::list<HeldItem> queue;
  std::uint64_t queued = 0;  ///< items that ever entered the queue
  std::uint64_t passed = 0;  ///< items that left it: submitted, or over
  bool draining = false;     ///< the service thread is at it, or was asked to
  /// While held: a stream that the user destroyed lives on until its queue is empty.
  Pin<StreamState> self;
};

/// A record in a held stream's queue. It has an event of the backend's for itself, so that recording the user's event
/// again, or destroying it, takes nothing from those who wait for this record.
struct HeldRecord {
  DeviceState* device = nullptr;
  std::uint64_t stream_id = 0;  ///< the held stream
  anyplace_event handle = 0;
  ServiceRoom room{"Event::record"};  ///< its end may be handed over

  // -- Guarded by holds().mutex.
  enum class State { queued, submitted, dropped } state = State::queued;
  std::vector<std::shared_ptr<CrossWait>> waits;  ///< to be started when submitted

  HeldRecord() = default;
  HeldRecord(const HeldRecord&) = delete;  // it owns the backend's event
  HeldRecord& operator=(const HeldRecord&) = delete;
  ~HeldRecord();
};

/// Holds the stream, if it isn't held yet, until the wait is signalled.
void hold_until(StreamState& stream, std::shared_ptr<CrossWait> wait);

/// Under holds().mutex, for a wait that was just signalled: whether the caller must post_drain() after unlocking.
bool drain_is_due(const CrossWait& wait) noexcept;
void post_drain(StreamState& stream) noexcept;

/// Queues a record of `event` in the held stream. False if it is held no more: then record directly. Throws.
bool hold_back_record(EventState& event, StreamState& stream, const char* operation);

// -- The host's waits. Each returns true at once for what isn't held, and false when time ran out. They end early when
// the device is lost: the caller looks.
/// Until what is queued in the stream now has been submitted.
bool wait_until_submitted(StreamState& stream, const Deadline& deadline);
/// The same for all held streams of the device, also those that the user destroyed.
bool wait_until_submitted(DeviceState& device, const Deadline& deadline);
/// Until the record has been submitted, or never will be.
bool wait_until_submitted(HeldRecord& record, const Deadline& deadline);

}  // namespace anyplace::detail
