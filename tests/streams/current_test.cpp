// SPDX-License-Identifier: Apache-2.0
// Current devices and streams, guards, the per-thread stream.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/errors.h"
#include "support/host_gate.h"

namespace current_test {

using namespace anyplace;
using test::code_of;

TEST_CASE("Given a thread that set nothing then device 0 is current on each backend") {
  REQUIRE(current_device("cpu_sim").index() == 0);
  REQUIRE(current_device("sim_b").index() == 0);
  REQUIRE(Device("cpu_sim").index() == 0);
}

TEST_CASE("Given a current device then a bare name means it and the other backends keep theirs") {
  set_current_device(Device("cpu_sim:1"));
  REQUIRE(current_device("cpu_sim") == Device("cpu_sim:1"));
  REQUIRE(Device("cpu_sim") == Device("cpu_sim:1"));
  REQUIRE(current_device("custom_cpu") == Device("cpu_sim:1"));
  REQUIRE(current_device("sim_b").index() == 0);
}

TEST_CASE(
    "Given a current stream that was destroyed then the error says that it is the current one and of which device") {
  const Device device("cpu_sim:1");
  {
    const Stream gone(device);
    set_current_stream(gone);
  }
  const auto says_it = [&](const std::string& text) {
    CHECK_THAT(text, Catch::Contains("it was destroyed"));
    CHECK_THAT(text, Catch::Contains("still the current stream of this thread on cpu_sim:1"));
    CHECK_THAT(text, Catch::Contains("set_current_stream") && Catch::Contains("StreamGuard"));
  };
  says_it(test::error_of([&] { const Buffer buffer(device, 100); }).value().text());
  says_it(test::error_of([&] { current_stream(device).synchronize(); }).value().text());
  says_it(test::error_of([&] { static_cast<void>(current_stream(device).record_event()); }).value().text());
  // On another thread, and of a stream that isn't current, it would be wrong.
  const StreamView gone = current_stream(device);
  std::string elsewhere;
  std::thread([&] { elsewhere = test::error_of([&] { gone.synchronize(); }).value().text(); }).join();
  CHECK_THAT(elsewhere, Catch::Contains("it was destroyed") && !Catch::Contains("current stream"));
  const Stream next(device);
  set_current_stream(next);
  CHECK_THAT(test::error_of([&] { gone.synchronize(); }).value().text(), !Catch::Contains("current stream"));
}

TEST_CASE("Given a current device on one thread then another thread has its own") {
  set_current_device(Device("cpu_sim:1"));
  const Stream mine(Device("cpu_sim:1"));
  set_current_stream(mine);
  std::thread([&] {
    // Catch2's assertions are the main thread's; what is wrong here ends the case below.
    if (current_device("cpu_sim").index() != 0) throw std::logic_error("the device came along");
    if (current_stream(Device("cpu_sim:1")) == mine) throw std::logic_error("the stream came along");
    set_current_device(Device("cpu_sim:0"));
  }).join();
  REQUIRE(current_device("cpu_sim").index() == 1);
  REQUIRE(current_stream(Device("cpu_sim:1")) == mine);
}

TEST_CASE("Given no such backend or not only a name then current_device says so") {
  REQUIRE(code_of([] { current_device("cpu_sin"); }) == ErrorCode::no_such_backend);
  REQUIRE(code_of([] { current_device("cpu_sim:0"); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([] { current_device(""); }) == ErrorCode::invalid_argument);
}

TEST_CASE("Given a device guard when its scope ends or throws then the device before is current again") {
  set_current_device(Device("cpu_sim:1"));
  {
    const DeviceGuard guard(Device("cpu_sim:0"));
    REQUIRE(current_device("cpu_sim").index() == 0);
    {
      const DeviceGuard inner(Device("cpu_sim:1"));
      REQUIRE(current_device("cpu_sim").index() == 1);
    }
    REQUIRE(current_device("cpu_sim").index() == 0);
  }
  REQUIRE(current_device("cpu_sim").index() == 1);
  try {
    const DeviceGuard guard(Device("cpu_sim:0"));
    throw std::runtime_error("passes");
  } catch (const std::runtime_error&) {
  }
  REQUIRE(current_device("cpu_sim").index() == 1);
}

TEST_CASE("Given a thread and a device then the current stream starts as the null stream") {
  const Device device("cpu_sim:1");
  REQUIRE(current_stream(device) == device.default_stream());
  const Stream stream(device);
  set_current_stream(stream);
  REQUIRE(current_stream(device) == stream);
  REQUIRE(current_stream(Device("cpu_sim:0")) == Device("cpu_sim:0").default_stream());
}

TEST_CASE("Given a stream guard then it switches device and stream and restores both") {
  const Device one("cpu_sim:1");
  const Stream outer(one);
  const Stream inner(one);
  set_current_stream(outer);
  {
    const StreamGuard guard(inner);
    REQUIRE(current_device("cpu_sim") == one);
    REQUIRE(current_stream(one) == inner);
  }
  REQUIRE(current_device("cpu_sim").index() == 0);
  REQUIRE(current_stream(one) == outer);
  try {
    const StreamGuard guard(inner);
    set_current_device(Device("cpu_sim:0"));
    throw std::runtime_error("passes");
  } catch (const std::runtime_error&) {
  }
  REQUIRE(current_device("cpu_sim").index() == 0);
  REQUIRE(current_stream(one) == outer);
}

TEST_CASE("Given nothing set when a stream guard ends then the null stream is current") {
  const Device device("cpu_sim:0");
  {
    const Stream stream(device);
    const StreamGuard guard(stream);
    REQUIRE(current_stream(device) == stream);
  }
  REQUIRE(current_stream(device) == device.default_stream());
}

TEST_CASE("Given guards of nothing then everything stays as it is and what is set inside stays set") {
  const Device device("cpu_sim:1");
  const Stream outer(device);
  const Stream inner(device);
  set_current_device(device);
  set_current_stream(outer);
  {
    const DeviceGuard device_guard(std::nullopt);
    const StreamGuard stream_guard(std::nullopt);
    REQUIRE(current_device("cpu_sim") == device);
    REQUIRE(current_stream(device) == outer);
    set_current_device(Device("cpu_sim:0"));
    set_current_stream(inner);
  }
  REQUIRE(current_device("cpu_sim").index() == 0);
  REQUIRE(current_stream(device) == inner);
}

TEST_CASE("Given guards of something that may be nothing then they switch if it is there") {
  const Device device("cpu_sim:1");
  const Stream stream(device);
  for (const bool there : {true, false}) {
    const DeviceGuard device_guard(there ? std::optional(device) : std::nullopt);
    REQUIRE(current_device("cpu_sim").index() == (there ? 1 : 0));
    const StreamGuard stream_guard(there ? std::optional(stream.view()) : std::nullopt);
    REQUIRE((current_stream(device) == stream) == there);
  }
  REQUIRE(current_device("cpu_sim").index() == 0);
  REQUIRE(current_stream(device) == device.default_stream());
}

TEST_CASE("Given a null or destroyed stream then it can't be made current and nothing changes") {
  const Device device("cpu_sim:0");
  StreamView gone;
  {
    const Stream stream(device);
    gone = stream;
  }
  REQUIRE(code_of([] { set_current_stream(StreamView()); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { set_current_stream(gone); }) == ErrorCode::invalid_handle);
  REQUIRE(code_of([&] { const StreamGuard guard(gone); }) == ErrorCode::invalid_handle);
  REQUIRE(current_stream(device) == device.default_stream());
}

TEST_CASE("Given a thread then its per-thread stream is its own and blocking and the same each time") {
  const Device device("cpu_sim:0");
  const StreamView mine = device.per_thread_stream();
  REQUIRE(mine == device.per_thread_stream());
  REQUIRE(mine != device.default_stream());
  REQUIRE(mine != Device("cpu_sim:1").per_thread_stream());
  REQUIRE(std::async(std::launch::async, [&] { return device.per_thread_stream(); }).get() != mine);
  test::HostGate gate;
  gate.block(device.default_stream());
  Buffer buffer(mine, 64);
  mine.memset8(buffer, 1);
  REQUIRE_FALSE(mine.query());
  gate.open();
  mine.synchronize();
}

TEST_CASE("Given a thread that ends then its per-thread stream is retired and its work completes") {
  const Device device("cpu_sim:0");
  StreamView theirs;
  bool ran = false;
  test::HostGate gate;
  std::thread([&] {
    theirs = device.per_thread_stream();
    gate.block(theirs);
    theirs.launch_host_func([&] { ran = true; });
  }).join();
  REQUIRE(code_of([&] { static_cast<void>(theirs.query()); }) == ErrorCode::invalid_handle);
  gate.open();
  device.synchronize();
  REQUIRE(ran);
}

TEST_CASE("Given a thread_local object when its destructor asks what is current then it gets an answer") {
  struct AtEnd {
    std::promise<StreamView>* answer = nullptr;
    ~AtEnd() {
      if (answer != nullptr) answer->set_value(current_stream(Device("cpu_sim:0")));
    }
  };
  std::promise<StreamView> answer;
  const Stream stream(Device("cpu_sim:0"));
  std::thread([&] {
    static thread_local AtEnd at_end;
    at_end.answer = &answer;
    set_current_stream(stream);
  }).join();
  REQUIRE(answer.get_future().get() == stream);
}

}  // namespace current_test
