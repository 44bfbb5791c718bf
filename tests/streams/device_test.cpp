// SPDX-License-Identifier: Apache-2.0
// Devices: what one without a capability says, timeouts without the backend's help, reset, processes.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <unordered_set>

#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace device_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::error_of;
using test::HostGate;

TEST_CASE("Given devices of two backends then order goes by backend and index") {
  REQUIRE(Device("cpu_sim:0") < Device("cpu_sim:1"));
  REQUIRE(Device("cpu_sim:1") < Device("sim_b:0"));
  REQUIRE_FALSE(Device("sim_b:0") < Device("sim_b:0"));
  const std::unordered_set<Device> set{Device("cpu_sim:0"), Device("cpu_sim:1"), Device("cpu_sim:0")};
  REQUIRE(set.size() == 2);
}

TEST_CASE("Given a number that is no capability then its name says so") {
  REQUIRE(to_string(Capability::timed_events) == std::string("timed_events"));
  REQUIRE(to_string(static_cast<Capability>(9999)) == std::string("unknown"));
}

TEST_CASE("Given a device then it is within its own reach, whatever is enabled") {
  const Device device("cpu_sim:0");
  REQUIRE(device.can_access_peer(device));
  device.enable_peer_access(device);
  device.disable_peer_access(device);
  REQUIRE(device.can_access_peer(device));
}

TEST_CASE("Given a device of another backend then it is no peer, events have no time between, and errors name both") {
  const Device a("cpu_sim:0");
  const Device b("sim_b:1");
  const Event first = a.default_stream().record_event({.timing = true});
  const Event last = b.default_stream().record_event({.timing = true});
  for (const auto& error :
       {error_of([&] { a.can_access_peer(b); }), error_of([&] { a.enable_peer_access(b); }),
        error_of([&] { a.disable_peer_access(b); }), error_of([&] { elapsed_time(first, last); })}) {
    REQUIRE(error);
    REQUIRE(error->code() == ErrorCode::invalid_argument);
    REQUIRE(error->text().find("cpu_sim:0") != std::string::npos);
    REQUIRE(error->text().find("sim_b:1") != std::string::npos);
  }
}

