// SPDX-License-Identifier: Apache-2.0
// Order between streams of one backend.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "streams/marked.h"
#include "support/host_gate.h"

namespace wait_test {

using namespace anyplace;
using test::HostGate;
using test::Marked;

TEST_CASE("Given a wait for an event then later work is held back and earlier work isn't") {
  const Stream first(Device("cpu_sim:0"));
  Marked second(Device("cpu_sim:0"));
  HostGate gate;
  gate.block(first);
  const Event event = first.record_event();
  second.set(1);
  second.stream.record_event().synchronize();
  second.stream.wait_event(event);
  second.set(2);
  REQUIRE(second.get() == 1);
  REQUIRE_FALSE(second.stream.query());
  gate.open();
  second.stream.synchronize();
  REQUIRE(second.get() == 2);
}

TEST_CASE("Given a wait for an event when it is recorded again then the wait keeps the record it took") {
  const Device device("cpu_sim:0");
  const Stream first(device);
  const Stream later(device);
  const Stream waiting(device);
  HostGate gate;
  const Event event = first.record_event();
  first.synchronize();
  waiting.wait_event(event);
  gate.block(later);
  event.record(later);
  waiting.synchronize();
  REQUIRE_FALSE(event.query());
}

TEST_CASE("Given a pending record when the event is recorded on an idle stream then a wait still waits for the first") {
  const Device device("cpu_sim:0");
  const Stream blocked(device);
  const Stream idle(device);
  const Stream waiting(device);
  HostGate gate;
  gate.block(blocked);
  const Event event = blocked.record_event();
  waiting.wait_event(event);
  event.record(idle);
  event.synchronize();
  REQUIRE_FALSE(waiting.query());
  gate.open();
  waiting.synchronize();
}

TEST_CASE("Given two devices when one waits for the other then the host goes on and the order holds") {
  const Stream first(Device("cpu_sim:0"));
  Marked second(Device("cpu_sim:1"));
  HostGate gate;
  gate.block(first);
  second.stream.wait_event(first.record_event());
  second.set(1);
  REQUIRE(second.get() == 0);
  gate.open();
  second.stream.synchronize();
  REQUIRE(second.get() == 1);
}

TEST_CASE("Given two streams when one waits for the other then that is for all submitted so far and no more") {
  const Device device("cpu_sim:0");
  const Stream first(device);
  const Stream second(device);
  int steps = 0;
  int seen = 0;
  HostGate gate;
  gate.block(first);
  first.launch_host_func([&] { ++steps; });
  second.wait_stream(first);
  second.launch_host_func([&] { seen = steps; });
  REQUIRE_FALSE(second.query());
  gate.open();
  second.synchronize();
  REQUIRE(seen == 1);
  HostGate after;
  after.block(first);
  second.synchronize();
  REQUIRE_FALSE(first.query());
}

TEST_CASE("Given a stream when it waits for itself then nothing is held up") {
  const Stream stream(Device("cpu_sim:0"));
  stream.wait_stream(stream);
  const Event event = stream.record_event();
  stream.wait_event(event);
  stream.synchronize();
}

TEST_CASE("Given a chain of streams over two devices then the last one's work comes last") {
  std::vector<Stream> streams;
  std::vector<int> order;
  for (int i = 0; i < 16; ++i) {
    streams.emplace_back(Device(i % 2 == 0 ? "cpu_sim:0" : "cpu_sim:1"));
    if (i > 0) streams.back().wait_stream(streams[static_cast<std::size_t>(i) - 1]);
    streams.back().launch_host_func([&order, i] { order.push_back(i); });
  }
  streams.back().synchronize();
  REQUIRE(order.size() == 16);
  REQUIRE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace wait_test
