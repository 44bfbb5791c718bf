// SPDX-License-Identifier: Apache-2.0
//
// Streams and events, where HIP has something of its own: native handles, the null stream, priorities, waits with a
// limit, what destroyed streams leave behind.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support.h"

namespace {

using namespace hip_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;
using namespace std::chrono_literals;

hipStream_t native(anyplace::StreamView stream) { return reinterpret_cast<hipStream_t>(stream.native_handle()); }

}  // namespace

TEST_CASE("A stream of another library is wrapped and left alone") {
  const Double hip;
  const Device device("hip:0");
  hipStream_t theirs = nullptr;
  REQUIRE(vendor<hipError_t(hipStream_t*, unsigned)>("hipStreamCreateWithFlags")(&theirs, 0) == hipSuccess);
  {
    const Stream wrapped = Stream::from_native(device, reinterpret_cast<std::uint64_t>(theirs));
    CHECK(native(wrapped) == theirs);
    const Buffer numbers(wrapped, 4096);
    wrapped.memset32(numbers, 1);
    wrapped.synchronize();
  }
  CHECK(vendor<hipError_t(hipStream_t)>("hipStreamSynchronize")(theirs) == hipSuccess);
  CHECK(vendor<hipError_t(hipStream_t)>("hipStreamDestroy")(theirs) == hipSuccess);
}

TEST_CASE("The null stream of HIP is wrapped by each of its names") {
  const Double hip;
  const Device device("hip:0");
  for (const std::uint64_t handle : {std::uint64_t{0}, std::uint64_t{1}}) {
    const Stream wrapped = Stream::from_native(device, handle);
    const Buffer numbers(wrapped, 4096);
    wrapped.memset32(numbers, 1);
    wrapped.synchronize();
  }
}

TEST_CASE("A handle that is another stream in each thread is not wrapped") {
  const Double hip;
  const Device device("hip:0");
  const auto error = test::error_of([&] { Stream::from_native(device, 2); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), contains("hipStreamPerThread"));
}

TEST_CASE("A stream of another device or of nobody is not wrapped") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream elsewhere(other);
  const auto error = test::error_of([&] { Stream::from_native(device, elsewhere.native_handle()); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), contains("hip:1"));
  CHECK(test::error_of([&] { Stream::from_native(device, 0x1234); }).has_value());
}

TEST_CASE("Streams do not block and have their priority unless asked otherwise") {
  const Double hip;
  const Device device("hip:0");
  const auto flags_of = [](const Stream& stream) {
    unsigned flags = 0;
    REQUIRE(vendor<hipError_t(hipStream_t, unsigned*)>("hipStreamGetFlags")(native(stream), &flags) == hipSuccess);
    return flags;
  };
  const auto priority_of = [](const Stream& stream) {
    int priority = 0;
    REQUIRE(vendor<hipError_t(hipStream_t, int*)>("hipStreamGetPriority")(native(stream), &priority) == hipSuccess);
    return priority;
  };
  CHECK(flags_of(Stream(device)) == hipStreamNonBlocking);
  CHECK(flags_of(Stream(device, {.blocking = true})) == hipStreamDefault);
  const auto range = device.priority_range();
  CHECK(priority_of(Stream(device)) == 0);
  CHECK(priority_of(Stream(device, {.priority = range.greatest})) == range.greatest);
  CHECK(priority_of(Stream(device, {.priority = -1000})) == range.greatest);
  CHECK(priority_of(Stream(device, {.priority = 1000})) == range.least);
}

TEST_CASE("A wait with a limit returns when the limit is over and the work goes on") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  const Event event(device);
  device.synchronize();
  hip.hold(0, true);
  stream.memset32(numbers, 1);
  event.record(stream);
  CHECK_FALSE(stream.query());
  CHECK_FALSE(event.query());
  CHECK_FALSE(stream.synchronize(0ns));
  CHECK_FALSE(stream.synchronize(2ms));
  CHECK_FALSE(event.synchronize(2ms));
  CHECK_FALSE(device.synchronize(0ns));
  CHECK_FALSE(device.synchronize(2ms));
  hip.hold(0, false);
  CHECK(event.synchronize(1h));
  CHECK(stream.synchronize(1h));
  CHECK(device.synchronize(1h));
}

