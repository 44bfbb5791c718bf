// SPDX-License-Identifier: Apache-2.0
//
// StreamState: what a stream handle leads to; and the one way to submit to it.
//
// Lock order of streams and events. DeviceState::default_stream_mutex and DeviceState::properties_mutex come first,
// never both; under them the backend is called. All others are leaves: the slot tables' mutexes,
// StreamState::fault_mutex, Holds::mutex, HelperStreams::mutex and those of the service threads. Under a leaf no other
// lock is taken, and neither the user nor a backend is called (but for stream_query in stream_state.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "anyplace/error.h"
#include "backend.h"
#include "call.h"
#include "everlasting.h"
#include "slots.h"

namespace anyplace::detail {

/// The submissions that the core holds back while a stream waits for another backend's work. Defined in hold.h.
struct Hold;

struct StreamState {
  static constexpr HandleKind handle_kind = HandleKind::stream;

  DeviceState* device = nullptr;
  anyplace_stream handle = 0;
  std::uint64_t id = 0;
  int priority = 0;
  bool is_default = false;  ///< the null stream: the backend never destroys it

  /// The first fault nobody collected yet. `faulted` is set after, and cleared before, `fault`.
  std::atomic<bool> faulted{false};
  std::mutex fault_mutex;  // guards fault; no other lock is taken under it
  std::optional<Error> fault;

  /// Whether submissions are held back; calls with the handle then go the long way. Set and cleared by hold.cpp only,
  /// under holds().mutex, like what is in `hold`.
  std::atomic<bool> held{false};
  std::unique_ptr<Hold> hold;

  StreamState();
  StreamState(const StreamState&) = delete;  // it owns the backend's stream
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();
  /// Destroys the backend's stream; inside a callback, the service thread does it.
  static void dispose(StreamState* stream) noexcept;
};

extern constinit Everlasting<SlotTable<StreamState>> stream_table;
inline SlotTable<StreamState>& streams() noexcept { return stream_table.value; }

/// Makes a stream and its handle. Throws.
std::uint64_t make_stream(DeviceState& device, int priority, bool blocking, const char* operation);
/// The handle of the device's null stream.
std::uint64_t default_stream_of(DeviceState& device, const char* operation);

/// Wraps a stream of the vendor's. The capability was checked. Throws.
std::uint64_t wrap_stream(DeviceState& device, std::uint64_t native, const char* operation);
/// Ends a handle for its owner, and reports the fault that nobody collected. Does nothing in a forked or exiting
/// process.
void retire_stream(std::uint64_t id) noexcept;

/// Keeps `error` as the stream's fault if it is the first; if the stream is gone, reports it. A device_lost marks the
/// stream's device lost if the error names its place.
void record_fault(std::uint64_t stream_id, const Error& error) noexcept;
/// The same for a stream at hand; marks nothing.
void keep_fault(StreamState& stream, const Error& error) noexcept;

/// Throws the fault if there is one that no other thread was given; clears it if asked to.
void throw_fault(StreamState& stream, bool clear);
/// Whether all submitted work is done. Throws the fault, without clearing it, if there is one.
bool query(StreamState& stream, const char* operation);
/// False when time ran out, which timeout_ns ANYPLACE_FOREVER never does. Throws the first fault and clears it.
bool synchronize(StreamState& stream, std::uint64_t timeout_ns, const char* operation);
/// All work submitted to the device. False when time ran out.
bool synchronize(DeviceState& device, std::uint64_t timeout_ns, const char* operation);

/// A submission with copies of its own of everything that it needs. Runs on the service thread; a status other than OK
/// becomes the stream's fault.
using HeldCommand = std::function<anyplace_status()>;

/// Queues the command behind those held back already. False if nothing is held back any more: then submit directly.
bool hold_back(StreamState& stream, HeldCommand command);

/// Submits: now() calls the backend's entry. Only when the stream is held, make_later() is called for a HeldCommand
/// that does the same later (it must pin nothing of the stream: the hold does).
template <class Now, class MakeLater>
inline void submit(StreamState& stream, const char* operation, Now&& now, MakeLater&& make_later) {
  require_usable(*stream.device, operation);
  if (stream.held.load(std::memory_order_acquire)) [[unlikely]] {
    if (hold_back(stream, make_later())) return;
  }
  check(now(), *stream.device, operation);
}

}  // namespace anyplace::detail
