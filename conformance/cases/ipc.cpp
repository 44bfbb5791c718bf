// SPDX-License-Identifier: Apache-2.0
// Sharing buffers and events between processes. The second process is forked before the backend is used, so that each
// process initialises it for itself.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "second_process.h"
#include "support.h"

namespace anyplace::conformance::ipc_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 20;

/// The objects that each of the two processes makes for itself.
struct Side {
  explicit Side(const Run& run) : device(run.place()), stream(device) {}

  /// A filled buffer that can be shared.
  Buffer shareable(std::uint8_t value) const {
    Buffer buffer = CALL(Buffer(stream, bytes, {.shareable = true}));
    CALL(stream.memset8(buffer, value));
    CALL(stream.synchronize());
    return buffer;
  }
  /// Closes imported memory that nothing in this process uses any more.
  void close_others() const {
    CALL(stream.synchronize());
    CALL(ipc_collect(device));
  }

  Device device;
  Stream stream;
};

// ---- Memory

ANYPLACE_CASE("ipc", "ipc.memory", "memory of another process: both see what either writes",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Buffer theirs = CALL(Buffer::import(side.stream, talk.receive()));
    CHECK(theirs.size_bytes() == bytes);
    CHECK_BYTES(read(side.stream, theirs), Bytes(bytes, 5));
    CALL(side.stream.memset8(theirs, 6));
    CALL(side.stream.synchronize());
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  const Buffer buffer = side.shareable(5);
  second.talk().send(CALL(buffer.export_handle()));
  second.talk().hear();
  CHECK_BYTES(read(side.stream, buffer), Bytes(bytes, 6));
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.memory",
              "a part of a buffer is that part in the other process, and the same memory when it is opened twice",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const std::vector<std::byte> handle = talk.receive();
    const Buffer part = CALL(Buffer::import(side.stream, handle));
    const Buffer again = CALL(Buffer::import(side.stream, handle));
    CHECK(part.address() == again.address());
    CALL(side.stream.memset8(part, 9));
    CHECK_BYTES(read(side.stream, again), Bytes(1000, 9));
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  const Buffer buffer = side.shareable(1);
  second.talk().send(CALL(buffer.sub(512, 1000).export_handle()));
  second.talk().hear();
  Bytes expected(bytes, 1);
  std::fill_n(expected.begin() + 512, 1000, std::uint8_t{9});
  CHECK_BYTES(read(side.stream, buffer), expected);
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.memory",
              "a buffer that is freed while another process has it open is kept until it is closed",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    {
      const Buffer theirs = CALL(Buffer::import(side.stream, talk.receive()));
      talk.tell();
      talk.hear();
      CHECK_BYTES(read(side.stream, theirs), Bytes(bytes, 7));
    }
    side.close_others();
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  {
    const Buffer buffer = side.shareable(7);
    second.talk().send(CALL(buffer.export_handle()));
    second.talk().hear();
  }
  CHECK_EQUAL(CALL(ipc_collect(side.device)), bytes);
  const Buffer others = side.shareable(8);
  second.talk().tell();
  second.talk().hear();
  CHECK_EQUAL(CALL(ipc_collect(side.device)), std::uint64_t{0});
  second.talk().tell();
  second.must_end_well();
}

/// The handle of a buffer that wasn't made to be shared; empty if exporting it is refused with advice.
std::vector<std::byte> handle_if_shared(const Buffer& buffer) {
  try {
    return buffer.export_handle();
  } catch (const Error& refused) {
    CHECK(refused.code() == ErrorCode::unsupported);
    CHECK(std::string(refused.what()).find("shareable") != std::string::npos);
    return {};
  }
}

struct Sized {
  std::string label;
  std::uint64_t bytes;
};
const std::vector<Sized> unasked = {{"beside another one in a page", 2000}, {"in several pages", 5 * bytes + 1000}};

