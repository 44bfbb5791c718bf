// SPDX-License-Identifier: Apache-2.0
//
// Buffers are freed in stream order: work that still uses the memory finds it unchanged, and nobody else gets the
// memory meanwhile.
//
// The cases hold a stream back, leave a fill of a buffer pending behind the gate, destroy the buffer, and then make and
// fill others. If the memory was handed out early, the pending fill writes into one of those when it runs.
#include <memory>

#include "support.h"

namespace anyplace::conformance::memory_ordered_cases {
namespace {

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {{"4 KiB", 4096}, {"64 KiB", 65536}, {"1 MiB", 1 << 20}, {"8 MiB", 8 << 20}};

/// Makes `count` buffers that contain 0x55, on a stream that nothing holds back.
std::vector<Buffer> others(const Stream& free, std::uint64_t bytes, int count) {
  std::vector<Buffer> made;
  for (int i = 0; i < count; ++i) made.push_back(filled(free, bytes, 0x55));
  return made;
}

void check_untouched(const std::vector<Buffer>& buffers) {
  for (const Buffer& buffer : buffers)
    CHECK_BYTES(read(buffer), Bytes(static_cast<std::size_t>(buffer.size_bytes()), 0x55));
}

ANYPLACE_CASES(sizes, "memory", "memory.ordered", "{} freed with a fill pending are handed to nobody before it ran",
               Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  Buffer buffer = filled(held, parameter.bytes, 1);
  const Buffer witness = filled(held, parameter.bytes, 0);
  gate.hold(held);
  CALL(held.memset8(buffer, 0xaa));
  CALL(held.copy(witness, buffer));
  buffer = Buffer();
  const std::vector<Buffer> made = others(free, parameter.bytes, 6);
  gate.open();
  CALL(held.synchronize());
  check_untouched(made);
  CHECK_BYTES(read(witness), Bytes(static_cast<std::size_t>(parameter.bytes), 0xaa));
}

ANYPLACE_CASES(sizes, "memory", "memory.ordered", "{} named with record_stream wait for the second stream's work",
               Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream home = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  Buffer buffer = filled(home, parameter.bytes, 1);
  const Buffer witness = filled(second, parameter.bytes, 0);
  gate.hold(second);
  CALL(buffer.record_stream(second));
  CALL(second.memset8(buffer, 0xaa));
  CALL(second.copy(witness, buffer));
  buffer = Buffer();
  std::vector<Buffer> made = others(free, parameter.bytes, 3);
  for (Buffer& one : others(home, parameter.bytes, 3)) made.push_back(std::move(one));
  gate.open();
  CALL(second.synchronize());
  check_untouched(made);
  CHECK_BYTES(read(witness), Bytes(static_cast<std::size_t>(parameter.bytes), 0xaa));
}

ANYPLACE_CASE("memory", "memory.ordered", "several streams may be named with record_stream",
              Capability::host_functions) {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 1 << 20;
  for (std::size_t held = 0; held < 3; ++held) {
    HostGate gate;
    const Stream home = CALL(Stream(device));
    const Stream free = CALL(Stream(device));
    std::vector<Stream> users;
    Buffer buffer = filled(home, bytes, 1);
    for (int i = 0; i < 3; ++i) {
      users.push_back(CALL(Stream(device)));
      CALL(buffer.record_stream(users.back()));
      CALL(buffer.record_stream(users.back()));
    }
    gate.hold(users[held]);
    CALL(users[held].memset8(buffer, 0xaa));
    buffer = Buffer();
    const std::vector<Buffer> made = others(free, bytes, 4);
    gate.open();
    CALL(users[held].synchronize());
    check_untouched(made);
  }
}

ANYPLACE_CASE("memory", "memory.ordered", "record_stream counts up to the free, also for work submitted after it",
              Capability::host_functions) {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 1 << 20;
  HostGate gate;
  const Stream home = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  Buffer buffer = filled(home, bytes, 1);
  CALL(buffer.record_stream(second));
  CALL(second.memset8(buffer, 2));
  CALL(second.synchronize());
  gate.hold(second);
  CALL(second.memset8(buffer, 0xaa));
  buffer = Buffer();
  const std::vector<Buffer> made = others(free, bytes, 4);
  gate.open();
  CALL(second.synchronize());
  check_untouched(made);
}

ANYPLACE_CASE("memory", "memory.ordered", "a stream of another device may be named with record_stream",
              Capability::host_functions, second_device) {
  constexpr std::uint64_t bytes = 1 << 20;
  HostGate gate;
  const Stream home = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.second()));
  Buffer buffer = filled(home, bytes, 7);
  const Buffer witness = filled(far, bytes, 0);
  CALL(buffer.record_stream(far));
  if (!run.device().has(Capability::peer_copy)) skip(to_string(Capability::peer_copy));
  gate.hold(far);
  CALL(far.copy(witness, buffer));
  buffer = Buffer();
  const std::vector<Buffer> made = others(home, bytes, 4);
  gate.open();
  CALL(far.synchronize());
  check_untouched(made);
  CHECK_BYTES(read(witness), Bytes(bytes, 7));
}

