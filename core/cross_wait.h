// SPDX-License-Identifier: Apache-2.0
//
// Cross waits: a stream waits for work whose completion its own backend can't see, because it is another backend's or
// is still held back by the core.
//
// The producer's side: a helper stream of its own waits for the event, and then runs a host function that does nothing
// but signal; without host functions the polling thread asks that stream instead. The waiter's side: a gate, where its
// device has them and the work is another backend's; else the core holds the stream (hold.h).
//
// Invariant: a cross wait is signalled exactly once, by whatever comes first: the event's completion, the loss of the
// producer's device, or a failure to arrange for either.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>

#include "event_state.h"
#include "helper_streams.h"
#include "service.h"
#include "stream_state.h"

namespace anyplace::detail {

struct Gate;

struct CrossWait {
  DeviceState* producer = nullptr;
  std::uint64_t stream_id = 0;  ///< the waiter's, for its fault
  std::shared_ptr<Gate> gate;   ///< null: the stream is held
  /// The waiter where there is no gate. Followed only while the wait is in its queue, which keeps it alive.
  StreamState* held_stream = nullptr;

  std::atomic<bool> claimed{false};  ///< who sets it signals
  // -- Guarded by holds().mutex.
  bool signalled = false;
  std::list<std::shared_ptr<CrossWait>>::iterator outstanding;  ///< valid until signalled

  ServiceRoom room{"Stream::wait_event"};  ///< its producer may have to be asked again and again
  /// Set before the signal is arranged for, then touched by the side that gives it alone.
  HelperStream helper;
};

/// Makes `stream` wait for the record as it is now. Never blocks. Throws; then nothing waits.
/// For pairs that the backend can't or mustn't be asked about (wait() in event_state.h decides).
void wait_across(StreamState& stream, const Record& record, const char* operation);

/// Arranges for the signal of a wait whose record has just reached the backend. Failures become its outcome.
void start_cross_wait(const std::shared_ptr<CrossWait>& wait, anyplace_event event) noexcept;

/// Signals, unless somebody did. `failure` null: all is well; else it becomes the waiting stream's fault.
void signal_cross_wait(CrossWait& wait, const Error* failure) noexcept;

/// Signals device_lost to every cross wait for work of that device, and wakes up the host's own waits for it. Called
/// when the device was just marked lost. May run inside a callback.
void release_waiters_of(DeviceState& device) noexcept;

/// Waits until no stream is held and no cross wait is outstanding; false if `timeout` ran out first. For the exit.
bool settle_cross_waits(std::chrono::nanoseconds timeout) noexcept;

}  // namespace anyplace::detail