ANYPLACE_CASES(unasked, "ipc", "ipc.memory",
               "a buffer that wasn't made to be shared, {}, is shared whole, or refused with advice",
               Capability::interprocess_memory) {
  set_variable("ANYPLACE_ALLOCATOR", "caching:true");  // the buffer's memory is then the allocator's
  const std::uint64_t size = parameter.bytes;
  constexpr std::uint64_t end = 100;
  Second second([&](const Talk& talk) {
    const Side side(run);
    const std::vector<std::byte> handle = talk.receive();
    if (handle.empty()) return;
    const Buffer theirs = CALL(Buffer::import(side.stream, handle));
    CHECK(theirs.size_bytes() == size);
    CHECK_BYTES(read(side.stream, theirs.sub(0, size - end)), Bytes(size - end, 3));
    CHECK_BYTES(read(side.stream, theirs.sub(size - end, end)), Bytes(end, 4));
    CALL(side.stream.memset8(theirs.sub(size - end, end), 5));
    CALL(side.stream.synchronize());
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  const Buffer before = CALL(Buffer(side.stream, 1000));
  const Buffer buffer = CALL(Buffer(side.stream, size));
  CALL(side.stream.memset8(before, 9));
  CALL(side.stream.memset8(buffer, 3));
  CALL(side.stream.memset8(buffer.sub(size - end, end), 4));
  CALL(side.stream.synchronize());
  const std::vector<std::byte> handle = handle_if_shared(buffer);
  second.talk().send(handle);
  if (!handle.empty()) {
    second.talk().hear();
    CHECK_BYTES(read(side.stream, buffer.sub(size - end, end)), Bytes(end, 5));
    second.talk().tell();
  }
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.memory", "memory that another process closed can be opened again",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const std::vector<std::byte> handle = talk.receive();
    for (int i = 0; i < 3; ++i) {
      {
        const Buffer theirs = CALL(Buffer::import(side.stream, handle));
        CHECK_BYTES(read(side.stream, theirs.sub(0, 100)), Bytes(100, 2));
      }
      side.close_others();
    }
    talk.tell();
    talk.hear();
  });
  const Side side(run);
  const Buffer buffer = side.shareable(2);
  second.talk().send(CALL(buffer.export_handle()));
  second.talk().hear();
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.handles", "a buffer's handle that is changed, cut short, or of a freed buffer is refused",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    std::vector<std::byte> handle = talk.receive();
    for (std::size_t at = 0; at < handle.size(); at += 7) {
      handle[at] ^= std::byte{16};
      CHECK_ERROR(invalid_argument, Buffer::import(side.device, handle));
      handle[at] ^= std::byte{16};
    }
    CHECK_ERROR(invalid_argument, Buffer::import(side.device, std::span(handle).first(handle.size() - 1)));
    if (side.device.has(Capability::interprocess_events)) {
      CHECK_ERROR(invalid_argument, Event::import(side.device, handle));
    }
    talk.tell();
    talk.hear();
    CHECK_ERROR(invalid_handle, Buffer::import(side.device, handle));
  });
  const Side side(run);
  {
    const Buffer buffer = CALL(Buffer(side.stream, bytes, {.shareable = true}));
    const std::vector<std::byte> handle = CALL(buffer.export_handle());
    CHECK_ERROR(invalid_argument, Buffer::import(side.device, handle));  // it is a handle of this process
    second.talk().send(handle);
    second.talk().hear();
  }
  second.talk().tell();
  second.must_end_well();
  CHECK_ERROR(invalid_argument, Buffer().export_handle());
}

// ---- Events

ANYPLACE_CASE("ipc", "ipc.events", "another process's pending record is waited for, by hosts and by streams",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event event = CALL(Event(side.device, {.interprocess = true}));
    HostGate gate;
    gate.hold(side.stream);
    CALL(side.stream.record_event(event));
    talk.send(CALL(event.export_handle()));
    talk.hear();
    gate.open();
    CALL(side.stream.synchronize());
    talk.hear();
  });
  const Side side(run);
  const Event event = CALL(Event::import(side.device, second.talk().receive()));
  CALL(side.stream.wait_event(event));
  CHECK_STAYS_FALSE(event.query());
  CHECK(!side.stream.query());
  second.talk().tell();
  CALL(event.synchronize());
  CALL(side.stream.synchronize());
  CHECK(event.query());
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.events", "another process's event is recorded here, and that process waits for it",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event event = CALL(Event::import(side.device, talk.receive()));
    CHECK(event.query());  // it was never recorded
    HostGate gate;
    gate.hold(side.stream);
    CALL(side.stream.record_event(event));
    talk.tell();
    talk.hear();
    gate.open();
    CALL(side.stream.synchronize());
    talk.hear();
  });
  const Side side(run);
  const Event event = CALL(Event(side.device, {.interprocess = true}));
  second.talk().send(CALL(event.export_handle()));
  second.talk().hear();
  CALL(side.stream.wait_event(event));
  CHECK_STAYS_FALSE(side.stream.query());
  second.talk().tell();
  CALL(side.stream.synchronize());
  CHECK(event.query());
  second.talk().tell();
  second.must_end_well();
}

/// Runs in a process with a record that never completes, and memory; it sends the handles of both. The process ends by
/// being killed.
void record_and_hold(const Run& run, const Talk& talk) {
  const Side side(run);
  const Buffer buffer = side.shareable(3);
  talk.send(CALL(buffer.export_handle()));
  const Event event = CALL(Event(side.device, {.interprocess = true}));
  HostGate gate;
  gate.hold(side.stream);
  CALL(side.stream.record_event(event));
  talk.send(CALL(event.export_handle()));
  talk.hear();
}

enum class End : std::uint8_t { none, complete, gone };

/// The outcome of a wait with that limit: complete, as the vendor may report it, or peer_gone. Of a device in virtual
/// time the limit may be over at once, while another process ends in real time: so there are several waits.
End end_within(std::chrono::nanoseconds limit, const std::function<bool(std::chrono::nanoseconds)>& wait) {
  const auto end = std::chrono::steady_clock::now() + limit;
  try {
    do {
      if (wait(limit)) return End::complete;
    } while (std::chrono::steady_clock::now() < end);
    return End::none;
  } catch (const Error& error) {
    CHECK_EQUAL(error.code(), ErrorCode::peer_gone);
    return End::gone;
  }
}

