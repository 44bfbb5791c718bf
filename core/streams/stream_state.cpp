// SPDX-License-Identifier: Apache-2.0
//
// The life of a stream, its faults, and waiting for it. Invariants: a fault is thrown or reported, once, and never
// dropped. A thread that synchronises the device also waits for the work of destroyed streams.
#include "streams/stream_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "plugins/device_properties.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "runtime/subsystem.h"
#include "streams/captured.h"
#include "streams/helper_streams.h"
#include "streams/hold.h"

namespace anyplace::detail {

constinit NoDestructor<SlotTable<StreamState>> stream_table("stream");

StreamState::StreamState() : hold(std::make_unique<Hold>()) {}

StreamState::~StreamState() {
  if (handle == 0 || is_default || !backends_callable()) return;
  const anyplace_status status = device->table->stream_destroy(device->self, handle);
  check_given_back(status, *device, "Stream::~Stream");
}

// ---- Making --------------------------------------------------------------------------------------------------------
namespace {

/// Makes the handle, then the stream with `create(desc, &handle)`, then opens the handle.
template <class Create>
std::uint64_t make_with(DeviceState& device, anyplace_stream_desc desc, const char* operation, bool is_default,
                        Create&& create) {
  require_usable(device, operation);
  const std::uint64_t id = streams().reserve(operation);
  try {
    auto stream = std::make_unique<StreamState>();
    stream->device = &device;
    stream->id = id;
    stream->priority = desc.priority;
    stream->is_default = is_default;
    stream->is_blocking = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0;
    desc.struct_size = sizeof(desc);
    desc.cookie = id;
    device.used.store(true, std::memory_order_relaxed);
    check(create(desc, &stream->handle), device, operation);
    if (stream->handle == 0) fail(ErrorCode::backend_failed, device.place, operation, "the backend made a null stream");
    streams().publish(id, stream.release());
  } catch (...) {
    streams().cancel(id);
    throw;
  }
  return id;
}

}  // namespace

std::uint64_t make_stream(DeviceState& device, int priority, bool blocking, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  if (blocking) require_capability(device, Capability::blocking_streams, operation);
  anyplace_stream_desc desc{};
  desc.flags = blocking ? ANYPLACE_STREAM_BLOCKING : 0;
  desc.priority = std::clamp(priority, properties.greatest_priority, properties.least_priority);
  return make_with(device, desc, operation, false, [&](const anyplace_stream_desc& made, anyplace_stream* out) {
    return device.table->stream_create(device.self, device.index, &made, out);
  });
}

std::uint64_t wrap_stream(DeviceState& device, std::uint64_t native, const char* operation) {
  return make_with(device, {}, operation, false, [&](const anyplace_stream_desc& made, anyplace_stream* out) {
    return device.table->stream_from_native(device.self, device.index, native, &made, out);
  });
}

std::uint64_t default_stream_of(DeviceState& device, const char* operation) {
  if (const std::uint64_t id = device.default_stream_id.load(std::memory_order_acquire); id != 0) return id;
  const std::lock_guard lock(device.default_stream_mutex);
  if (const std::uint64_t id = device.default_stream_id.load(std::memory_order_relaxed); id != 0) return id;
  const std::uint64_t id =
      make_with(device, {}, operation, true, [&](const anyplace_stream_desc& made, anyplace_stream* out) {
        return device.table->stream_default(device.self, device.index, &made, out);
      });
  device.default_stream_id.store(id, std::memory_order_release);
  return id;
}

// ---- Ending --------------------------------------------------------------------------------------------------------
namespace {

/// Streams that were destroyed while they had work, of backends that can't wait for a device for a limited time. They
/// are kept so that they can be queried. The list is never destroyed.
struct Retired {
  std::mutex mutex;  // guards streams; the backend's stream_query is called under it, and nothing else
  std::vector<StreamState*> streams;
};
NoDestructor<Retired> all_retired;
Retired& retired() noexcept { return all_retired.value; }

std::optional<Error> take_fault(StreamState& stream) noexcept {
  if (!stream.faulted.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(stream.fault_mutex);
  stream.faulted.store(false, std::memory_order_relaxed);
  return std::exchange(stream.fault, std::nullopt);
}

/// A stream that can't be queried any more counts as idle.
bool is_idle(const StreamState& stream) noexcept {
  DeviceState& device = *stream.device;
  if (device.lost.load(std::memory_order_relaxed)) return true;
  std::int32_t done = 0;
  const anyplace_status status = device.table->stream_query(device.self, stream.handle, &done);
  if (status != ANYPLACE_STATUS_OK) take_message();
  return status != ANYPLACE_STATUS_OK || done != 0;
}

bool waits_timed(DeviceState& device) noexcept {
  using Timed = HelperStreams::Timed;
  std::atomic<Timed>& timed = device.helper_streams->timed;
  if (timed.load(std::memory_order_relaxed) == Timed::unknown) {
    const anyplace_status status = device.table->device_synchronize(device.self, device.index, 0);
    note_quietly(status, device, "Stream::synchronize");
    timed.store(status == ANYPLACE_STATUS_UNSUPPORTED ? Timed::no : Timed::yes, std::memory_order_relaxed);
  }
  return timed.load(std::memory_order_relaxed) == Timed::yes;
}

/// Destroys the retired streams that are idle. Returns whether the device has none left.
bool reap_retired(const DeviceState& device) noexcept {
  while (true) {
    StreamState* idle = nullptr;
    {
      const std::lock_guard lock(retired().mutex);
      std::vector<StreamState*>& all = retired().streams;
      const auto found = std::find_if(all.begin(), all.end(), [](StreamState* stream) { return is_idle(*stream); });
      if (found == all.end()) {
        return std::none_of(all.begin(), all.end(), [&](StreamState* stream) { return stream->device == &device; });
      }
      idle = *found;
      all.erase(found);
    }
    delete idle;
  }
}

void finish(StreamState* stream) noexcept {
  const CoreCalls scope;  // nobody waits for the stream's work by destroying it
  if (const std::optional<Error> fault = take_fault(*stream)) report(*fault);
  DeviceState& device = *stream->device;
  if (backends_callable()) {
    for (const Subsystem* const subsystem : subsystems()) {
      if (subsystem->stream_ended != nullptr) subsystem->stream_ended(*stream);
    }
  }
  if (backends_callable() && !device.lost.load(std::memory_order_relaxed) && !waits_timed(device)) {
    reap_retired(device);
    if (!is_idle(*stream)) {
      try {
        const std::lock_guard lock(retired().mutex);
        retired().streams.push_back(stream);
        return;
      } catch (const std::bad_alloc&) {  // its work goes on, but synchronising the device doesn't wait for it
      }
    }
  }
  delete stream;
}

}  // namespace

void StreamState::dispose(StreamState* stream) noexcept {
  if (in_callback()) {
    post_to_service([stream] { finish(stream); });
  } else {
    finish(stream);
  }
}

void retire_stream(std::uint64_t id) noexcept {
  if (id == 0 || !process_running()) return;
  std::optional<Error> fault;
  if (const Pin<StreamState> stream = streams().try_pin(id)) {
    streams().close(id);
    note_closed_while_captured(*stream);
    // The fault is reported now, not when the last buffer drops its pin on the stream. Later faults find the handle
    // closed and are reported.
    fault = take_fault(*stream);
  }
  if (fault) report(*fault);
}

// ---- Faults --------------------------------------------------------------------------------------------------------

void keep_fault(StreamState& stream, const Error& error) noexcept {
  const std::lock_guard lock(stream.fault_mutex);
  if (stream.fault) return;
  stream.fault = error;
  stream.faulted.store(true, std::memory_order_release);
}

void record_fault(std::uint64_t stream_id, const Error& error) noexcept {
  // This runs on a backend's thread. If the pin below is the last one, the service thread destroys the stream.
  const CallbackScope scope;
  const Pin<StreamState> stream = streams().try_pin(stream_id);
  if (!stream) {
    report(error);
    return;
  }
  if (error.code() == ErrorCode::device_lost && error.place() == stream->device->place) {
    try {
      keep_loss(*stream->device, error);
    } catch (...) {  // there is no memory to keep it; later errors lack the vendor's reason
    }
    mark_lost(*stream->device);
  }
  if (const std::uint64_t target = stream->fault_target.load(std::memory_order_acquire); target != 0) {
    record_fault(target, error);
    return;
  }
  keep_fault(*stream, error);
}

// ---- Waiting -------------------------------------------------------------------------------------------------------
namespace {

bool backend_query(StreamState& stream, const char* operation) {
  std::int32_t done = 0;
  check(stream.device->table->stream_query(stream.device->self, stream.handle, &done), *stream.device, operation);
  return done != 0;
}

}  // namespace

bool is_surely_idle(StreamState& stream, const char* operation) noexcept {
  DeviceState& device = *stream.device;
  if (device.lost.load(std::memory_order_relaxed)) return true;
  if (stream.is_diverted()) return false;
  const CoreCalls scope;
  std::int32_t done = 0;
  const anyplace_status status = device.table->stream_query(device.self, stream.handle, &done);
  note_quietly(status, device, operation);
  return status == ANYPLACE_STATUS_OK && done != 0;
}

void throw_fault(StreamState& stream, bool clear) {
  std::unique_lock lock(stream.fault_mutex);
  if (!stream.fault) return;  // another thread has thrown and cleared it
  const Error error = *stream.fault;
  if (clear) {
    stream.fault.reset();
    stream.faulted.store(false, std::memory_order_relaxed);
  }
  lock.unlock();
  throw Error(error);
}

bool wait_carefully(StreamState& stream, std::uint64_t timeout_ns, const char* operation) {
  DeviceState& device = *stream.device;
  require_usable(device, operation);
  refuse_if_captured(stream, operation);
  std::optional<Deadline> deadline;
  if (stream.held.load(std::memory_order_acquire)) [[unlikely]] {
    deadline.emplace(timeout_ns);
    if (!wait_until_submitted(stream, *deadline)) return false;
    require_usable(device, operation);
    timeout_ns = deadline->left();
  }
  const anyplace_status status = device.table->stream_synchronize(device.self, stream.handle, timeout_ns);
  if (status == ANYPLACE_STATUS_TIMEOUT) return false;
  if (status == ANYPLACE_STATUS_UNSUPPORTED && timeout_ns != ANYPLACE_FOREVER) {
    take_message();
    if (!deadline) deadline.emplace(timeout_ns);
    if (!poll_until(*deadline, [&] { return backend_query(stream, operation); })) return false;
  } else {
    check(status, device, operation);
  }
  return true;
}

bool synchronize(DeviceState& device, std::uint64_t timeout_ns, const char* operation) {
  require_usable(device, operation);
  const Deadline deadline(timeout_ns);
  // What this thread's clock says is in the time that is left, so a wait that is the device's alone has all of it: in
  // virtual time it would be another one in each run.
  if (is_held_back(device)) {
    if (!wait_until_submitted(device, deadline)) return false;
    require_usable(device, operation);
    timeout_ns = deadline.left();
  }
  const anyplace_status status = device.table->device_synchronize(device.self, device.index, timeout_ns);
  if (status == ANYPLACE_STATUS_TIMEOUT) return false;
  if (status != ANYPLACE_STATUS_UNSUPPORTED || deadline.forever()) {
    check(status, device, operation);
    return true;
  }
  take_message();
  return poll_until(deadline, [&] {
    bool idle = reap_retired(device);
    // This includes destroyed streams that a buffer still pins.
    streams().for_each_alive([&](StreamState& stream) {
      if (stream.device == &device && !backend_query(stream, operation)) idle = false;
    });
    return idle;
  });
}

}  // namespace anyplace::detail
