// SPDX-License-Identifier: Apache-2.0
//
// Calls of every kind, for what another library in the same process would notice of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "cuda_and_hip/support.h"

namespace vendor_test {

/// Calls of every kind, on `device` and, where two have a part, on `other`. After each, `look` is called with its name.
class Calls {
 public:
  Calls(const Device& device, const Device& other, std::function<void(const char*)> look)
      : device_(device), other_(other), look_(std::move(look)) {}

  void make_all() {
    devices();
    streams_and_events();
    memory();
    copies();
    kernels();
    several_devices();
    failures();
  }

 private:
  void step(const char* name, const std::function<void()>& call) {
    call();
    look_(name);
  }

  void devices() {
    step("properties", [&] { static_cast<void>(device_.properties()); });
    step("memory_info", [&] { static_cast<void>(device_.memory_info()); });
    step("native_context", [&] { static_cast<void>(device_.native_context()); });
    step("memory_info once more", [&] { static_cast<void>(device_.memory_info()); });
    step("default_stream", [&] { device_.default_stream().synchronize(); });
    step("per_thread_stream", [&] { device_.per_thread_stream().synchronize(); });
    step("synchronize", [&] { device_.synchronize(); });
    step("synchronize with a timeout", [&] { static_cast<void>(device_.synchronize(std::chrono::hours(1))); });
  }

  void streams_and_events() {
    Stream stream, blocking, wrapped;
    Event event, timed;
    step("create", [&] { stream = Stream(device_); });
    step("create with options", [&] { blocking = Stream(device_, {.priority = -2, .blocking = true}); });
    step("from_native", [&] { wrapped = Stream::from_native(device_, stream.native_handle()); });
    step("create an event", [&] { event = Event(device_); });
    step("create a timed event", [&] { timed = Event(device_, {.timing = true}); });
    step("record", [&] { event.record(stream); });
    step("record on the null stream", [&] { event.record(device_.default_stream()); });
    step("wait", [&] { blocking.wait_event(event); });
    step("wait on the null stream", [&] { device_.default_stream().wait_event(event); });
    step("wait_stream", [&] { stream.wait_stream(blocking); });
    step("query", [&] { static_cast<void>(stream.query() && event.query()); });
    step("query the null stream", [&] { static_cast<void>(device_.default_stream().query()); });
    step("host function", [&] { stream.launch_host_func([] {}); });
    step("host function on the null stream", [&] { device_.default_stream().launch_host_func([] {}); });
    step("synchronize a stream", [&] { stream.synchronize(); });
    step("synchronize with a timeout", [&] { static_cast<void>(blocking.synchronize(std::chrono::hours(1))); });
    step("synchronize an event", [&] { event.synchronize(); });
    step("synchronize an event with a timeout", [&] { static_cast<void>(event.synchronize(std::chrono::hours(1))); });
    step("elapsed_time", [&] {
      const Event start(device_, {.timing = true});
      start.record(stream);
      timed.record(stream);
      timed.synchronize();
      static_cast<void>(anyplace::elapsed_time(start, timed));
    });
    step("destroy a wrapped stream", [&] { wrapped = Stream(); });
    step("destroy", [&] { stream = Stream(); });
    step("destroy an event", [&] { event = Event(); });
  }

  void memory() {
    const Stream stream(device_);
    std::vector<std::uint32_t> host(1024);
    Buffer buffer, managed;
    anyplace::HostBuffer pinned;
    anyplace::HostRegistration registered;
    step("allocate", [&] { buffer = Buffer(stream, 4096); });
    step("allocate on the null stream", [&] { const Buffer made(device_.default_stream(), 4096); });
    step("allocate managed memory", [&] { managed = Buffer(stream, 4096, {anyplace::MemoryKind::managed}); });
    step("allocate pinned memory", [&] { pinned = anyplace::HostBuffer(device_, 4096); });
    step("register", [&] { registered = anyplace::HostRegistration(device_, host); });
    step("free", [&] { buffer = Buffer(); });
    step("free managed memory", [&] { managed = Buffer(); });
    step("free pinned memory", [&] { pinned = anyplace::HostBuffer(); });
    step("unregister", [&] { registered = anyplace::HostRegistration(); });
  }

