// SPDX-License-Identifier: Apache-2.0
//
// StreamState: the object of a stream's handle; and submit_with(), which submits work or, if the stream is held or
// captured, diverts it.
//
// docs/architecture.md has the lock order. StreamState::fault_mutex, Holds::mutex and HelperStreams::mutex are leaves.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "anyplace/error.h"
#include "handles/slots.h"
#include "handles/use.h"
#include "runtime/backend.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {

/// The queue of a held stream. Defined in hold.h.
struct Hold;
/// Defined in capture.h.
struct Capture;
/// The reasons why calls with a stream's handle take the slow path, beside those that concern the device and the
/// process. Each is a bit.
enum CareFor : std::uint32_t {
  care_for_hold = 1,
  care_for_capture = 2,
  care_for_null_stream = 4,  ///< a blocking stream of its device is captured, so the null stream may not be used
};

struct StreamState {
  static constexpr HandleKind handle_kind = HandleKind::stream;

  DeviceState* device = nullptr;
  anyplace_stream handle = 0;
  std::uint64_t id = 0;
  int priority = 0;
  bool is_default = false;  ///< the null stream: the backend never destroys it
  bool is_blocking = false;
  std::atomic<std::uint32_t> care_for{0};  ///< CareFor, kept with the slot's flag by set_careful_for()
  /// The id of the stream that gets the faults of this one, for the core's own streams, which do a part of another
  /// stream's work. 0: this stream.
  std::atomic<std::uint64_t> fault_target{0};

  /// The first fault that no call has thrown or reported yet. `faulted` says whether there is one and is written under
  /// the mutex.
  std::atomic<bool> faulted{false};
  std::mutex fault_mutex;  // guards fault; no other lock is taken under it
  std::optional<Error> fault;

  /// Whether the stream is held; calls with its handle then take the slow path. hold.cpp alone writes it, under
  /// holds().mutex, which also guards what is in `hold`.
  std::atomic<bool> held{false};
  std::unique_ptr<Hold> hold;

  /// Whether submissions become nodes of `capture`. capture.cpp alone writes these members, under captures().mutex,
  /// which guards those that aren't atomic.
  std::atomic<bool> captured{false};
  std::shared_ptr<Capture> capture;
  std::vector<std::uint32_t> front;  ///< the nodes that the next one comes after
  /// For the null stream: how many blocking streams of its device are captured.
  std::uint32_t captured_blocking = 0;

  /// Whether a submission doesn't go to the backend at once.
  bool is_diverted() const noexcept {
    return held.load(std::memory_order_acquire) || care_for.load(std::memory_order_acquire) > care_for_hold;
  }

  StreamState();
  StreamState(const StreamState&) = delete;  // it owns the backend's stream
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();
  /// Destroys the backend's stream; inside a callback, the service thread does it.
  static void dispose(StreamState* stream) noexcept;
};

extern constinit NoDestructor<SlotTable<StreamState>> stream_table;
inline SlotTable<StreamState>& streams() noexcept { return stream_table.value; }
template <>
inline SlotTable<StreamState>& table_of<StreamState>() noexcept {
  return streams();
}

/// Makes a stream and its handle. Throws.
std::uint64_t make_stream(DeviceState& device, int priority, bool blocking, const char* operation);
/// The handle of the device's null stream.
std::uint64_t default_stream_of(DeviceState& device, const char* operation);

/// Wraps a stream of the vendor's. The capability was checked. Throws.
std::uint64_t wrap_stream(DeviceState& device, std::uint64_t native, const char* operation);
/// Closes a handle for its owner, and reports a fault that no call has thrown. Does nothing in a forked or exiting
/// process.
void retire_stream(std::uint64_t id) noexcept;

/// Keeps `error` as the stream's fault if the stream has none; reports it if the stream is gone. A device_lost marks
/// the stream's device lost if the error names that device's place.
void record_fault(std::uint64_t stream_id, const Error& error) noexcept;
/// Keeps `error` as the fault of a stream that the caller pins. Marks no device lost.
void keep_fault(StreamState& stream, const Error& error) noexcept;

/// Throws the fault if there is one, and clears it if `clear`.
void throw_fault(StreamState& stream, bool clear);
/// Waits for a stream that may be held, or with a time limit. False when time ran out.
bool wait_carefully(StreamState& stream, std::uint64_t timeout_ns, const char* operation);

