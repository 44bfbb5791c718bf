// SPDX-License-Identifier: Apache-2.0
// What may not happen while a stream is captured: it is refused with the reason, and invalidates the capture.
#include <chrono>
#include <future>

#include "graphs/graph_support.h"

namespace capture_refusals_test {

using namespace anyplace;
using test::graph_device;
using test::required_error;

/// The call is refused, and ends the capture that began on `stream`.
void require_invalidates(const Stream& stream, test::CallRef call) {
  const Error error = required_error(ErrorCode::capturing, call);
  CHECK_FALSE(error.problem().empty());
  CHECK_FALSE(error.remedy().empty());
  CHECK(stream.capture_status() == CaptureStatus::invalidated);
  const Error later = required_error(ErrorCode::capture_invalidated, [&] { stream.launch_host_func([] {}); });
  CHECK_THAT(later.what(), Catch::Contains(std::string(error.operation())));
  const Error ended = required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(stream.end_capture()); });
  CHECK_THAT(ended.what(), Catch::Contains(std::string(error.problem())));
  CHECK(stream.capture_status() == CaptureStatus::none);
  stream.launch_host_func([] {});
  stream.synchronize();
}

TEST_CASE(
    "Given a capture when what it can't tell is asked or waited for then each error says what was called and why") {
  const Device device = graph_device();
  const Stream stream(device);
  const Event event(device);
  const Event outside = Stream(device).record_event();
  stream.begin_capture();
  event.record(stream);
  SECTION("the stream") {
    require_invalidates(stream, [&] { static_cast<void>(stream.query()); });
  }
  SECTION("the stream, for a while") {
    require_invalidates(stream, [&] { static_cast<void>(stream.synchronize(std::chrono::milliseconds(1))); });
  }
  SECTION("an event of it, for a while") {
    require_invalidates(stream, [&] { static_cast<void>(event.synchronize(std::chrono::milliseconds(1))); });
  }
  SECTION("an event of outside") {
    require_invalidates(stream, [&] { stream.wait_event(outside); });
  }
}

TEST_CASE("Given two captures when one waits for the other's event then both are invalidated") {
  const Device device = graph_device();
  const Stream first(device);
  const Stream second(device);
  first.begin_capture();
  second.begin_capture();
  const Event event = first.record_event();
  required_error(ErrorCode::capturing, [&] { second.wait_event(event); });
  required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(first.end_capture()); });
  required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(second.end_capture()); });
}

TEST_CASE("Given a stream that joined when it isn't waited for then the capture can't end well") {
  const Device device = graph_device();
  const Stream origin(device);
  const Stream branch(device);
  origin.begin_capture();
  branch.wait_event(origin.record_event());
  branch.launch_host_func([] {});
  const Error error = required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(origin.end_capture()); });
  CHECK_THAT(error.what(), Catch::Contains(std::to_string(branch.id())));
  REQUIRE_FALSE(origin.is_capturing());
  REQUIRE_FALSE(branch.is_capturing());
}

TEST_CASE("Given a capture when it is ended on a stream that joined then that is refused") {
  const Device device = graph_device();
  const Stream origin(device);
  const Stream other(device);
  origin.begin_capture();
  other.wait_event(origin.record_event());
  require_invalidates(origin, [&] { static_cast<void>(other.end_capture()); });
}

TEST_CASE("Given the null stream then it can't be captured and a blocking stream's capture forbids its use") {
  const Device device = graph_device();
  const StreamView null_stream = current_stream(device);
  required_error(ErrorCode::invalid_argument, [&] { null_stream.begin_capture(); });
  const Stream blocking(device, {.blocking = true});
  const Stream plain(device);
  SECTION("of a stream that isn't blocking: it may be used") {
    plain.begin_capture();
    null_stream.launch_host_func([] {});
    null_stream.synchronize();
    REQUIRE(plain.end_capture().size() == 0);
  }
  SECTION("work") {
    blocking.begin_capture();
    require_invalidates(blocking, [&] { null_stream.launch_host_func([] {}); });
  }
  SECTION("record") {
    blocking.begin_capture();
    require_invalidates(blocking, [&] { static_cast<void>(null_stream.record_event()); });
  }
  SECTION("query") {
    blocking.begin_capture();
    require_invalidates(blocking, [&] { static_cast<void>(null_stream.query()); });
  }
  SECTION("it can't join") {
    plain.begin_capture();
    const Event event = plain.record_event();
    require_invalidates(plain, [&] { null_stream.wait_event(event); });
  }
  null_stream.launch_host_func([] {});
  null_stream.synchronize();
}

