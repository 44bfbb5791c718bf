// SPDX-License-Identifier: Apache-2.0
//
// Streams and events, where the vendor has something of its own: the null stream, priorities, waits with a limit, what
// destroyed streams leave behind.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support.h"
#include "support/process.h"

namespace stream_test {

namespace {

using namespace vendor_test;
using namespace std::chrono_literals;

NativeStream native(anyplace::StreamView stream) { return reinterpret_cast<NativeStream>(stream.native_handle()); }

}  // namespace

TEST_CASE("The null stream of the vendor is wrapped by each of its names") {
  const Double driver;
  const Device device(place(0));
  for (const std::uint64_t handle : {std::uint64_t{0}, std::uint64_t{1}}) {
    const Stream wrapped = Stream::from_native(device, handle);
    const Buffer numbers(wrapped, 4096);
    wrapped.memset32(numbers, 1);
    wrapped.synchronize();
  }
}

TEST_CASE("A stream of another library is wrapped and left alone") {
  const Double driver;
  const Device device(place(0));
  const NativeStream theirs = make_stream_of_another_library(device);
  {
    const Stream wrapped = Stream::from_native(device, reinterpret_cast<std::uint64_t>(theirs));
    CHECK(native(wrapped) == theirs);
    const Buffer numbers(wrapped, 4096);
    wrapped.memset32(numbers, 1);
    wrapped.synchronize();
  }
  CHECK(vendor<Result(NativeStream)>(call::synchronize_stream)(theirs) == result::success);
  CHECK(vendor<Result(NativeStream)>(call::destroy_stream)(theirs) == result::success);
}

TEST_CASE("A handle that is another stream in each thread is not wrapped") {
  const Double driver;
  const Device device(place(0));
  const anyplace::Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { Stream::from_native(device, 2); });
  CHECK_THAT(error.what(), contains(per_thread_stream));
}

TEST_CASE("Streams do not block and have their priority unless asked otherwise") {
  const Double driver;
  const Device device(place(0));
  CHECK(flags_of(native(Stream(device))) == non_blocking_stream);
  CHECK(flags_of(native(Stream(device, {.blocking = true}))) == blocking_stream);
  const auto range = device.priority_range();
  CHECK(priority_of(native(Stream(device))) == 0);
  CHECK(priority_of(native(Stream(device, {.priority = range.greatest}))) == range.greatest);
  CHECK(priority_of(native(Stream(device, {.priority = -1000}))) == range.greatest);
  CHECK(priority_of(native(Stream(device, {.priority = 1000}))) == range.least);
}

TEST_CASE("An event's handle stays though it is recorded while a thread waits with a limit") {
  const Double driver;
  const Device device(place(0));
  const Stream stream(device);
  const Event event(device);
  device.synchronize();
  driver.hold(0, true);
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
  driver.hold(0, false);
  event.synchronize();
}

TEST_CASE("A stream that is destroyed with nothing pending goes at once") {
  const Double driver;
  const Device device(place(0));
  { const Stream stream(device); }
  CHECK(driver.calls_of(call::destroy_stream) == 1);
}

TEST_CASE("The work of a null stream counts as work of the device") {
  const Double driver;
  const Device device(place(0));
  const Buffer numbers(device.default_stream(), 4096);
  device.synchronize();
  driver.hold(0, true);
  device.default_stream().memset32(numbers, 1);
  CHECK_FALSE(device.default_stream().query());
  CHECK_FALSE(device.synchronize(0ns));
  driver.hold(0, false);
  CHECK(device.synchronize(1h));
  CHECK(device.default_stream().query());
}

TEST_CASE("Time between events of two devices is refused with both named") {
  const Double driver;
  const Device device(place(0)), other(place(1));
  const Stream here(device), there(other);
  const Event start(device, {.timing = true}), end(other, {.timing = true});
  start.record(here);
  end.record(there);
  here.synchronize();
  there.synchronize();
  const anyplace::Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { static_cast<void>(anyplace::elapsed_time(start, end)); });
  CHECK_THAT(error.what(), contains(place(0)) && contains(place(1)));
}

TEST_CASE("Recording and waiting and asking are one call of the vendor each") {
  const Double driver;
  const Device device(place(0));
  const Stream stream(device), second(device);
  const Event event(device);
  event.record(stream);
  stream.synchronize();
  const auto calls_of = [&](const auto& call) {
    const std::uint64_t before = driver.calls();
    call();
    return driver.calls() - before;
  };
  CHECK(calls_of([&] { event.record(stream); }) == 1);
  CHECK(calls_of([&] { second.wait_event(event); }) == 1);
  CHECK(calls_of([&] { static_cast<void>(stream.query()); }) == 1);
  CHECK(calls_of([&] { static_cast<void>(event.query()); }) <= 1);
}

TEST_CASE("Events that never complete hold up neither queries nor waits with a limit nor the end of the process") {
  const test::Ended child = test::in_child([] {
    const anyplace::doubles::Control driver(library_name, true);
    const Device device(place(0));
    static Stream& kept = *new Stream(device);
    kept.synchronize();
    driver.hold(0, true);
    {
      const Stream stream(device);
      const Event event(device);
      const Buffer numbers(stream, 4096);
      stream.memset32(numbers, 1);
      kept.wait_stream(stream);
      event.record(stream);
      const bool none = !stream.query() && !event.query() && !stream.synchronize(std::chrono::milliseconds(1)) &&
                        !event.synchronize(std::chrono::milliseconds(1)) &&
                        !device.synchronize(std::chrono::milliseconds(1));
      std::printf("%s\n", none ? "not done" : "done");
    }
    std::exit(0);
    return 0;
  });
  INFO(child.out);
  CHECK_FALSE(child.hung);
  CHECK(child.signal == 0);
  CHECK_THAT(child.out, contains("not done"));
}

}  // namespace stream_test
