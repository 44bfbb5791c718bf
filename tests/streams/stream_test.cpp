// SPDX-License-Identifier: Apache-2.0
// Streams: order, state, timeouts, identity, faults.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "support/errors.h"
#include "support/host_gate.h"

namespace stream_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::HostGate;

TEST_CASE("Given work on one stream when it runs then it runs in the order of submission") {
  const Stream stream(Device("cpu_sim:0"));
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) stream.launch_host_func([&order, i] { order.push_back(i); });
  stream.synchronize();
  REQUIRE(order.size() == 1000);
  for (int i = 0; i < 1000; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("Given pending work when the stream is asked then query is false and after synchronize true") {
  const Stream stream(Device("cpu_sim:0"));
  REQUIRE(stream.query());
  HostGate gate;
  gate.block(stream);
  REQUIRE_FALSE(stream.query());
  gate.open();
  stream.synchronize();
  REQUIRE(stream.query());
}

TEST_CASE("Given a blocked stream when another one works then it isn't held up") {
  const Device device("cpu_sim:0");
  const Stream blocked(device);
  const Stream other(device);
  HostGate gate;
  gate.block(blocked);
  Buffer buffer(other, 4096);
  other.memset8(buffer, 1);
  other.synchronize();
  REQUIRE_FALSE(blocked.query());
}

TEST_CASE("Given pending work when synchronize has a timeout then it is false and the work goes on") {
  const Stream stream(Device("cpu_sim:0"));
  HostGate gate;
  gate.block(stream);
  bool ran = false;
  stream.launch_host_func([&] { ran = true; });
  REQUIRE_FALSE(stream.synchronize(0ns));
  REQUIRE_FALSE(stream.synchronize(2ms));
  REQUIRE_FALSE(stream.synchronize(-5s));
  gate.open();
  REQUIRE(stream.synchronize(std::chrono::hours(1)));
  REQUIRE(ran);
  REQUIRE(stream.synchronize(0ns));
  REQUIRE(stream.synchronize(std::chrono::nanoseconds::max()));
}

TEST_CASE("Given a priority outside the range when a stream is made then it has the nearest end") {
  const Device device("cpu_sim:0");
  const PriorityRange range = device.priority_range();
  REQUIRE(range.least >= 0);
  REQUIRE(range.greatest <= 0);
  REQUIRE(Stream(device).priority() == 0);
  REQUIRE(Stream(device, {.priority = 1'000'000}).priority() == range.least);
  REQUIRE(Stream(device, {.priority = -1'000'000}).priority() == range.greatest);
  REQUIRE(Stream(device, {.priority = range.greatest}).priority() == range.greatest);
  REQUIRE(device.default_stream().priority() == 0);
}

TEST_CASE("Given a blocking stream when the null stream has work then it waits for it and another doesn't") {
  const Device device("cpu_sim:0");
  const Stream blocking(device, {.blocking = true});
  const Stream free(device);
  HostGate gate;
  gate.block(device.default_stream());
  Buffer one(free, 64);
  Buffer two(free, 64);
  blocking.memset8(one, 1);
  free.memset8(two, 1);
  free.synchronize();
  REQUIRE_FALSE(blocking.query());
  gate.open();
  blocking.synchronize();
  REQUIRE(device.default_stream().query());
}

TEST_CASE("Given a device when its null stream is asked for then it is the same each time") {
  const Device device("cpu_sim:0");
  const StreamView first = device.default_stream();
  REQUIRE(first == device.default_stream());
  REQUIRE(first != Device("cpu_sim:1").default_stream());
  REQUIRE(first.device() == device);
}

TEST_CASE("Given streams that come and go then no identity is ever reused") {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 2000; ++i) {
    const Stream stream(Device("cpu_sim:0"));
    REQUIRE(stream.id() != 0);
    REQUIRE(seen.insert(stream.id()).second);
  }
}

TEST_CASE("Given two views when they are compared then equality and order and hash go by identity") {
  const Stream a(Device("cpu_sim:0"));
  const Stream b(Device("cpu_sim:0"));
  const StreamView view = a.view();
  REQUIRE(view == a);
  REQUIRE(view != b);
  REQUIRE((a < b) == (a.id() < b.id()));
  REQUIRE(std::hash<StreamView>()(view) == std::hash<StreamView>()(a));
  const std::unordered_set<StreamView> set{a, b, view};
  REQUIRE(set.size() == 2);
  REQUIRE_FALSE(StreamView());
  REQUIRE(view);
}

TEST_CASE("Given a stream when it is moved then its identity goes along and the source is null") {
  Stream a(Device("cpu_sim:0"));
  const std::uint64_t id = a.id();
  Stream b = std::move(a);
  REQUIRE(b.id() == id);
  REQUIRE(a.id() == 0);  // NOLINT: what is left behind is the point
  Stream c(Device("cpu_sim:0"));
  const StreamView gone = c;
  c = std::move(b);
  REQUIRE(c.id() == id);
  REQUIRE(code_of([&] { static_cast<void>(gone.query()); }) == ErrorCode::invalid_handle);
  Stream& itself = c;
  c = std::move(itself);
  REQUIRE(c.id() == id);
  REQUIRE(c.query());
}