TEST_CASE("An event's handle stays though it is recorded while a thread waits with a limit") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  const Event event(device);
  device.synchronize();
  hip.hold(0, true);
  event.record(stream);
  const std::uint64_t handle = event.native_handle();
  std::atomic<int> waits{0};
  std::thread waiter([&] {
    while (waits < 20) {
      if (!event.synchronize(1ms)) ++waits;
    }
  });
  bool stayed = true;
  while (waits < 20) {
    event.record(stream);
    stayed = stayed && event.native_handle() == handle;
  }
  waiter.join();
  CHECK(stayed);
  hip.hold(0, false);
  event.synchronize();
}

TEST_CASE("A stream that is destroyed with work pending goes at once and its work is waited for") {
  const Double hip;
  const Device device("hip:0");
  std::atomic<bool> ran{false};
  const Stream other(device);
  device.synchronize();
  hip.hold(0, true);
  {
    const Stream stream(device);
    stream.launch_host_func([&] { ran = true; });
  }
  CHECK_FALSE(device.synchronize(0ns));
  CHECK_FALSE(ran);
  hip.hold(0, false);
  CHECK(device.synchronize(1h));
  CHECK(ran);
}

TEST_CASE("The work of a null stream counts as work of the device") {
  const Double hip;
  const Device device("hip:0");
  const Buffer numbers(device.default_stream(), 4096);
  device.synchronize();
  hip.hold(0, true);
  device.default_stream().memset32(numbers, 1);
  CHECK_FALSE(device.default_stream().query());
  CHECK_FALSE(device.synchronize(0ns));
  hip.hold(0, false);
  CHECK(device.synchronize(1h));
  CHECK(device.default_stream().query());
}

TEST_CASE("An event that was never recorded is no wait and complete") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  const Event event(device);
  CHECK(event.query());
  event.synchronize();
  CHECK(event.synchronize(0ns));
  stream.wait_event(event);
  stream.synchronize();
}

TEST_CASE("Time between events of two devices is refused with both named") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream here(device), there(other);
  const Event start(device, {.timing = true}), end(other, {.timing = true});
  start.record(here);
  end.record(there);
  here.synchronize();
  there.synchronize();
  const auto error = test::error_of([&] { static_cast<void>(anyplace::elapsed_time(start, end)); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK_THAT(error->what(), contains("hip:0") && contains("hip:1"));
}

TEST_CASE("A stream that is destroyed with work pending is destroyed at HIP when that is over") {
  const Double hip;
  const Device device("hip:0");
  const Buffer numbers(Stream(device), 4096);
  device.synchronize();
  const std::uint64_t before = hip.calls_of("hipStreamDestroy");
  const std::uint64_t alive = hip.live("stream");
  hip.hold(0, true);
  {
    const Stream stream(device);
    stream.memset32(numbers, 1);
  }
  // HIP would wait: it isn't told yet.
  CHECK(hip.calls_of("hipStreamDestroy") == before);
  hip.hold(0, false);
  device.synchronize();
  // Nobody asks any more: it goes all the same.
  while (hip.live("stream") != alive) std::this_thread::yield();
  CHECK(hip.calls_of("hipStreamDestroy") == before + 1);
}

TEST_CASE("A stream that is destroyed with nothing pending goes at once") {
  const Double hip;
  const Device device("hip:0");
  { const Stream stream(device); }
  CHECK(hip.calls_of("hipStreamDestroy") == 1);
}

TEST_CASE("Recording and waiting and asking are one call of HIP each") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device), second(device);
  const Event event(device);
  event.record(stream);
  stream.synchronize();
  const auto calls_of = [&](const auto& call) {
    const std::uint64_t before = hip.calls();
    call();
    return hip.calls() - before;
  };
  CHECK(calls_of([&] { event.record(stream); }) == 1);
  CHECK(calls_of([&] { second.wait_event(event); }) == 1);
  CHECK(calls_of([&] { static_cast<void>(stream.query()); }) == 1);
  CHECK(calls_of([&] { static_cast<void>(event.query()); }) <= 1);
}
