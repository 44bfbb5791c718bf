// SPDX-License-Identifier: Apache-2.0
// Calls back into anyplace from inside a host function or a kernel: refused, never a deadlock; handles may be
// destroyed.
#include <anyplace/anyplace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/errors.h"
#include "support/host_gate.h"

namespace callback_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;

namespace {

struct Everything {
  Device device{"cpu_sim:0"};
  Stream stream{device};
  Stream other{device};
  Event event{device, {.timing = true}};
  Buffer buffer{stream, 64};
  Kernel kernel{device, [](const Block&) {}};
  std::vector<std::uint8_t> host = std::vector<std::uint8_t>(64);

  /// Each public call, by name.
  std::vector<std::pair<std::string, std::function<void()>>> calls() {
    return {
        {"Device", [] { Device("cpu_sim:0"); }},
        {"properties", [&] { device.properties(); }},
        {"has", [&] { device.has(Capability::gates); }},
        {"priority_range", [&] { device.priority_range(); }},
        {"memory_info", [&] { device.memory_info(); }},
        {"Device::synchronize", [&] { device.synchronize(); }},
        {"Device::synchronize with a timeout", [&] { static_cast<void>(device.synchronize(1ms)); }},
        {"default_stream", [&] { device.default_stream(); }},
        {"per_thread_stream", [&] { device.per_thread_stream(); }},
        {"can_access_peer", [&] { device.can_access_peer(device); }},
        {"enable_peer_access", [&] { device.enable_peer_access(device); }},
        {"disable_peer_access", [&] { device.disable_peer_access(device); }},
        {"Device::native_handle", [&] { device.native_handle(); }},
        {"native_context", [&] { device.native_context(); }},
        {"reset", [&] { device.reset(); }},
        {"device_count", [] { device_count("cpu_sim"); }},
        {"devices", [] { devices("cpu_sim"); }},
        {"current_device", [] { current_device("cpu_sim"); }},
        {"set_current_device", [&] { set_current_device(device); }},
        {"DeviceGuard", [&] { const DeviceGuard guard(device); }},
        {"current_stream", [&] { current_stream(device); }},
        {"set_current_stream", [&] { set_current_stream(other); }},
        {"StreamGuard", [&] { const StreamGuard guard(other); }},
        {"Stream", [&] { const Stream made(device); }},
        {"from_native", [&] { Stream::from_native(device, 1); }},
        {"Stream::device", [&] { other.device(); }},
        {"priority", [&] { other.priority(); }},
        {"Stream::native_handle", [&] { other.native_handle(); }},
        {"Stream::query", [&] { static_cast<void>(other.query()); }},
        {"Stream::synchronize", [&] { other.synchronize(); }},
        {"own Stream::synchronize", [&] { stream.synchronize(); }},
        {"Stream::synchronize with a timeout", [&] { static_cast<void>(other.synchronize(1ms)); }},
        {"record_event", [&] { other.record_event(); }},
        {"record_event of an event", [&] { other.record_event(event.view()); }},
        {"wait_event", [&] { other.wait_event(event); }},
        {"wait_stream", [&] { other.wait_stream(stream); }},
        {"launch_host_func", [&] { other.launch_host_func([] {}); }},
        {"copy up", [&] { other.copy(buffer, host); }},
        {"copy down", [&] { other.copy(host, buffer); }},
        {"copy within", [&] { other.copy(buffer.sub(0, 8), buffer.sub(8, 8)); }},
        {"memset8", [&] { other.memset8(buffer, 1); }},
        {"memset16", [&] { other.memset16(buffer, 1); }},
        {"memset32", [&] { other.memset32(buffer, 1); }},
        {"launch",
         [&] {
           other.launch(kernel, {1, 1});
         }},
        {"Event", [&] { const Event made(device); }},
        {"Event::device", [&] { event.device(); }},
        {"Event::record", [&] { event.record(other); }},
        {"Event::query", [&] { static_cast<void>(event.query()); }},
        {"Event::synchronize", [&] { event.synchronize(); }},
        {"Event::synchronize with a timeout", [&] { static_cast<void>(event.synchronize(1ms)); }},
        {"Event::native_handle", [&] { event.native_handle(); }},
        {"elapsed_time", [&] { elapsed_time(event, event); }},
        {"copy_2d", [&] { other.copy_2d(buffer, 4, ConstHostSpan(host), 4, 4, 2); }},
        {"Buffer", [&] { const Buffer made(stream, 8); }},
        {"Buffer::from_native", [&] { Buffer::from_native(device, 4096, 8); }},
        {"Buffer::device", [&] { buffer.device(); }},
        {"sub", [&] { static_cast<void>(buffer.sub(0, 1)); }},
        {"address", [&] { static_cast<void>(buffer.address()); }},
        {"record_stream", [&] { buffer.record_stream(other); }},
        {"HostBuffer", [&] { const HostBuffer made(device, 8); }},
        {"HostRegistration", [&] { const HostRegistration made(device, host); }},
        {"Kernel", [&] { const Kernel made(device, [](const Block&) {}); }},
        {"Kernel::device", [&] { kernel.device(); }},
        {"Kernel::name", [&] { static_cast<void>(kernel.name()); }},
        {"Module", [&] { Module::from_file(device, "/nowhere"); }},
        {"backend_names", [] { backend_names(); }},
        {"plugin_candidates", [] { plugin_candidates(); }},
        {"layers", [] { layers(); }},
        {"use_layers", [] { use_layers({}); }},
        {"layers_of", [] { layers_of("cpu_sim"); }},
        {"layer_command", [] { layer_command("faults", "clear"); }},
        {"backend_info", [] { backend_info("cpu_sim"); }},
    };
  }
};

/// What each call came to, by name; made where it is called, looked at by the test.
using Outcomes = std::vector<std::pair<std::string, ErrorCode>>;

void require_refused(const Outcomes& outcomes) {
  for (const auto& [name, code] : outcomes) {
    INFO(name);
    REQUIRE(code == ErrorCode::not_permitted);
  }
}

}  // namespace

