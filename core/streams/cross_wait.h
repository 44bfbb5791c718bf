// SPDX-License-Identifier: Apache-2.0
//
// Cross waits: a stream waits for work whose completion its own backend can't see, because the work is another
// backend's or is still held back by the core.
//
// On the producer's side a helper stream waits for the event and then runs a host function that only signals; where the
// producer has no host functions, the polling thread queries the helper stream instead. On the waiter's side the stream
// waits for a gate, if its device has gates and the work is another backend's; else the core holds the stream (hold.h).
//
// Invariant: a cross wait is signalled exactly once, by whatever comes first: the event's completion, the loss of the
// producer's device, or a failure to arrange for either.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>

#include "runtime/service.h"
#include "streams/event_state.h"
#include "streams/helper_streams.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

struct Gate;

struct CrossWait {
  DeviceState* producer = nullptr;  ///< the device whose work is waited for; null: the host signals the wait
  std::uint64_t stream_id = 0;      ///< the waiting stream, which gets the fault
  std::shared_ptr<Gate> gate;       ///< null: the stream is held
  /// The waiting stream where there is no gate. Used only while the wait is in the stream's queue, which keeps the
  /// stream alive.
  StreamState* held_stream = nullptr;
  /// A function that a thread which waits for the held stream calls again and again, so that it does the work that it
  /// waits for itself. It returns soon. If it is null, the thread sleeps.
  void (*help)() noexcept = nullptr;

  std::atomic<bool> claimed{false};  ///< the thread that sets it signals
  // -- Guarded by holds().mutex.
  bool signalled = false;
  std::list<std::shared_ptr<CrossWait>>::iterator outstanding;  ///< valid until signalled

  ServiceRoom room{"Stream::wait_event"};  ///< the polling thread may have to query the producer
  /// Set before the signal is arranged for. After that only the signalling side uses it.
  HelperStream helper;
};

/// Makes `stream` wait for the record as it is now. Never blocks. If it throws, nothing waits. It is for records that
/// the stream's backend can't wait for (wait_was_arranged() in event_state.h decides).
void wait_across(StreamState& stream, const Record& record, const char* operation);

/// Makes `stream` wait until signal_cross_wait() is called, which the caller has to do. The stream is held meanwhile.
/// `help` is CrossWait::help.
std::shared_ptr<CrossWait> wait_for_host(StreamState& stream, void (*help)() noexcept, const char* operation);

/// The same by a gate of the device's, so that the backend sees the wait, in two steps, since signal_cross_wait() may
/// be called as soon as the first one returns: makes the wait, and submits it to the stream. The caller has to signal a
/// wait that was made also where submitting it fails.
std::shared_ptr<CrossWait> make_host_wait(StreamState& stream, const char* operation);
void submit_host_wait(StreamState& stream, const CrossWait& wait, const char* operation);

/// Arranges for the signal of a wait whose record has just been submitted to the backend. If that fails, the wait is
/// signalled with the failure.
void start_cross_wait(const std::shared_ptr<CrossWait>& wait, anyplace_event event) noexcept;

/// Signals the wait unless that was done. A `failure` that isn't null becomes the waiting stream's fault.
void signal_cross_wait(CrossWait& wait, const Error* failure) noexcept;

/// Signals device_lost to every cross wait for work of that device, and wakes up host threads that wait for it. Called
/// when the device was just marked lost. May run inside a callback.
void release_waiters_of(DeviceState& device) noexcept;

/// Waits, at exit, until no stream is held and no cross wait is outstanding; false if `timeout` ran out first.
bool settle_cross_waits(std::chrono::nanoseconds timeout) noexcept;

}  // namespace anyplace::detail
