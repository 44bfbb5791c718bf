// SPDX-License-Identifier: Apache-2.0
//
// What another library in the same process would notice: which device is current, and the thread's last error. It must
// notice nothing.
#include <functional>
#include <thread>
#include <vector>

#include "support.h"
#include "support/host_gate.h"

namespace {

using namespace hip_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;

/// Calls of every kind, on `device` and, where two have a part, on `other`. After each `look` is called with its name.
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
    anyplace::Module module;
    step("load", [&] { module = load(device_, read_image("kernels.hsaco")); });
    step("kernel", [&] { static_cast<void>(module.kernel("fill")); });
    step("launch", [&] { stream.launch(module.kernel("fill"), {1}, {64}, 0, numbers, 64u, 1u); });
    step("unload", [&] { module = anyplace::Module(); });
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
    step("fail to load", [&] {
      CHECK(test::code_of([&] { load(device_, read_image("kernels.gfx1100.hsaco")); }) == ErrorCode::invalid_image);
    });
  }

  const Device& device_;
  const Device& other_;
  std::function<void(const char*)> look_;
};

}  // namespace

TEST_CASE("Counting devices and asking what they are begins nothing on them") {
  const Double hip;
  CHECK(anyplace::device_count("hip") == 2);
  for (const Device& device : anyplace::devices("hip")) {
    const auto properties = device.properties();
    CHECK_FALSE(properties.uuid.empty());
    CHECK(device.priority_range().greatest <= 0);
    CHECK(Device("hip:uuid=" + properties.uuid) == device);
    CHECK(Device("hip:pci=" + properties.pci) == device);
    static_cast<void>(device.has(anyplace::Capability::virtual_memory));
    static_cast<void>(device.native_handle());
  }
  CHECK(hip.live() == 0);
  { const Stream stream(Device("hip:0")); }
  CHECK(hip.live("stream") == 1);  // the backend's own
}

TEST_CASE("A thread that never chose a device has the first through every call") {
  const Double hip;
  const Device device("hip:1"), other("hip:0");
  Calls(device, other, [](const char* name) {
    INFO(name);
    CHECK(current_device() == 0);
  }).make_all();
}

TEST_CASE("The device of another library stays current through every call") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  REQUIRE(anyplace::device_count("hip") == 2);
  set_current_device(1);
  Calls(device, other, [](const char* name) {
    INFO(name);
    CHECK(current_device() == 1);
  }).make_all();
}

TEST_CASE("A thread that has the device current is left alone") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  set_current_device(0);
  const std::uint64_t set = hip.calls_of("hipSetDevice");
  stream.memset32(numbers, 1);
  stream.synchronize();
  CHECK(hip.calls_of("hipSetDevice") == set);
}

TEST_CASE("No error of ours is left as the last error of the thread") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  const auto peek = vendor<hipError_t()>("hipPeekAtLastError");
  stream.synchronize();
  hip.hold(0, true);
  stream.memset32(numbers, 1);
  CHECK_FALSE(stream.query());
  CHECK(peek() == hipSuccess);
  CHECK_FALSE(stream.synchronize(std::chrono::milliseconds(1)));
  CHECK(peek() == hipSuccess);
  hip.hold(0, false);
  Calls(device, other, [&](const char* name) {
    INFO(name);
    CHECK(peek() == hipSuccess);
  }).make_all();
}

TEST_CASE("An error of another library stays the last error of the thread where HIP keeps it") {
  const Double hip({{"HIP_DOUBLE_VERSION", "70051831"}});
  const Device device("hip:0");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  const auto peek = vendor<hipError_t()>("hipPeekAtLastError");
  stream.synchronize();
  REQUIRE(vendor<hipError_t(int)>("hipSetDevice")(99) == hipErrorInvalidDevice);
  hip.hold(0, true);
  stream.memset32(numbers, 1);
  CHECK_FALSE(stream.query());
  hip.hold(0, false);
  stream.synchronize();
  CHECK(peek() == hipErrorInvalidDevice);
}

TEST_CASE("The native context is the one that other libraries get") {
  const Double hip;
  const Device device("hip:0");
  hipCtx_t theirs = nullptr;
  const std::uint64_t ours = device.native_context();
  REQUIRE(vendor<hipError_t(hipCtx_t*, hipDevice_t)>("hipDevicePrimaryCtxRetain")(&theirs, 0) == hipSuccess);
  CHECK(reinterpret_cast<hipCtx_t>(ours) == theirs);
  REQUIRE(vendor<hipError_t(hipDevice_t)>("hipDevicePrimaryCtxRelease")(0) == hipSuccess);
}

TEST_CASE("A stream that belongs to one device works from a thread that uses another") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  std::vector<std::uint32_t> back(1024);
  std::thread([&] {
    anyplace::set_current_device(other);
    stream.memset32(numbers, 3);
    stream.copy(back, numbers);
    stream.synchronize();
  }).join();
  CHECK(back == std::vector<std::uint32_t>(1024, 3));
}