ANYPLACE_CASE("memory", "memory.ordered", "a buffer frees itself after its stream was destroyed",
              Capability::host_functions) {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 1 << 20;
  HostGate gate;
  const Stream free = CALL(Stream(device));
  Stream home = CALL(Stream(device));
  Buffer buffer = filled(home, bytes, 1);
  gate.hold(home);
  CALL(home.memset8(buffer, 0xaa));
  const Event done = CALL(home.record_event());
  home = Stream();
  buffer = Buffer();
  const std::vector<Buffer> made = others(free, bytes, 4);
  gate.open();
  CALL(done.synchronize());
  CALL(device.synchronize());
  check_untouched(made);
}

ANYPLACE_CASE("memory", "memory.ordered", "destroying a buffer with work pending doesn't wait",
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream held = CALL(Stream(device));
  gate.hold(held);
  gate.wait_until_held();
  for (int i = 0; i < 50; ++i) {
    const Buffer buffer = CALL(Buffer(held, 65536));
    CALL(held.memset8(buffer, 1));
  }
  CHECK(!held.query());
  gate.open();
  CALL(held.synchronize());
}

ANYPLACE_CASE("memory", "memory.ordered", "freed memory comes back, again and again") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  const std::uint64_t bytes = info.free ? *info.free / 6 : 64 << 20;
  const Stream stream = CALL(Stream(device));
  for (int i = 0; i < 60; ++i) {
    const Buffer buffer = CALL(Buffer(stream, bytes));
    CALL(stream.memset8(buffer.sub(0, 4096), 1));
  }
  CALL(stream.synchronize());
}

ANYPLACE_CASE("memory", "memory.ordered", "memory freed by destroyed streams comes back") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  const std::uint64_t bytes = info.free ? *info.free / 6 : 64 << 20;
  for (int i = 0; i < 40; ++i) {
    Stream stream = CALL(Stream(device));
    const Buffer buffer = CALL(Buffer(stream, bytes));
    CALL(stream.memset8(buffer.sub(0, 4096), 1));
    stream = Stream();
  }
  CALL(device.synchronize());
}

ANYPLACE_CASE("memory", "memory.ordered", "memory used by several streams comes back") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  const std::uint64_t bytes = info.free ? *info.free / 6 : 64 << 20;
  const Stream home = CALL(Stream(device));
  const Stream second = CALL(Stream(device));
  for (int i = 0; i < 40; ++i) {
    const Buffer buffer = CALL(Buffer(home, bytes));
    CALL(buffer.record_stream(second));
    CALL(second.wait_stream(home));
    CALL(second.memset8(buffer.sub(0, 4096), 1));
  }
  CALL(device.synchronize());
}

ANYPLACE_CASE("memory", "memory.ordered", "temporaries of one stream follow each other without mixing") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t bytes = 1 << 20;
  const Buffer results = filled(stream, 32 * bytes, 0);
  for (std::uint64_t i = 0; i < 32; ++i) {
    const Buffer temporary = CALL(Buffer(stream, bytes));
    CALL(stream.memset8(temporary, static_cast<std::uint8_t>(i + 1)));
    CALL(stream.copy(results.sub(i * bytes, bytes), temporary));
  }
  const Bytes got = read(stream, results);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != i / bytes + 1) check_failed(__FILE__, __LINE__, "a temporary's memory was another's too");
  }
}

ANYPLACE_CASE("memory", "memory.ordered", "moving a buffer moves the memory and frees what was there before") {
  const Stream stream = CALL(Stream(run.device()));
  Buffer first = filled(stream, 4096, 1);
  Buffer second = filled(stream, 4096, 2);
  const BufferView old = second;
  second = std::move(first);
  CHECK(!first);  // NOLINT(bugprone-use-after-move): what is left is the point
  CHECK_BYTES(read(second), Bytes(4096, 1));
  CHECK_ERROR(invalid_handle, old.address());
}

ANYPLACE_CASE("memory", "memory.ordered", "managed memory is freed in order too", Capability::managed_memory,
              Capability::host_functions) {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 1 << 20;
  HostGate gate;
  const Stream held = CALL(Stream(device));
  const Stream free = CALL(Stream(device));
  Buffer buffer = CALL(Buffer(held, bytes, {.kind = MemoryKind::managed}));
  CALL(held.synchronize());
  gate.hold(held);
  CALL(held.memset8(buffer, 0xaa));
  buffer = Buffer();
  std::vector<Buffer> made;
  for (int i = 0; i < 4; ++i) {
    made.push_back(CALL(Buffer(free, bytes, {.kind = MemoryKind::managed})));
    CALL(free.memset8(made.back(), 0x55));
    CALL(free.synchronize());
  }
  gate.open();
  CALL(held.synchronize());
  check_untouched(made);
}

}  // namespace
}  // namespace anyplace::conformance::memory_ordered_cases
