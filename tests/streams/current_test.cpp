// SPDX-License-Identifier: Apache-2.0
// Current devices and streams: guards of nothing, current streams that are gone, threads that end.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "support/errors.h"

namespace current_test {

using namespace anyplace;
using test::code_of;

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

TEST_CASE("Given no such backend or not only a name then what takes a name alone says so") {
  REQUIRE(code_of([] { current_device("cpu_sin"); }) == ErrorCode::no_such_backend);
  REQUIRE(code_of([] { current_device("cpu_sim:0"); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([] { current_device(""); }) == ErrorCode::invalid_argument);
  REQUIRE(code_of([] { device_count("cpu_sin"); }) == ErrorCode::no_such_backend);
  REQUIRE(code_of([] { devices("cpu_sim:0"); }) == ErrorCode::invalid_argument);
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