TEST_CASE("Given a host function when it calls back then every call is not permitted and the stream goes on") {
  Everything all;
  const auto calls = all.calls();
  Outcomes outcomes;
  all.stream.launch_host_func([&] {
    for (const auto& [name, call] : calls) outcomes.emplace_back(name, code_of(call));
  });
  all.stream.synchronize();
  REQUIRE(outcomes.size() == calls.size());
  require_refused(outcomes);
}

TEST_CASE("Given a kernel when it calls back then every call is not permitted") {
  Everything all;
  const auto calls = all.calls();
  Outcomes outcomes;
  const Kernel kernel(all.device, [&](const Block&) {
    for (const auto& [name, call] : calls) outcomes.emplace_back(name, code_of(call));
  });
  all.stream.launch(kernel, {1, 1});
  all.stream.synchronize();
  REQUIRE(outcomes.size() == calls.size());
  require_refused(outcomes);
}

TEST_CASE("Given a host function that destroys its own stream then later work of it still completes") {
  const Device device("cpu_sim:0");
  auto stream = std::make_unique<Stream>(device);
  test::HostGate gate;
  gate.block(*stream);
  bool ran = false;
  stream->launch_host_func([&] { stream.reset(); });
  stream->launch_host_func([&] { ran = true; });
  gate.open();
  device.synchronize();
  REQUIRE(ran);
  REQUIRE(stream == nullptr);
}

TEST_CASE("Given captured handles when the closure is destroyed then they end") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  auto captured = std::make_shared<Stream>(device);
  const StreamView view = *captured;
  stream.launch_host_func([captured = std::move(captured)] {});
  stream.synchronize();
  REQUIRE(code_of([&] { static_cast<void>(view.query()); }) == ErrorCode::invalid_handle);
}

}  // namespace callback_test
