// SPDX-License-Identifier: Apache-2.0
// Every call of streams and events with a null handle, a destroyed one, a made-up one, and one of another device.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/errors.h"

namespace bad_handle_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;

namespace {

using Calls = std::vector<std::pair<std::string, std::function<void()>>>;

Calls stream_calls(StreamView bad, const Stream& good, const Event& event, Buffer& buffer, const Kernel& kernel) {
  static std::vector<std::uint8_t> host(64);
  return {
      {"device", [=] { bad.device(); }},
      {"priority", [=] { bad.priority(); }},
      {"native_handle", [=] { bad.native_handle(); }},
      {"query", [=] { static_cast<void>(bad.query()); }},
      {"synchronize", [=] { bad.synchronize(); }},
      {"synchronize with a timeout", [=] { static_cast<void>(bad.synchronize(1ms)); }},
      {"record_event", [=] { bad.record_event(); }},
      {"record_event of an event", [=, &event] { bad.record_event(event.view()); }},
      {"wait_event", [=, &event] { bad.wait_event(event); }},
      {"wait_stream", [=, &good] { bad.wait_stream(good); }},
      {"wait_stream for it", [=, &good] { good.wait_stream(bad); }},
      {"launch_host_func", [=] { bad.launch_host_func([] {}); }},
      {"copy up", [=, &buffer] { bad.copy(buffer, host); }},
      {"copy down", [=, &buffer] { bad.copy(host, buffer); }},
      {"copy", [=, &buffer] { bad.copy(buffer.sub(0, 8), buffer.sub(8, 8)); }},
      {"copy_2d", [=, &buffer] { bad.copy_2d(buffer, 8, ConstHostSpan(host), 8, 8, 8); }},
      {"memset8", [=, &buffer] { bad.memset8(buffer, 1); }},
      {"memset16", [=, &buffer] { bad.memset16(buffer, 1); }},
      {"memset32", [=, &buffer] { bad.memset32(buffer, 1); }},
      {"launch",
       [=, &kernel] {
         bad.launch(kernel, {1, 1});
       }},
      {"Event::record", [=, &event] { event.record(bad); }},
      {"set_current_stream", [=] { set_current_stream(bad); }},
      {"StreamGuard", [=] { const StreamGuard guard(bad); }},
      {"Buffer", [=] { const Buffer made(bad, 16); }},
      {"record_stream", [=, &buffer] { buffer.record_stream(bad); }},
  };
}

Calls event_calls(EventView bad, const Event& good, const Stream& stream) {
  return {
      {"device", [=] { bad.device(); }},
      {"record", [=, &stream] { bad.record(stream); }},
      {"query", [=] { static_cast<void>(bad.query()); }},
      {"synchronize", [=] { bad.synchronize(); }},
      {"synchronize with a timeout", [=] { static_cast<void>(bad.synchronize(1ms)); }},
      {"native_handle", [=] { bad.native_handle(); }},
      {"elapsed_time from it", [=, &good] { elapsed_time(bad, good); }},
      {"elapsed_time to it", [=, &good] { elapsed_time(good, bad); }},
      {"wait_event", [=, &stream] { stream.wait_event(bad); }},
      {"record_event", [=, &stream] { stream.record_event(bad); }},
  };
}

void require_invalid(const Calls& calls) {
  for (const auto& [name, call] : calls) {
    INFO(name);
    REQUIRE(code_of(call) == ErrorCode::invalid_handle);
  }
}

struct Objects {
  Device device{"cpu_sim:0"};
  Stream stream{device};
  Event event{device, {.timing = true}};
  Buffer buffer{stream, 64};
  Kernel kernel{device, [](const Block&) {}};
};

}  // namespace

TEST_CASE("Given a null stream handle then every call with it is an invalid handle") {
  Objects all;
  require_invalid(stream_calls(StreamView(), all.stream, all.event, all.buffer, all.kernel));
}

TEST_CASE("Given a destroyed stream then every call with its handle is an invalid handle") {
  Objects all;
  StreamView gone;
  {
    const Stream stream(all.device);
    gone = stream;
  }
  const Stream takes_its_slot(all.device);
  require_invalid(stream_calls(gone, all.stream, all.event, all.buffer, all.kernel));
}

TEST_CASE("Given a made-up stream handle then every call with it is an invalid handle") {
  Objects all;
  for (const std::uint64_t id : {std::uint64_t{1}, std::uint64_t{0xFFFFFF}, all.stream.id() + (1 << 24),
                                 ~std::uint64_t{0}, std::uint64_t{12345} << 24}) {
    INFO(id);
    require_invalid(stream_calls(StreamView(id), all.stream, all.event, all.buffer, all.kernel));
  }
}

TEST_CASE("Given a null event handle then every call with it is an invalid handle") {
  Objects all;
  require_invalid(event_calls(EventView(), all.event, all.stream));
}

TEST_CASE("Given a destroyed event then every call with its handle is an invalid handle") {
  Objects all;
  EventView gone;
  {
    const Event event(all.device, {.timing = true});
    gone = event;
  }
  const Event takes_its_slot(all.device);
  require_invalid(event_calls(gone, all.event, all.stream));
}

TEST_CASE("Given a made-up event handle then every call with it is an invalid handle") {
  Objects all;
  for (const std::uint64_t id :
       {std::uint64_t{1}, std::uint64_t{0xFFFFFF}, all.event.id() + (1 << 24), ~std::uint64_t{0}}) {
    INFO(id);
    require_invalid(event_calls(EventView(id), all.event, all.stream));
  }
}

TEST_CASE("Given an invalid handle then the error says what happened to it and which call it was") {
  const auto null = test::error_of([] { StreamView().synchronize(); });
  REQUIRE(null);
  REQUIRE(null->operation() == "Stream::synchronize");
  REQUIRE(null->text().find("null") != std::string::npos);
  EventView gone;
  {
    const Event event(Device("cpu_sim:0"));
    gone = event;
  }
  const auto destroyed = test::error_of([&] { gone.synchronize(); });
  REQUIRE(destroyed);
  REQUIRE(destroyed->operation() == "Event::synchronize");
  REQUIRE(destroyed->text().find("destroyed") != std::string::npos);
}

TEST_CASE("Given handles of another device then what must be of one names both places and waiting is allowed") {
  Objects all;
  const Device one("cpu_sim:1");
  const Stream stream(one);
  const Event event(one);
  const std::vector<std::uint8_t> host(64);
  const Calls calls = {
      {"Event::record", [&] { event.record(all.stream); }},
      {"record_event", [&] { stream.record_event(all.event.view()); }},
      {"memset8", [&] { stream.memset8(all.buffer, 1); }},
      {"copy", [&] { stream.copy(all.buffer, host); }},
      {"launch",
       [&] {
         stream.launch(all.kernel, {1, 1});
       }},
  };
  for (const auto& [name, call] : calls) {
    INFO(name);
    const auto error = test::error_of(call);
    REQUIRE(error);
    REQUIRE(error->code() == ErrorCode::invalid_argument);
    const std::string what = error->what();
    INFO(what);
    REQUIRE(what.find("cpu_sim:0") != std::string::npos);
    REQUIRE(what.find("cpu_sim:1") != std::string::npos);
  }
  stream.wait_event(all.event);
  stream.wait_stream(all.stream);
  stream.synchronize();
}

}  // namespace bad_handle_test
