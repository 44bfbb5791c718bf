// SPDX-License-Identifier: Apache-2.0
// Every call with a null handle, a destroyed one, and one of another device gives an error and never crashes.
#include <functional>
#include <utility>

#include "support.h"

namespace anyplace::conformance::handles_cases {
namespace {

/// Valid handles, among which a case puts one that is wrong.
struct Good {
  explicit Good(const Run& run)
      : device(run.device()),
        stream(CALL(Stream(device))),
        event(CALL(Event(device))),
        buffer(filled(stream, 256, 1)),
        host(256, 0) {}

  Device device;
  Stream stream;
  Event event;
  Buffer buffer;
  Bytes host;
};

/// A handle whose object was destroyed.
StreamView destroyed_stream(const Device& device) { return CALL(Stream(device)).view(); }
EventView destroyed_event(const Device& device) { return CALL(Event(device)).view(); }
BufferView destroyed_buffer(StreamView stream) { return CALL(Buffer(stream, 256)).view(); }

// ---- Streams

struct StreamCall {
  std::string label;
  std::function<void(StreamView bad, Good& good)> call;
};

const std::vector<StreamCall> stream_calls = {
    {"device", [](StreamView s, Good&) { static_cast<void>(s.device()); }},
    {"priority", [](StreamView s, Good&) { static_cast<void>(s.priority()); }},
    {"native_handle", [](StreamView s, Good&) { static_cast<void>(s.native_handle()); }},
    {"query", [](StreamView s, Good&) { static_cast<void>(s.query()); }},
    {"synchronize", [](StreamView s, Good&) { s.synchronize(); }},
    {"synchronize with a timeout",
     [](StreamView s, Good&) { static_cast<void>(s.synchronize(std::chrono::seconds(1))); }},
    {"record_event", [](StreamView s, Good&) { static_cast<void>(s.record_event()); }},
    {"record_event of an event", [](StreamView s, Good& g) { s.record_event(g.event); }},
    {"Event::record", [](StreamView s, Good& g) { g.event.record(s); }},
    {"wait_event", [](StreamView s, Good& g) { s.wait_event(g.event); }},
    {"wait_stream", [](StreamView s, Good& g) { s.wait_stream(g.stream); }},
    {"being waited for", [](StreamView s, Good& g) { g.stream.wait_stream(s); }},
    {"launch_host_func", [](StreamView s, Good&) { s.launch_host_func([] {}); }},
    {"copy to the device", [](StreamView s, Good& g) { s.copy(g.buffer, std::as_const(g.host)); }},
    {"copy to the host", [](StreamView s, Good& g) { s.copy(g.host, g.buffer); }},
    {"copy on the device", [](StreamView s, Good& g) { s.copy(g.buffer.sub(0, 128), g.buffer.sub(128, 128)); }},
    {"copy_2d to the device", [](StreamView s, Good& g) { s.copy_2d(g.buffer, 16, std::as_const(g.host), 16, 8, 8); }},
    {"copy_2d to the host", [](StreamView s, Good& g) { s.copy_2d(g.host, 16, g.buffer, 16, 8, 8); }},
    {"copy_2d on the device",
     [](StreamView s, Good& g) { s.copy_2d(g.buffer.sub(0, 128), 16, g.buffer.sub(128), 16, 8, 8); }},
    {"memset8", [](StreamView s, Good& g) { s.memset8(g.buffer, 1); }},
    {"memset16", [](StreamView s, Good& g) { s.memset16(g.buffer, 1); }},
    {"memset32", [](StreamView s, Good& g) { s.memset32(g.buffer, 1); }},
    {"set_current_stream", [](StreamView s, Good&) { set_current_stream(s); }},
    {"making a buffer", [](StreamView s, Good&) { static_cast<void>(Buffer(s, 16)); }},
    {"record_stream", [](StreamView s, Good& g) { g.buffer.record_stream(s); }},
};

ANYPLACE_CASES(stream_calls, "handles", "streams.handles", "{} with a null stream is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(StreamView(), good));
  CHECK_BYTES(read(good.stream, good.buffer), Bytes(256, 1));
}

ANYPLACE_CASES(stream_calls, "handles", "streams.handles", "{} with a destroyed stream is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(destroyed_stream(good.device), good));
  CHECK_BYTES(read(good.stream, good.buffer), Bytes(256, 1));
}

// ---- Events

struct EventCall {
  std::string label;
  std::function<void(EventView bad, Good& good)> call;
};

const std::vector<EventCall> event_calls = {
    {"device", [](EventView e, Good&) { static_cast<void>(e.device()); }},
    {"record", [](EventView e, Good& g) { e.record(g.stream); }},
    {"query", [](EventView e, Good&) { static_cast<void>(e.query()); }},
    {"synchronize", [](EventView e, Good&) { e.synchronize(); }},
    {"synchronize with a timeout",
     [](EventView e, Good&) { static_cast<void>(e.synchronize(std::chrono::seconds(1))); }},
    {"native_handle", [](EventView e, Good&) { static_cast<void>(e.native_handle()); }},
    {"Stream::record_event", [](EventView e, Good& g) { g.stream.record_event(e); }},
    {"Stream::wait_event", [](EventView e, Good& g) { g.stream.wait_event(e); }},
    {"elapsed_time from", [](EventView e, Good& g) { static_cast<void>(elapsed_time(e, g.event)); }},
    {"elapsed_time to", [](EventView e, Good& g) { static_cast<void>(elapsed_time(g.event, e)); }},
};

ANYPLACE_CASES(event_calls, "handles", "streams.handles", "{} with a null event is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(EventView(), good));
  CALL(good.stream.synchronize());
}

ANYPLACE_CASES(event_calls, "handles", "streams.handles", "{} with a destroyed event is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(destroyed_event(good.device), good));
  CALL(good.stream.synchronize());
}

// ---- Buffers

struct BufferCall {
  std::string label;
  std::function<void(BufferView bad, Good& good)> call;
};

const std::vector<BufferCall> buffer_calls = {
    {"device", [](BufferView b, Good&) { static_cast<void>(b.device()); }},
    {"address", [](BufferView b, Good&) { static_cast<void>(b.address()); }},
    {"sub", [](BufferView b, Good&) { static_cast<void>(b.sub(0, 16)); }},
    {"record_stream", [](BufferView b, Good& g) { b.record_stream(g.stream); }},
    {"copy to it from the host", [](BufferView b, Good& g) { g.stream.copy(b, std::as_const(g.host)); }},
    {"copy from it to the host", [](BufferView b, Good& g) { g.stream.copy(g.host, b); }},
    {"copy to it on the device", [](BufferView b, Good& g) { g.stream.copy(b, g.buffer); }},
    {"copy from it on the device", [](BufferView b, Good& g) { g.stream.copy(g.buffer, b); }},
    {"copy_2d to it from the host",
     [](BufferView b, Good& g) { g.stream.copy_2d(b, 16, std::as_const(g.host), 16, 8, 8); }},
    {"copy_2d from it to the host", [](BufferView b, Good& g) { g.stream.copy_2d(g.host, 16, b, 16, 8, 8); }},
    {"copy_2d to it on the device", [](BufferView b, Good& g) { g.stream.copy_2d(b, 16, g.buffer, 16, 8, 8); }},
    {"copy_2d from it on the device", [](BufferView b, Good& g) { g.stream.copy_2d(g.buffer, 16, b, 16, 8, 8); }},
    {"memset8", [](BufferView b, Good& g) { g.stream.memset8(b, 2); }},
    {"memset16", [](BufferView b, Good& g) { g.stream.memset16(b, 2); }},
    {"memset32", [](BufferView b, Good& g) { g.stream.memset32(b, 2); }},
};

ANYPLACE_CASES(buffer_calls, "handles", "streams.handles", "{} with a destroyed buffer is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(destroyed_buffer(good.stream), good));
  CHECK_BYTES(read(good.stream, good.buffer), Bytes(256, 1));
}

ANYPLACE_CASES(buffer_calls, "handles", "streams.handles", "{} with a null buffer of some bytes is invalid_handle") {
  Good good(run);
  CHECK_ERROR(invalid_handle, parameter.call(BufferView(0, 0, 256), good));
  CHECK_BYTES(read(good.stream, good.buffer), Bytes(256, 1));
}

struct ForeignCall {
  std::string label;
  std::function<void(Good& here, Good& there)> call;
};

/// `there` is on another device.
const std::vector<ForeignCall> foreign_calls = {
    {"record an event", [](Good& h, Good& t) { h.event.record(t.stream); }},
    {"record_event of an event", [](Good& h, Good& t) { h.stream.record_event(t.event); }},
    {"memset8", [](Good& h, Good& t) { h.stream.memset8(t.buffer, 2); }},
    {"memset16", [](Good& h, Good& t) { h.stream.memset16(t.buffer, 2); }},
    {"memset32", [](Good& h, Good& t) { h.stream.memset32(t.buffer, 2); }},
    {"copy to the device", [](Good& h, Good& t) { h.stream.copy(t.buffer, std::as_const(h.host)); }},
    {"copy to the host", [](Good& h, Good& t) { h.stream.copy(h.host, t.buffer); }},
    {"copy_2d to the device",
     [](Good& h, Good& t) { h.stream.copy_2d(t.buffer, 16, std::as_const(h.host), 16, 8, 8); }},
    {"copy_2d to the host", [](Good& h, Good& t) { h.stream.copy_2d(h.host, 16, t.buffer, 16, 8, 8); }},
    {"a copy with neither side on the stream's device",
     [](Good& h, Good& t) { h.stream.copy(t.buffer.sub(0, 128), t.buffer.sub(128, 128)); }},
};

/// Handles of the second device, which are made on this thread after those of the first.
struct SecondDevice : Good {
  explicit SecondDevice(const Run& run) : Good(Run(run.second().to_string(), "", "", "", run.device_count(), 1)) {}
};

ANYPLACE_CASES(foreign_calls, "handles", "streams.handles", "{} with another device's handle is invalid_argument",
               second_device) {
  Good here(run);
  SecondDevice there(run);
  const Error error = CHECK_ERROR(invalid_argument, parameter.call(here, there));
  const std::string text = error.what();
  CHECK(text.find(here.device.to_string()) != std::string::npos);
  CHECK(text.find(there.device.to_string()) != std::string::npos);
  CHECK_BYTES(read(there.stream, there.buffer), Bytes(256, 1));
}

ANYPLACE_CASE("handles", "streams.handles", "an event of another backend can't be recorded here", other_backend) {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.other()));
  CHECK_ERROR(invalid_argument, event.record(stream));
}