TEST_CASE("Given a capture then its mode says who may make calls that act on a whole device") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream other(device);
  const auto elsewhere = [](auto call) {
    return std::async(std::launch::async, [&] { return test::code_of(call); }).get();
  };
  // More than the caches have of it: they are never refused what they have.
  empty_cache(device);
  std::uint64_t bytes = 1 << 20;
  const auto allocate = [&] { const Buffer buffer(other, bytes *= 2); };
  const auto pin = [&] { const HostBuffer buffer(device, bytes *= 2); };
  const auto synchronize = [&] { device.synchronize(); };
  SECTION("global: nobody") {
    stream.begin_capture(CaptureMode::global);
    REQUIRE(elsewhere(allocate) == ErrorCode::capturing);
    required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(stream.end_capture()); });
    stream.begin_capture(CaptureMode::global);
    REQUIRE(elsewhere(synchronize) == ErrorCode::capturing);
    required_error(ErrorCode::capture_invalidated, [&] { static_cast<void>(stream.end_capture()); });
    stream.begin_capture(CaptureMode::global);
    require_invalidates(stream, pin);
  }
  SECTION("thread_local_: the capturing thread may not") {
    stream.begin_capture(CaptureMode::thread_local_);
    REQUIRE(elsewhere(allocate) == ErrorCode::ok);
    REQUIRE(elsewhere(pin) == ErrorCode::ok);
    REQUIRE(elsewhere(synchronize) == ErrorCode::ok);
    require_invalidates(stream, allocate);
    stream.begin_capture(CaptureMode::thread_local_);
    require_invalidates(stream, synchronize);
  }
  SECTION("relaxed: everybody") {
    stream.begin_capture(CaptureMode::relaxed);
    allocate();
    pin();
    synchronize();
    empty_cache(device);
    REQUIRE(stream.end_capture().size() == 0);
  }
}

TEST_CASE("Given a capture then what the caches have at hand is had in every mode and on every thread") {
  const Device device = graph_device();
  const Stream stream(device);
  const Stream other(device);
  const auto use = [&] {
    const Buffer plain(other, 1 << 20);
    const Buffer aligned(other, 3 << 20, {.alignment = 4096});
    const HostBuffer pinned(device, 1 << 20);
    REQUIRE(aligned.address() % 4096 == 0);
    other.fill(plain.as<int>(), 7);
    other.synchronize();
  };
  empty_cache(device);
  use();
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    stream.begin_capture(mode);
    const Buffer captured(stream, 512);
    stream.fill(captured.as<int>(), 1);
    for (int time = 0; time < 3; ++time) {
      use();
      std::async(std::launch::async, use).get();
    }
    REQUIRE(stream.end_capture().size() == 1);
  }
  SECTION("what they haven't got is asked for, and refused") {
    stream.begin_capture(CaptureMode::global);
    require_invalidates(stream, [&] { const Buffer larger(other, 64 << 20); });
  }
}

TEST_CASE("Given a captured stream then the vendor's stream isn't handed out") {
  const Device device = graph_device();
  const Stream stream(device);
  if (!device.has(Capability::native_handles)) return;
  stream.begin_capture();
  required_error(ErrorCode::capturing, [&] { static_cast<void>(stream.native_handle()); });
  REQUIRE(stream.end_capture().size() == 0);
}

}  // namespace capture_refusals_test