TEST_CASE("Given pending work when its stream is destroyed then that returns at once and the work completes") {
  const Device device("cpu_sim:0");
  HostGate gate;
  bool ran = false;
  {
    const Stream stream(device);
    gate.block(stream);
    stream.launch_host_func([&] { ran = true; });
  }
  REQUIRE_FALSE(device.synchronize(1ms));
  gate.open();
  device.synchronize();
  REQUIRE(ran);
}

TEST_CASE("Given a stream of one device when another is current then it still runs on its own") {
  const Device one("cpu_sim:1");
  const Stream stream(one);
  const DeviceGuard guard(Device("cpu_sim:0"));
  REQUIRE(stream.device() == one);
  Buffer buffer(stream, 16);
  REQUIRE(buffer.device() == one);
  stream.memset8(buffer, 3);
  std::vector<std::uint8_t> host(16);
  stream.copy(host, buffer);
  stream.synchronize();
  REQUIRE(host == std::vector<std::uint8_t>(16, 3));
}

TEST_CASE("Given a native handle when a stream is made from it then it runs there and never destroys it") {
  const Device device("cpu_sim:0");
  const Stream owner(device);
  const std::uint64_t native = owner.native_handle();
  REQUIRE(native != 0);
  {
    const Stream wrapper = Stream::from_native(device, native);
    REQUIRE(wrapper != owner);
    REQUIRE(wrapper.native_handle() == native);
    HostGate gate;
    gate.block(wrapper);
    REQUIRE_FALSE(owner.query());
    gate.open();
    wrapper.synchronize();
  }
  REQUIRE(owner.query());
  owner.launch_host_func([] {});
  owner.synchronize();
}

// ---- Faults --------------------------------------------------------------------------------------------------------

TEST_CASE("Given a fault when the stream is asked then query shows it and synchronize reports it once") {
  const Stream stream(Device("cpu_sim:0"));
  stream.launch_host_func([] { throw std::runtime_error("first of two"); });
  stream.launch_host_func([] { throw std::runtime_error("second of two"); });
  Device("cpu_sim:0").synchronize();
  for (int i = 0; i < 3; ++i) {
    const auto shown = test::error_of([&] { static_cast<void>(stream.query()); });
    REQUIRE(shown);
    REQUIRE(shown->code() == ErrorCode::host_function_failed);
    REQUIRE(shown->text() == "first of two");
    REQUIRE(shown->place() == "cpu_sim:0");
  }
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
  stream.synchronize();
  REQUIRE(stream.query());
}

TEST_CASE("Given a fault when later work was submitted then it still runs") {
  const Stream stream(Device("cpu_sim:0"));
  bool ran = false;
  stream.launch_host_func([] { throw 42; });
  stream.launch_host_func([&] { ran = true; });
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
  REQUIRE(ran);
}

TEST_CASE("Given a fault when synchronize has a timeout then time running out leaves it and success reports it") {
  const Stream stream(Device("cpu_sim:0"));
  HostGate gate;
  stream.launch_host_func([] { throw std::runtime_error("early"); });
  gate.block(stream);
  gate.wait_until_reached();
  REQUIRE_FALSE(stream.synchronize(0ns));
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::host_function_failed);
  gate.open();
  REQUIRE(code_of([&] { static_cast<void>(stream.synchronize(1h)); }) == ErrorCode::host_function_failed);
  REQUIRE(stream.synchronize(1h));
}

TEST_CASE("Given a fault on one stream when another is synchronized then it says nothing") {
  const Device device("cpu_sim:0");
  const Stream bad(device);
  const Stream good(device);
  bad.launch_host_func([] { throw std::runtime_error("mine"); });
  device.synchronize();
  good.synchronize();
  REQUIRE(good.query());
  REQUIRE(code_of([&] { bad.synchronize(); }) == ErrorCode::host_function_failed);
}

TEST_CASE("Given a fault nobody collected when the stream is destroyed then the error handler gets it") {
  const test::Reports reports;
  {
    const Stream stream(Device("cpu_sim:0"));
    stream.launch_host_func([] { throw std::runtime_error("left behind"); });
    Device("cpu_sim:0").synchronize();
    REQUIRE(reports.all().empty());
  }
  const auto errors = reports.all();
  REQUIRE(errors.size() == 1);
  REQUIRE(errors[0].code() == ErrorCode::host_function_failed);
  REQUIRE(errors[0].text() == "left behind");
}

TEST_CASE("Given a destroyed stream when its work faults then the error handler gets it") {
  const test::Reports reports;
  HostGate gate;
  {
    const Stream stream(Device("cpu_sim:0"));
    gate.block(stream);
    stream.launch_host_func([] { throw std::runtime_error("too late"); });
  }
  gate.open();
  Device("cpu_sim:0").synchronize();
  const auto errors = reports.wait_for(1);
  REQUIRE(errors.size() == 1);
  REQUIRE(errors[0].text() == "too late");
}

TEST_CASE("Given an error handler that calls anyplace then that is refused and not waited for") {
  const Device device("cpu_sim:0");
  std::promise<ErrorCode> refused;
  const anyplace::ErrorHandler before = anyplace::set_error_handler(
      [&](const anyplace::Error&) { refused.set_value(code_of([&] { device.synchronize(); })); });
  HostGate gate;
  {
    const Stream stream(device);
    gate.block(stream);
    stream.launch_host_func([] { throw std::runtime_error("too late"); });
  }
  gate.open();
  const ErrorCode code = refused.get_future().get();
  anyplace::set_error_handler(before);
  REQUIRE(code == ErrorCode::not_permitted);
}

}  // namespace stream_test