TEST_CASE("Given a device without a capability then what needs it is unsupported and says which") {
  test::Forward& forward = test::new_forward();
  forward.host_functions = false;
  forward.absent_capabilities =
      (1u << ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS) | (1u << ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS) |
      (1u << ANYPLACE_CAPABILITY_BIT_PEER_ACCESS) | (1u << ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES) |
      (1u << ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE) | (1u << ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  const Event event(device);
  const auto lacks = [&](const char* capability, auto&& call) {
    const auto error = error_of(call);
    REQUIRE(error);
    REQUIRE(error->code() == ErrorCode::unsupported);
    REQUIRE(error->place() == "sim_b:0");
    REQUIRE(error->text().find(capability) != std::string::npos);
  };
  lacks("timed_events", [&] { const Event timed(device, {.timing = true}); });
  lacks("blocking_streams", [&] { const Stream blocking(device, {.blocking = true}); });
  lacks("blocking_streams", [&] { device.per_thread_stream(); });
  lacks("peer_access", [&] { device.can_access_peer(Device("sim_b:1")); });
  lacks("peer_access", [&] { device.enable_peer_access(Device("sim_b:1")); });
  lacks("peer_access", [&] { device.disable_peer_access(Device("sim_b:1")); });
  lacks("native_handles", [&] { device.native_handle(); });
  lacks("native_handles", [&] { device.native_context(); });
  lacks("native_handles", [&] { stream.native_handle(); });
  lacks("native_handles", [&] { event.native_handle(); });
  lacks("stream_from_native", [&] { Stream::from_native(device, 1); });
  lacks("host_functions", [&] { stream.launch_host_func([] {}); });
  REQUIRE(device.priority_range().least == 0);
  REQUIRE(device.priority_range().greatest == 0);
  REQUIRE(Stream(device, {.priority = -5}).priority() == 0);
}

TEST_CASE("Given a backend that can't wait for a limited time then a timeout still works") {
  test::Forward& forward = test::new_forward();
  forward.timed_sync = false;
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  const Event event(device);
  HostGate gate;
  gate.block(stream);
  event.record(stream);
  REQUIRE_FALSE(stream.synchronize(0ns));
  REQUIRE_FALSE(stream.synchronize(2ms));
  REQUIRE_FALSE(event.synchronize(2ms));
  REQUIRE_FALSE(device.synchronize(0ns));
  REQUIRE_FALSE(device.synchronize(2ms));
  gate.open();
  REQUIRE(stream.synchronize(1h));
  REQUIRE(event.synchronize(1h));
  REQUIRE(device.synchronize(1h));
  stream.launch_host_func([] { throw 1; });
  REQUIRE(code_of([&] { static_cast<void>(stream.synchronize(1h)); }) == ErrorCode::host_function_failed);
}

TEST_CASE("Given a backend that can't wait for a limited time then a destroyed stream's work is waited for as well") {
  test::Forward& forward = test::new_forward();
  forward.timed_sync = false;
  forward.install("sim_b");
  const Device device("sim_b:0");
  HostGate gate;
  bool ran = false;
  {
    const Stream stream(device);
    gate.block(stream);
    stream.launch_host_func([&] { ran = true; });
  }
  REQUIRE_FALSE(device.synchronize(2ms));
  gate.open();
  REQUIRE(device.synchronize(1h));
  REQUIRE(ran);
  REQUIRE(forward.live_streams == 0);
}

TEST_CASE("Given a backend that can't wait for a limited time then so is that of one whose buffer outlives it") {
  test::Forward& forward = test::new_forward();
  forward.timed_sync = false;
  forward.install("sim_b");
  const Device device("sim_b:0");
  HostGate gate;
  bool ran = false;
  const anyplace::Buffer buffer(device, 64);
  {
    const Stream stream(device);
    gate.block(stream);
    stream.launch_host_func([&] { ran = true; });
    buffer.record_stream(stream);
  }
  REQUIRE_FALSE(device.synchronize(2ms));
  gate.open();
  REQUIRE(device.synchronize(1h));
  REQUIRE(ran);
}

TEST_CASE(
    "Given a device that can be reset then its work is done first and every kind of handle but the null stream's is "
    "invalid after") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  const Event event(device);
  const Buffer buffer(stream, 4096);
  const Kernel kernel(device, [](const Block&) {});
  const BufferView view = buffer;
  const Stream other(Device("sim_b:1"));
  const Buffer elsewhere(Device("sim_b:1"), 4096);
  const Kernel kernel_elsewhere(Device("sim_b:1"), [](const Block&) {});
  const StreamView own = device.per_thread_stream();
  std::atomic<bool> ran{false};
  std::vector<std::uint8_t> bytes(4096);
  stream.memset8(buffer, 7);
  stream.copy(bytes, buffer);
  stream.launch_host_func([&] { ran = true; });
  const StreamView null_stream = device.default_stream();
  device.reset();
  REQUIRE(forward.was_reset);
  REQUIRE(ran);
  REQUIRE(bytes == std::vector<std::uint8_t>(4096, 7));
  REQUIRE(null_stream.query());
  REQUIRE(other.query());
  REQUIRE(code_of([&] { static_cast<void>(event.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { stream.memset8(buffer, 1); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { null_stream.memset8(view, 1); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(view.address()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(view.device()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { null_stream.launch(kernel, {1, 1}); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { static_cast<void>(own.query()); }) == ErrorCode::invalid_handle);
  REQUIRE(device.per_thread_stream().query());
  REQUIRE(device.per_thread_stream() != own);
  REQUIRE_NOTHROW(Stream(Device("sim_b:1")).launch(kernel_elsewhere, {1, 1}));
  REQUIRE(elsewhere.address() != 0);
}

TEST_CASE("Given a device with HostBuffers then it isn't reset before they are gone") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  HostBuffer host(device, 4096);
  const Buffer buffer(stream, 4096);
  stream.copy(buffer, host);
  REQUIRE(code_of([&] { device.reset(); }) == ErrorCode::invalid_argument);
  REQUIRE_FALSE(forward.was_reset);
  REQUIRE_NOTHROW(stream.synchronize());
  stream.copy(buffer, host);
  host = HostBuffer();
  device.reset();
  REQUIRE(forward.was_reset);
  REQUIRE(host_memory_stats(device).reserved_bytes == 0);
  REQUIRE_NOTHROW(host = HostBuffer(device, 4096));
}

TEST_CASE("Given a device that was reset then buffers from before go without a word and others are made") {
  const test::Reports reports;
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const StreamView stream = device.default_stream();
  Buffer before(stream, 5000);
  const std::uint64_t address = before.address();
  Buffer pending(stream, 3 << 20);
  { const Buffer cached(stream, 5000); }
  device.reset();
  const Buffer after(stream, 5000);
  CHECK(after.address() != address);
  before = Buffer();
  pending = Buffer();
  { const Buffer another(stream, 5000); }
  stream.synchronize();
  const MemoryStats stats = memory_stats(device);
  CHECK(stats.at("allocation.all.current") == 1);
  CHECK(stats.at("active.all.current") == 1);
  CHECK(stats.at("reserved_bytes.all.current") > 0);
  CHECK(reports.all().empty());
}

TEST_CASE("Given more processes than there is room for at first then all are listed") {
  test::Forward& control = test::new_forward();
  control.install("sim_b");
  const Device device("sim_b:0");
  for (const std::uint32_t count : {1u, 16u, 17u, 1000u, 100'000u}) {
    control.processes = count;
    const std::vector<DeviceProcess> processes = device.processes();
    REQUIRE(processes.size() == count);
    for (std::uint32_t i = 0; i < count; ++i) {
      REQUIRE(processes[i].id == i + 1);
      REQUIRE(processes[i].memory_bytes == (i % 2 == 0 ? std::optional(std::uint64_t{4096} * i) : std::nullopt));
    }
  }
}

TEST_CASE("Given processes that begin while they are listed then the list comes to an end") {
  test::Forward& control = test::new_forward();
  control.install("sim_b");
  control.processes = 1;
  control.new_processes = 1000;
  const std::size_t listed = Device("sim_b:0").processes().size();
  REQUIRE(listed + control.new_processes == control.processes);
}

TEST_CASE("Given a backend that says nonsense about processes then it has failed") {
  test::Forward& control = test::new_forward();
  control.install("sim_b");
  const Device device("sim_b:0");
  control.processes = UINT32_MAX;
  const std::optional<Error> thrown = error_of([&] { device.processes(); });
  REQUIRE(thrown);
  REQUIRE(thrown->code() == ErrorCode::backend_failed);
  REQUIRE(thrown->text().find("4294967295 processes") != std::string::npos);
}

TEST_CASE("Given a lost device or one that can't tell then its processes are an error") {
  test::Forward& control = test::new_forward();
  control.absent_capabilities = 1u << ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES;
  control.install("sim_b");
  REQUIRE(code_of([] { Device("sim_b:0").processes(); }) == ErrorCode::unsupported);
  test::Forward& other = test::new_forward();
  other.install("sim_c");
  const Device device("sim_c:0");
  REQUIRE(device.processes().size() == 1);
  other.lost_device = 0;
  REQUIRE(code_of([&] { device.processes(); }) == ErrorCode::device_lost);
}

}  // namespace device_test