ANYPLACE_CASE("handles", "streams.handles", "a buffer of another backend can't be filled here", other_backend) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(run.other(), 16));
  CHECK_ERROR(invalid_argument, stream.memset8(buffer, 1));
}

ANYPLACE_CASE("handles", "streams.handles",
              "a stream's handle isn't taken for an event, an event's for a stream, nor either for a buffer") {
  const Stream stream = CALL(Stream(run.device()));
  const Event event = CALL(Event(run.device()));
  CHECK_ERROR(invalid_handle, StreamView(~std::uint64_t{0}).query());
  CHECK_ERROR(invalid_handle, EventView(~std::uint64_t{0}).query());
  CHECK_ERROR(invalid_handle, BufferView(~std::uint64_t{0}, 0, 1).address());
}

ANYPLACE_CASE("handles", "streams.handles", "a destroyed handle stays invalid when others were made since") {
  const Device device = run.device();
  const StreamView stream = destroyed_stream(device);
  const EventView event = destroyed_event(device);
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(CALL(Stream(device)));
    events.push_back(CALL(Event(device)));
    CHECK_ERROR(invalid_handle, stream.query());
    CHECK_ERROR(invalid_handle, event.query());
  }
}

ANYPLACE_CASE("handles", "streams.handles", "an empty owner is a null handle") {
  const Stream stream;
  const Event event;
  const Buffer buffer;
  CHECK(!stream);
  CHECK(!event);
  CHECK(!buffer);
  CHECK_ERROR(invalid_handle, stream.query());
  CHECK_ERROR(invalid_handle, event.query());
}

ANYPLACE_CASE("handles", "streams.handles", "using a handle while another thread destroys it is an error or works") {
  const Device device = run.device();
  for (int round = 0; round < 50; ++round) {
    auto stream = std::make_unique<Stream>(device);
    const StreamView view = *stream;
    run_threads(3, [&](int thread) {
      if (thread == 0) {
        stream.reset();
        return;
      }
      try {
        for (int i = 0; i < 20; ++i) {
          static_cast<void>(CALL(view.query()));
          static_cast<void>(CALL(view.record_event()));
        }
      } catch (const Error& error) {
        CHECK_EQUAL(error.code(), ErrorCode::invalid_handle);
      }
    });
  }
}

}  // namespace
}  // namespace anyplace::conformance::handles_cases