// -- The bodies of waiting. handles/use.h has the guards.
/// Whether all submitted work is done. Throws the fault, without clearing it, if there is one.
void refuse_if_captured(StreamState& stream, const char* operation);
template <class Guard>
[[gnu::always_inline]] inline bool query_stream(const Guard& guard, const char* operation) {
  StreamState& stream = guard.first();
  DeviceState& device = *stream.device;
  if (guard.careful) [[unlikely]] {
    require_usable(device, operation);
    refuse_if_captured(stream, operation);
  }
  std::int32_t done = 0;
  if (!guard.careful || !stream.held.load(std::memory_order_acquire)) [[likely]] {
    const anyplace_status status = device.table->stream_query(device.self, stream.handle, &done);
    guard.check(status, operation);
  }
  // `faulted` is read after the query, because a backend reports a fault before the command with that fault counts as
  // complete.
  if (stream.faulted.load(std::memory_order_acquire)) [[unlikely]]
    throw_fault(stream, false);
  return done != 0;
}
/// Waits for all submitted work. False when time ran out. Throws the first fault and clears it.
template <class Guard>
[[gnu::always_inline]] inline bool synchronize_stream(const Guard& guard, std::uint64_t timeout_ns,
                                                      const char* operation) {
  StreamState& stream = guard.first();
  if (guard.careful) [[unlikely]] {
    if (!wait_carefully(stream, timeout_ns, operation)) return false;
  } else {
    DeviceState& device = *stream.device;
    const anyplace_status status = device.table->stream_synchronize(device.self, stream.handle, timeout_ns);
    guard.check(status, operation);
  }
  if (stream.faulted.load(std::memory_order_acquire)) [[unlikely]]
    throw_fault(stream, true);
  return true;
}

inline bool query(StreamState& stream, const char* operation) { return query_stream(Given(stream), operation); }
inline bool synchronize(StreamState& stream, std::uint64_t timeout_ns, const char* operation) {
  return synchronize_stream(Given(stream), timeout_ns, operation);
}
/// Whether the stream surely has no work left, for callers that only want to know whether something may be freed
/// already: if the query fails, the answer is false. A lost device's stream has no work.
bool is_surely_idle(StreamState& stream, const char* operation) noexcept;
/// Waits for all work that was submitted to the device. False when time ran out.
bool synchronize(DeviceState& device, std::uint64_t timeout_ns, const char* operation);

/// A held submission, with copies of everything that it needs. It runs on the service thread, and a status other than
/// OK becomes the stream's fault.
using HeldCommand = std::function<anyplace_status()>;

/// Adds the command to the held stream's queue. Returns false if the stream isn't held any more; the caller then
/// submits directly.
bool hold_back(StreamState& stream, HeldCommand command);

/// Submits work to the stream, which is the guard's second object. now() calls the backend's entry. If the stream is
/// held or captured, make_work() is called instead and returns a Work (work.h) that does the same.
template <class Guard, class Now, class MakeWork>
[[gnu::always_inline]] inline void submit_with(const Guard& guard, const char* operation, Now&& now,
                                               MakeWork&& make_work) {
  if (guard.careful) [[unlikely]] {
    StreamState& stream = guard.second();
    require_usable(*stream.device, operation);
    if (stream.is_diverted()) return divert(stream, make_work(), operation);
  }
  guard.check(now(), operation);
}
template <class Now, class MakeWork>
inline void submit(StreamState& stream, const char* operation, Now&& now, MakeWork&& make_work) {
  submit_with(Given(stream), operation, now, make_work);
}

/// The copy within the host's memory that a host function of the core's own makes, as layers are told of it: one
/// without a source is a fill, and one of no rows accesses no memory of the application's.
using HostDeed = std::shared_ptr<const anyplace_copy_2d>;
/// That of a function that only tells somebody that the stream has got there.
HostDeed no_deed() noexcept;

/// Runs `function`, which is the core's own, in the stream's order, as Stream::launch_host_func does, also on a held
/// stream. The device has host functions. `function` throws nothing.
void launch_host_function(StreamState& stream, std::function<void()> function, HostDeed deed, const char* caller);

}  // namespace anyplace::detail