  void copies() {
    const Stream stream(device_);
    const Buffer a(stream, 4096), b(stream, 4096);
    static std::vector<std::uint32_t>& host = *new std::vector<std::uint32_t>(1024);
    step("copy to the device", [&] { stream.copy(a, host); });
    step("copy within the device", [&] { stream.copy(b, a); });
    step("copy to the host", [&] { stream.copy(host, b); });
    step("copy lines", [&] { stream.copy_2d(a, 128, b, 64, 64, 8); });
    step("memset8", [&] { stream.memset8(a, 1); });
    step("memset16", [&] { stream.memset16(a, 1); });
    step("memset32", [&] { stream.memset32(a, 1); });
    stream.synchronize();  // which the null stream doesn't wait for
    step("memset on the null stream", [&] { device_.default_stream().memset32(b, 1); });
    device_.synchronize();
  }

  void kernels() {
    const Stream stream(device_);
    const Buffer numbers(stream, 64 * 4);
    Module module;
    step("load", [&] { module = load(device_, read_image(any_image)); });
    step("kernel", [&] { static_cast<void>(module.kernel("fill")); });
    step("launch", [&] { stream.launch(module.kernel("fill"), {1, 64}, numbers, 64u, 1u); });
    step("unload", [&] { module = Module(); });
    stream.synchronize();
  }

  void several_devices() {
    const Stream here(device_), there(other_), simulated(Device("cpu_sim:0"));
    const Buffer a(here, 4096), b(there, 4096);
    step("enable peer access", [&] { device_.enable_peer_access(other_); });
    step("wait for another device", [&] { here.wait_stream(there); });
    step("copy between devices", [&] { here.copy(a, b); });
    step("disable peer access", [&] { device_.disable_peer_access(other_); });
    step("wait for another backend", [&] { here.wait_stream(simulated); });
    step("be waited for by another backend", [&] { simulated.wait_stream(here); });
    here.synchronize();
    simulated.synchronize();
  }

  void failures() {
    const Stream stream(device_);
    step("fail to allocate", [&] {
      CHECK(test::code_of([&] { const Buffer made(stream, std::uint64_t{1} << 50); }) == ErrorCode::out_of_memory);
    });
    step("fail to load",
         [&] { CHECK(test::code_of([&] { load(device_, read_image(broken_image)); }) == ErrorCode::invalid_image); });
  }

  const Device& device_;
  const Device& other_;
  std::function<void(const char*)> look_;
};

/// `check` runs after each of the calls.
inline void after_each_call(const Device& device, const Device& other, const std::function<void()>& check) {
  Calls(device, other, [&](const char* name) {
    INFO(name);
    check();
  }).make_all();
}

/// What is current is right already: a submission and a wait don't make that call of the vendor.
inline void check_that_none_is_made_current(const Double& driver, const Stream& stream, const char* call) {
  const Buffer numbers(stream, 4096);
  const std::uint64_t before = driver.calls_of(call);
  stream.memset32(numbers, 1);
  stream.synchronize();
  CHECK(driver.calls_of(call) == before);
}

/// What can be asked of every device before it is used.
inline void ask_what_devices_are() {
  const std::string name = backend;
  CHECK(anyplace::device_count(name) == 2);
  for (const Device& device : anyplace::devices(name)) {
    const auto properties = device.properties();
    CHECK_FALSE(properties.uuid.empty());
    CHECK(device.priority_range().greatest <= 0);
    CHECK(Device(name + ":uuid=" + properties.uuid) == device);
    CHECK(Device(name + ":pci=" + properties.pci) == device);
    static_cast<void>(device.has(anyplace::Capability::virtual_memory));
    static_cast<void>(device.native_handle());
  }
}

}  // namespace vendor_test
