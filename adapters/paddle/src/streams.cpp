// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. Paddle's streams don't synchronise with the null stream.
#include <stdexcept>
#include <string>

#include <anyplace/error.h>

#include "entries.h"
#include "handles.h"
#include "places.h"
#include "report.h"

namespace anyplace_paddle {

HandleTable<anyplace::Stream>& streams() {
  static auto& table = *new HandleTable<anyplace::Stream>;
  return table;
}

HandleTable<anyplace::Event>& events() {
  static auto& table = *new HandleTable<anyplace::Event>;
  return table;
}

namespace {

using anyplace::Device;

[[noreturn]] void refuse_handle(const char* what) {
  anyplace::ErrorDetails details;
  details.code = anyplace::ErrorCode::invalid_handle;
  details.text = std::string("there is no such ") + what + "; it was destroyed already, or isn't Paddle's";
  throw anyplace::Error(std::move(details));
}

/// What a query comes to. Paddle takes every status but success for "not yet" and asks again: a failure is reported and
/// then counts as done, so that who polls goes on to the next call, which fails and is raised.
template <class Query>
C_Status answer(const char* entry, C_Device device, Query&& query) noexcept {
  bool is_done = true;
  (void)guarded(entry, device, [&] { is_done = query(); });
  return is_done ? C_SUCCESS : C_FAILED;
}

C_Status create_stream(const C_Device device, C_Stream* stream) noexcept {
  *stream = nullptr;
  return guarded("create_stream", device, [&] {
    *stream = to_paddle(anyplace::StreamView(streams().add(anyplace::Stream(device_of(device)))));
  });
}

/// Work that is pending still completes. The null stream is no one's to destroy.
C_Status destroy_stream(const C_Device device, C_Stream stream) noexcept {
  return guarded_release("destroy_stream", device, [&] {
    if (stream != nullptr && !streams().remove(reinterpret_cast<std::uintptr_t>(stream))) refuse_handle("stream");
  });
}

C_Status query_stream(const C_Device device, C_Stream stream) noexcept {
  return answer("query_stream", device, [&] { return stream_of(device_of(device), stream).query(); });
}

C_Status synchronize_stream(const C_Device device, C_Stream stream) noexcept {
  return guarded("synchronize_stream", device, [&] { stream_of(device_of(device), stream).synchronize(); });
}

/// Calls it; what it says went wrong is thrown.
void call(C_Callback callback, C_Device_st device, C_Stream stream, void* user_data) {
  C_Status status = C_SUCCESS;
  callback(&device, stream, user_data, &status);
  if (status != C_SUCCESS)
    throw std::runtime_error("a callback of Paddle's in the stream failed with status " + std::to_string(status));
}

/// On a thread of anyplace's, in the stream's order; where the backend has no host functions, on this one, after the
/// stream was waited for.
C_Status stream_add_callback(const C_Device device, C_Stream stream, C_Callback callback, void* user_data) noexcept {
  return guarded("stream_add_callback", device, [&] {
    const Device& place = device_of(device);
    const anyplace::StreamView view = stream_of(place, stream);
    if (place.has(anyplace::Capability::host_functions)) {
      view.launch_host_func([=, device = *device] { call(callback, device, stream, user_data); });
      return;
    }
    view.synchronize();
    call(callback, *device, stream, user_data);
  });
}

C_Status create_event(const C_Device device, C_Event* event) noexcept {
  *event = nullptr;
  return guarded("create_event", device,
                 [&] { *event = to_paddle(anyplace::EventView(events().add(anyplace::Event(device_of(device))))); });
}

C_Status destroy_event(const C_Device device, C_Event event) noexcept {
  return guarded_release("destroy_event", device, [&] {
    if (event != nullptr && !events().remove(reinterpret_cast<std::uintptr_t>(event))) refuse_handle("event");
  });
}

C_Status record_event(const C_Device device, C_Stream stream, C_Event event) noexcept {
  return guarded("record_event", device, [&] { event_of(event).record(stream_of(device_of(device), stream)); });
}

C_Status query_event(const C_Device device, C_Event event) noexcept {
  return answer("query_event", device, [&] { return event_of(event).query(); });
}

C_Status synchronize_event(const C_Device device, C_Event event) noexcept {
  return guarded("synchronize_event", device, [&] { event_of(event).synchronize(); });
}

C_Status stream_wait_event(const C_Device device, C_Stream stream, C_Event event) noexcept {
  return guarded("stream_wait_event", device,
                 [&] { stream_of(device_of(device), stream).wait_event(event_of(event)); });
}

}  // namespace

void fill_streams(C_DeviceInterface& table) {
  table.create_stream = create_stream;
  table.destroy_stream = destroy_stream;
  table.query_stream = query_stream;
  table.synchronize_stream = synchronize_stream;
  table.stream_add_callback = stream_add_callback;
  table.create_event = create_event;
  table.destroy_event = destroy_event;
  table.record_event = record_event;
  table.query_event = query_event;
  table.synchronize_event = synchronize_event;
  table.stream_wait_event = stream_wait_event;
}

}  // namespace anyplace_paddle
