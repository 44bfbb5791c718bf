// SPDX-License-Identifier: Apache-2.0
//
// Each capability: a device that claims it has to show that it works, one that doesn't has to refuse. Where the core
// replaces a missing capability, the effect has to be the same. The other cases check the capabilities in full.
#include <cstring>

#include "support.h"

namespace anyplace::conformance::capabilities_cases {
namespace {

ANYPLACE_CASE("capabilities", "devices.capabilities", "timed_events: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::timed_events)) {
    CHECK_ERROR(unsupported, Event(device, {.timing = true}));
    return;
  }
  const Stream stream = CALL(Stream(device));
  const Event start = CALL(stream.record_event({.timing = true}));
  const Event end = CALL(stream.record_event({.timing = true}));
  CALL(end.synchronize());
  CHECK(CALL(elapsed_time(start, end)) >= 0);
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "priorities: claimed with a range, or one priority for all") {
  const Device device = run.device();
  const PriorityRange range = device.priority_range();
  if (!device.has(Capability::priorities)) {
    CHECK_EQUAL(range.least, 0);
    CHECK_EQUAL(range.greatest, 0);
    CHECK_EQUAL(CALL(Stream(device, {.priority = -5})).priority(), 0);
    return;
  }
  CHECK(range.greatest < range.least);
  const Stream high = CALL(Stream(device, {.priority = range.greatest}));
  const Stream low = CALL(Stream(device, {.priority = range.least}));
  CHECK_EQUAL(CALL(high.priority()), range.greatest);
  CHECK_EQUAL(CALL(low.priority()), range.least);
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "blocking_streams: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::blocking_streams)) {
    CHECK_ERROR(unsupported, Stream(device, {.blocking = true}));
    return;
  }
  const Stream stream = CALL(Stream(device, {.blocking = true}));
  const Buffer buffer = filled(stream, 4096, 1);
  CALL(device.default_stream().memset8(buffer, 2));
  const Bytes got = read(stream, buffer);
  CHECK_BYTES(got, Bytes(4096, 2));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "host_functions: claimed and works, or refused") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  bool ran = false;
  if (!device.has(Capability::host_functions)) {
    CHECK_ERROR(unsupported, stream.launch_host_func([&] { ran = true; }));
    CALL(stream.synchronize());
    CHECK(!ran);
    return;
  }
  CALL(stream.launch_host_func([&] { ran = true; }));
  CALL(stream.synchronize());
  CHECK(ran);
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "gates: waits for another backend hold back, claimed or not",
              other_backend) {
  const Device device = run.device();
  const Device other = run.other();
  if (!other.has(Capability::host_functions)) skip("host functions of the other backend");
  HostGate gate;
  const Stream producer = CALL(Stream(other));
  const Stream consumer = CALL(Stream(device));
  const Buffer buffer = filled(consumer, 4096, 1);
  gate.hold(producer);
  CALL(consumer.wait_stream(producer));
  CALL(consumer.memset8(buffer, 2));
  CHECK_STAYS_FALSE(consumer.query());
  gate.open();
  CALL(consumer.synchronize());
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "pinned_memory: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::pinned_memory)) {
    CHECK_ERROR(unsupported, HostBuffer(device, 4096));
    return;
  }
  const HostBuffer host = CALL(HostBuffer(device, 4096));
  CHECK(host.data() != nullptr);
  std::memset(host.data(), 7, host.size());
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 4096));
  CALL(stream.copy(buffer, {host.data(), host.size()}));
  CHECK_BYTES(read(stream, buffer), Bytes(4096, 7));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "managed_memory: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::managed_memory)) {
    CHECK_ERROR(unsupported, Buffer(device, 4096, {.kind = MemoryKind::managed}));
    return;
  }
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 4096, {.kind = MemoryKind::managed}));
  CALL(stream.memset8(buffer, 9));
  CALL(stream.synchronize());
  const auto* const host = static_cast<const std::uint8_t*>(CALL(buffer.host_data()));
  CHECK_BYTES(Bytes(host, host + 4096), Bytes(4096, 9));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "host_register: claimed and works, or refused") {
  const Device device = run.device();
  Bytes memory = pattern(1 << 16);
  if (!device.has(Capability::host_register)) {
    CHECK_ERROR(unsupported, HostRegistration(device, memory));
    return;
  }
  const Bytes before = memory;
  const HostRegistration registration = CALL(HostRegistration(device, memory));
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, memory.size()));
  CALL(stream.copy(buffer, memory));
  CALL(stream.synchronize());
  CHECK_BYTES(memory, before);
  CHECK_BYTES(read(stream, buffer), before);
}