/// If the vendor reports that a process ended, it reports it to every waiter, and to nobody else.
void check_all_are_told(const Side& side, const Event& event) {
  CHECK_ERROR(peer_gone, event.query());
  CHECK_ERROR(peer_gone, event.synchronize());
  const Stream late = CALL(Stream(side.device));
  CALL(late.wait_event(event));
  CHECK_ERROR(peer_gone, late.synchronize());
  CALL(late.synchronize());
  CALL(side.stream.synchronize());
  // The event was recorded again, by this process.
  CALL(late.record_event(event));
  CALL(event.synchronize());
  CHECK(event.query());
  CALL(side.stream.wait_event(event));
  CALL(side.stream.synchronize());
}

ANYPLACE_CASE("ipc", "ipc.events",
              "waits for the pending record of a process that is killed end, and the stream goes on",
              Capability::interprocess_events, Capability::interprocess_memory, Capability::host_functions) {
  const auto hold = [&](const Talk& talk) { record_and_hold(run, talk); };
  Second first(hold), second(hold);
  const Side side(run);
  const auto wait_for = [](const auto& what) {
    return [&what](std::chrono::nanoseconds limit) { return what.synchronize(limit); };
  };
  static_cast<void>(CALL(Buffer::import(side.stream, first.talk().receive())));
  const Event told = CALL(Event::import(side.device, first.talk().receive()));
  first.kill_now();
  // The promise is a second, for backends whose vendor can tell, on a machine that isn't busy.
  const End end = end_within(std::chrono::seconds(10), wait_for(told));
  if (end == End::none) skip("word of the end of another process");

  const Buffer theirs = CALL(Buffer::import(side.stream, second.talk().receive()));
  const Event event = CALL(Event::import(side.device, second.talk().receive()));
  const Stream waiter = CALL(Stream(side.device));
  CALL(waiter.wait_event(event));
  CHECK_STAYS_FALSE(event.query());
  CHECK(!waiter.query());
  second.kill_now();
  step(__FILE__, __LINE__, "waiting for what the killed process recorded");
  const End of_event = end_within(std::chrono::minutes(1), wait_for(event));
  step(__FILE__, __LINE__, "the stream that waits for what the killed process recorded");
  const End of_stream = end_within(std::chrono::minutes(1), wait_for(waiter));
  CHECK(of_event != End::none && of_stream != End::none);
  // Open memory remains and can be used.
  CHECK_BYTES(read(waiter, theirs), Bytes(bytes, 3));
  CALL(waiter.memset8(theirs, 4));
  CHECK_BYTES(read(waiter, theirs), Bytes(bytes, 4));
  if (end != End::gone) return;
  CHECK(of_event == End::gone);
  CHECK(of_stream == End::gone);
  check_all_are_told(side, event);
}

ANYPLACE_CASE("ipc", "ipc.events", "a record that one process saw complete is complete for the other one at once",
              Capability::interprocess_events) {
  constexpr int rounds = 20;
  Second second([&](const Talk& talk) {
    const Side side(run);
    const Event event = CALL(Event::import(side.device, talk.receive()));
    for (int i = 0; i < rounds; ++i) {
      talk.hear();
      CHECK(event.query());
      talk.tell();
    }
  });
  const Side side(run);
  const Buffer buffer = CALL(Buffer(side.stream, bytes));
  const Event event = CALL(Event(side.device, {.interprocess = true}));
  second.talk().send(CALL(event.export_handle()));
  for (int i = 0; i < rounds; ++i) {
    CALL(side.stream.memset8(buffer, static_cast<std::uint8_t>(i)));
    CALL(side.stream.record_event(event));
    CALL(event.synchronize());
    second.talk().tell();
    second.talk().hear();
  }
  second.must_end_well();
}

ANYPLACE_CASE("ipc", "ipc.handles", "an event that isn't interprocess can't be exported, nor one that has timing",
              Capability::interprocess_events) {
  const Device device = run.device();
  const Event plain = CALL(Event(device));
  CHECK_ERROR(invalid_argument, plain.export_handle());
  if (device.has(Capability::timed_events)) {
    const Event timed = CALL(Event(device, {.timing = true}));
    CHECK_ERROR(invalid_argument, timed.export_handle());
  }
  const Event event = CALL(Event(device, {.interprocess = true}));
  CHECK_ERROR(invalid_argument, Event::import(device, CALL(event.export_handle())));  // it is a handle of this process
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "interprocess_memory: claimed and works, or refused") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  if (!device.has(Capability::interprocess_memory)) {
    CHECK_ERROR(unsupported, Buffer(stream, 4096, {.shareable = true}));
    const Buffer buffer = CALL(Buffer(stream, 4096));
    CHECK_ERROR(unsupported, buffer.export_handle());
    return;
  }
  const Buffer buffer = CALL(Buffer(stream, 4096, {.shareable = true}));
  CALL(stream.memset8(buffer, 4));
  CHECK_BYTES(read(stream, buffer), Bytes(4096, 4));
  CHECK(CALL(buffer.export_handle()) == CALL(buffer.export_handle()));
}

}  // namespace
}  // namespace anyplace::conformance::ipc_cases
