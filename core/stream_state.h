// SPDX-License-Identifier: Apache-2.0
//
// StreamState: what a stream handle leads to; and the one way to submit to it.
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
#include "slots.h"

namespace anyplace::detail {

/// The submissions that the core holds back while a stream waits for another backend's work. Defined in hold.cpp.
class Hold;

struct StreamState {
  DeviceState* device = nullptr;
  anyplace_stream handle = 0;
  std::uint64_t id = 0;
  int priority = 0;
  bool is_default = false;  ///< the null stream: the backend never destroys it

  /// The first fault nobody collected yet. `faulted` is set after, and cleared before, `fault`.
  std::atomic<bool> faulted{false};
  std::mutex fault_mutex;  // guards fault; no other lock is taken under it
  std::optional<Error> fault;

  /// Whether submissions are held back. Set and cleared by hold.cpp only.
  std::atomic<bool> held{false};
  std::unique_ptr<Hold> hold;

  StreamState();
  ~StreamState();
  /// Destroys the backend's stream; inside a callback, the service thread does it.
  static void dispose(StreamState* stream) noexcept;
};

SlotTable<StreamState>& streams() noexcept;

/// Makes a stream and its handle. Throws.
std::uint64_t make_stream(DeviceState& device, int priority, bool blocking, const char* operation);
/// The handle of the device's null stream.
std::uint64_t default_stream_of(DeviceState& device, const char* operation);

/// Keeps `error` as the stream's fault if it is the first; if the stream is gone, reports it.
void record_fault(std::uint64_t stream_id, const Error& error) noexcept;

/// A submission with copies of its own of everything that it needs. Runs on the service thread; a status other than OK
/// becomes the stream's fault.
using HeldCommand = std::function<anyplace_status()>;

/// Queues the command behind those held back already. False if nothing is held back any more: then submit directly.
bool hold_back(StreamState& stream, HeldCommand command);

/// Submits: now() calls the backend's entry. Only when the stream is held, make_later() is called for a HeldCommand that
/// does the same later (it must pin nothing of the stream: the hold does).
template <class Now, class MakeLater>
inline void submit(StreamState& stream, const char* operation, Now&& now, MakeLater&& make_later) {
  require_usable(*stream.device, operation);
  if (stream.held.load(std::memory_order_acquire)) [[unlikely]] {
    if (hold_back(stream, make_later())) return;
  }
  check(now(), *stream.device, operation);
}

}  // namespace anyplace::detail
