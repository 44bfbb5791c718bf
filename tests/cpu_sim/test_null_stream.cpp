// SPDX-License-Identifier: Apache-2.0
//
// The null stream's rule, both ways, and who it doesn't concern.
#include <catch2/catch.hpp>
#include <memory>

#include "plugin.h"

namespace test_null_stream_cases {

using namespace cpu_sim_test;

TEST_CASE("Given work on blocking streams, When work is given to the null stream, Then it waits for theirs") {
  Plugin plugin;
  Gate gate_a(plugin), gate_b(plugin);
  Stream null(plugin, Stream::null()), a(plugin, Stream::blocking()), b(plugin, Stream::blocking());
  std::atomic<bool> ran{false};
  a.wait(gate_a);
  b.wait(gate_b);
  null.run([&] { ran = true; });
  gate_a.open();
  CHECK(a.synchronize());
  CHECK_FALSE(null.synchronize(millisecond));
  CHECK_FALSE(ran);
  gate_b.open();
  CHECK(null.synchronize());
  CHECK(ran);
}

TEST_CASE(
    "Given work on the null stream, When work is given to blocking streams, Then it waits for the null stream's") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null()), a(plugin, Stream::blocking()), b(plugin, Stream::blocking());
  std::atomic<int> ran{0};
  null.wait(gate);
  a.run([&] { ++ran; });
  b.host([&] { ++ran; });
  CHECK_FALSE(a.synchronize(millisecond));
  CHECK_FALSE(b.synchronize(0));
  CHECK(ran == 0);
  gate.open();
  CHECK(a.synchronize());
  CHECK(b.synchronize());
  CHECK(ran == 2);
}

TEST_CASE("Given streams that aren't blocking, or of another device, Then the null stream's rule isn't theirs") {
  Plugin plugin;
  Gate null_gate(plugin), stream_gate(plugin);
  Stream null(plugin, Stream::null()), free_stream(plugin);
  Stream elsewhere(plugin, {1, 0, ANYPLACE_STREAM_BLOCKING});
  free_stream.wait(stream_gate);
  elsewhere.wait(stream_gate);
  null.run([] {});
  CHECK(null.synchronize());
  null.wait(null_gate);
  stream_gate.open();
  free_stream.run([] {});
  elsewhere.run([] {});
  CHECK(free_stream.synchronize());
  CHECK(elsewhere.synchronize());
  CHECK_FALSE(null.done());
  null_gate.open();
  CHECK(null.synchronize());
}

TEST_CASE("Given work on a blocking stream, When an event is recorded on the null stream, Then it is done only after") {
  Plugin plugin;
  for (std::uint32_t flags : {0u, std::uint32_t{ANYPLACE_EVENT_TIMING}}) {
    Gate gate(plugin);
    Stream null(plugin, Stream::null()), blocking(plugin, Stream::blocking());
    Event event(plugin, flags);
    blocking.wait(gate);
    null.record(event);
    CHECK_FALSE(event.done());
    gate.open();
    CHECK(event.synchronize());
    CHECK(blocking.done());
  }
}

TEST_CASE("Given work on the null stream, When an event is recorded on a blocking stream, Then it is done only after") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null()), blocking(plugin, Stream::blocking());
  Event event(plugin);
  null.wait(gate);
  blocking.record(event);
  CHECK_FALSE(event.done());
  gate.open();
  CHECK(event.synchronize());
}

TEST_CASE("Given a wait on the null stream for what is done, Then it still orders blocking streams around it") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null()), a(plugin, Stream::blocking()), b(plugin, Stream::blocking());
  Event never_recorded(plugin);
  a.wait(gate);
  null.wait(never_recorded);
  b.run([] {});
  CHECK_FALSE(b.synchronize(millisecond));
  gate.open();
  CHECK(b.synchronize());
}

TEST_CASE("Given two blocking streams and no null work, Then they don't wait for each other") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null()), a(plugin, Stream::blocking()), b(plugin, Stream::blocking());
  null.run([] {});
  CHECK(null.synchronize());
  a.wait(gate);
  b.run([] {});
  CHECK(b.synchronize());
  gate.open();
  CHECK(a.synchronize());
}

TEST_CASE("Given a blocking stream destroyed with work pending, Then the null stream still waits for it") {
  Plugin plugin;
  Gate gate(plugin);
  Stream null(plugin, Stream::null());
  std::atomic<bool> blocking_ran{false}, order_held{false};
  {
    Stream blocking(plugin, Stream::blocking());
    blocking.wait(gate);
    blocking.run([&] { blocking_ran = true; });
  }
  null.run([&] { order_held = blocking_ran.load(); });
  CHECK_FALSE(null.synchronize(millisecond));
  gate.open();
  CHECK(null.synchronize());
  CHECK(order_held);
}

TEST_CASE("Given alternating submissions to the null stream and blocking streams, Then all run in that order") {
  Plugin plugin(Environment{{"WORKERS", "4"}});
  Stream null(plugin, Stream::null());
  std::vector<std::unique_ptr<Stream>> blocking;
  for (int i = 0; i < 8; ++i) blocking.push_back(std::make_unique<Stream>(plugin, Stream::blocking()));
  std::atomic<int> phase_count{0};
  std::atomic<int> wrong{0};
  for (int phase = 0; phase < 200; ++phase) {
    for (auto& stream : blocking) stream->run([&] { ++phase_count; });
    null.run([&, phase] { wrong += phase_count == (phase + 1) * 8 ? 0 : 1; });
  }
  CHECK(null.synchronize());
  CHECK(phase_count == 1600);
  CHECK(wrong == 0);
}

TEST_CASE("Given the null stream, When it is asked for again, Then it is the same stream") {
  Plugin plugin;
  Gate gate(plugin);
  Stream first(plugin, Stream::null()), second(plugin, Stream::null());
  first.wait(gate);
  CHECK_FALSE(second.done());
  gate.open();
  CHECK(second.synchronize());
}

}  // namespace test_null_stream_cases
