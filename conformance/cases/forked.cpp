// SPDX-License-Identifier: Apache-2.0
// A process that forked after the backend was initialised: every call in the child is `forked`, and destructors are
// silent.
#include <functional>
#include <memory>

#include "support.h"

namespace anyplace::conformance::forked_cases {
namespace {

/// The objects that a process has before it forks.
struct Things {
  explicit Things(const Run& run)
      : device(run.device()),
        stream(CALL(Stream(device))),
        other(CALL(Stream(device))),
        event(CALL(Event(device))),
        buffer(filled(stream, 4096, 3)) {}

  Device device;
  Stream stream;
  Stream other;
  Event event;
  Buffer buffer;
  Bytes memory = Bytes(4096);
};

struct ForkedCall {
  std::string label;
  std::function<void(Things&)> call;
};

const std::vector<ForkedCall> forked_calls = {
    {"making a device", [](Things& t) { static_cast<void>(Device(t.device.to_string())); }},
    {"counting devices", [](Things& t) { static_cast<void>(device_count(t.device.backend())); }},
    {"synchronising a device", [](Things& t) { t.device.synchronize(); }},
    {"asking a device for its memory", [](Things& t) { static_cast<void>(t.device.memory_info()); }},
    {"the default stream", [](Things& t) { static_cast<void>(t.device.default_stream()); }},
    {"making a stream", [](Things& t) { static_cast<void>(Stream(t.device)); }},
    {"querying a stream", [](Things& t) { static_cast<void>(t.stream.query()); }},
    {"synchronising a stream", [](Things& t) { t.stream.synchronize(); }},
    {"synchronising a stream with a timeout",
     [](Things& t) { static_cast<void>(t.stream.synchronize(std::chrono::seconds(1))); }},
    {"waiting for a stream", [](Things& t) { t.stream.wait_stream(t.other); }},
    {"waiting for an event", [](Things& t) { t.stream.wait_event(t.event); }},
    {"making an event", [](Things& t) { static_cast<void>(Event(t.device)); }},
    {"recording an event", [](Things& t) { t.event.record(t.stream); }},
    {"querying an event", [](Things& t) { static_cast<void>(t.event.query()); }},
    {"synchronising an event", [](Things& t) { t.event.synchronize(); }},
    {"making a buffer", [](Things& t) { static_cast<void>(Buffer(t.stream, 16)); }},
    {"a copy to the device", [](Things& t) { t.stream.copy(t.buffer, t.memory); }},
    {"a copy to the host", [](Things& t) { t.stream.copy(t.memory, t.buffer); }},
    {"a fill", [](Things& t) { t.stream.memset8(t.buffer, 1); }},
    {"a host function", [](Things& t) { t.stream.launch_host_func([] {}); }},
    {"the current stream", [](Things& t) { static_cast<void>(current_stream(t.device)); }},
};

ANYPLACE_CASES(forked_calls, "forked", "devices.fork", "{} is forked in the child, and the parent works on") {
  Things things(run);
  CHECK_FORKED(CHECK_ERROR(forked, parameter.call(things)));
  CALL(things.stream.memset8(things.buffer, 4));
  CHECK_BYTES(read(things.stream, things.buffer), Bytes(4096, 4));
}

ANYPLACE_CASE("forked", "devices.fork", "destructors in the child do nothing and say nothing") {
  auto things = std::make_unique<Things>(run);
  bool said = false;
  set_error_handler([&](const Error&) { said = true; });
  CHECK_FORKED({
    things.reset();
    CHECK(!said);
  });
  CALL(things->stream.memset8(things->buffer, 4));
  CHECK_BYTES(read(things->stream, things->buffer), Bytes(4096, 4));
}

ANYPLACE_CASE("forked", "devices.fork", "a child that exits runs its exit handlers without hanging") {
  const Things things(run);
  CALL(things.stream.memset8(things.buffer, 4));
  CHECK_FORKED(std::exit(0));
  CALL(things.stream.synchronize());
}

ANYPLACE_CASE("forked", "devices.fork", "a fork while work is pending disturbs neither process",
              Capability::host_functions) {
  HostGate gate;
  const Things things(run);
  gate.hold(things.stream);
  CALL(things.stream.memset8(things.buffer, 4));
  CHECK_FORKED(CHECK_ERROR(forked, things.stream.synchronize()));
  gate.open();
  CHECK_BYTES(read(things.stream, things.buffer), Bytes(4096, 4));
}

ANYPLACE_CASE("forked", "devices.fork", "a place is still parsed in the child") {
  const Things things(run);
  CHECK_FORKED(CHECK_EQUAL(Place("acme:3").to_string(), std::string("acme:3")));
}

ANYPLACE_CASE("forked", "devices.fork", "a process that forks before the first use has nothing to fear") {
  CHECK_EQUAL(Place(run.place()).to_string(), run.place());
  CHECK_FORKED({
    const Stream stream{Device(run.place())};
    CHECK_BYTES(read(stream, filled(stream, 4096, 5)), Bytes(4096, 5));
  });
  const Stream stream = CALL(Stream(run.device()));
  CHECK_BYTES(read(stream, filled(stream, 4096, 6)), Bytes(4096, 6));
}

}  // namespace
}  // namespace anyplace::conformance::forked_cases