ANYPLACE_CASE("capabilities", "devices.capabilities",
              "stream_ordered_memory: buffers made and freed between work are right, claimed or not") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer result = filled(stream, 64 * 4096, 0);
  for (std::uint8_t i = 0; i < 64; ++i) {
    const Buffer temporary = CALL(Buffer(stream, 4096));
    CALL(stream.memset8(temporary, i));
    CALL(stream.copy(result.sub(std::uint64_t{i} * 4096, 4096), temporary));
  }
  const Bytes got = read(stream, result);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != i / 4096) check_failed(__FILE__, __LINE__, "a temporary buffer was not its stream's alone");
  }
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "copy_2d: pitched copies are right, claimed or not") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 64, 0);
  const Bytes lines{1, 2, 3, 4, 5, 6};
  CALL(stream.copy_2d(buffer, 32, lines, 3, 3, 2));
  Bytes expected(64, 0);
  for (int i = 0; i < 3; ++i) {
    expected[static_cast<std::size_t>(i)] = lines[static_cast<std::size_t>(i)];
    expected[static_cast<std::size_t>(32 + i)] = lines[static_cast<std::size_t>(3 + i)];
  }
  CHECK_BYTES(read(stream, buffer), expected);
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "peer_copy: copies between devices are right, claimed or not",
              second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream far_stream = CALL(Stream(run.second()));
  const Bytes contents = pattern(4097);
  const Buffer near = upload(stream, contents);
  const Buffer far = filled(far_stream, contents.size(), 0);
  CALL(stream.copy(far, near));
  CALL(stream.synchronize());
  CHECK_BYTES(read(far), contents);
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "peer_access: claimed and works, or refused", second_device) {
  const Device device = run.device();
  const Device second = run.second();
  if (!device.has(Capability::peer_access)) {
    CHECK_ERROR(unsupported, device.can_access_peer(second));
    CHECK_ERROR(unsupported, device.enable_peer_access(second));
    CHECK_ERROR(unsupported, device.disable_peer_access(second));
    return;
  }
  if (CALL(device.can_access_peer(second))) CALL(device.enable_peer_access(second));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "modules: claimed and works, or refused") {
  const Device device = run.device();
  const Bytes nonsense(64, 'x');
  if (!device.has(Capability::modules)) {
    CHECK_ERROR(unsupported, Module(device, std::as_bytes(std::span(nonsense))));
    return;
  }
  CHECK_ERROR(invalid_image, Module(device, std::as_bytes(std::span(nonsense))));
  if (run.module_file().empty()) return;
  const Module module = CALL(Module::from_file(device, run.module_file()));
  CHECK(static_cast<bool>(CALL(module.kernel("fill"))));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "host_kernels: claimed and works, or refused") {
  const Device device = run.device();
  const auto callable = [](const Block&) {};
  if (!device.has(Capability::host_kernels)) {
    CHECK_ERROR(unsupported, Kernel(device, callable));
    return;
  }
  const Stream stream = CALL(Stream(device));
  const Kernel kernel = CALL(Kernel(device, callable));
  CALL(stream.launch(kernel, {4, 4}));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "native_handles: claimed and works, or refused") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Event event = CALL(Event(device));
  if (!device.has(Capability::native_handles)) {
    CHECK_ERROR(unsupported, device.native_handle());
    CHECK_ERROR(unsupported, device.native_context());
    CHECK_ERROR(unsupported, stream.native_handle());
    CHECK_ERROR(unsupported, event.native_handle());
    return;
  }
  static_cast<void>(CALL(device.native_handle()));
  static_cast<void>(CALL(device.native_context()));
  CHECK_EQUAL(CALL(stream.native_handle()), CALL(stream.native_handle()));
  CHECK_EQUAL(CALL(event.native_handle()), CALL(event.native_handle()));
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "stream_from_native: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::stream_from_native)) {
    CHECK_ERROR(unsupported, Stream::from_native(device, 1));
    return;
  }
  const Stream stream = CALL(Stream(device));
  run.need(Capability::native_handles);
  const Stream wrapped = CALL(Stream::from_native(device, stream.native_handle()));
  CALL(wrapped.synchronize());
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "interprocess_events: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::interprocess_events)) {
    CHECK_ERROR(unsupported, Event(device, {.interprocess = true}));
    return;
  }
  const Stream stream = CALL(Stream(device));
  const Event event = CALL(Event(device, {.interprocess = true}));
  CALL(stream.record_event(event));
  CALL(event.synchronize());
  CHECK(event.query());
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "device_reset: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::device_reset)) {
    CHECK_ERROR(unsupported, device.reset());
    const Stream stream = CALL(Stream(device));
    CALL(stream.synchronize());
    return;
  }
  CALL(device.reset());
  const Stream stream = CALL(Stream(device));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "list_processes: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::list_processes)) {
    CHECK_ERROR(unsupported, device.processes());
    return;
  }
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 4096, 1);
  CHECK(!CALL(device.processes()).empty());
}

ANYPLACE_CASE("capabilities", "devices.capabilities", "monitoring: claimed and works, or refused") {
  const Device device = run.device();
  if (!device.has(Capability::monitoring)) {
    CHECK_ERROR(unsupported, sample(device));
    return;
  }
  static_cast<void>(CALL(sample(device)));
}

}  // namespace
}  // namespace anyplace::conformance::capabilities_cases
