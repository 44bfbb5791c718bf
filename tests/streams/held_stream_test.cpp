// SPDX-License-Identifier: Apache-2.0
//
// Streams whose submissions the core holds back: those of a backend without gates (sim_c) that wait for another
// backend's work (cpu_sim's, blocked by a host function).
#include <anyplace/anyplace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "streams/marked.h"
#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace held_stream_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::HostGate;
using test::Marked;

namespace {

struct Held {
  Held() {
    forward.gates = false;
    forward.install("sim_c");
    blocker = std::make_unique<Stream>(Device("cpu_sim:0"));
    stream = std::make_unique<Stream>(device());
    gate.block(*blocker);
    stream->wait_stream(*blocker);
  }
  static Device device() { return Device("sim_c:0"); }

  test::Forward& forward = test::new_forward();
  std::unique_ptr<Stream> blocker;
  std::unique_ptr<Stream> stream;
  HostGate gate;
};

}  // namespace

TEST_CASE("Given a held stream when work of every kind is submitted then it all runs in order afterwards") {
  Held held;
  const Stream& stream = *held.stream;
  const Kernel add(Held::device(), [](const Block& block, std::uint8_t* data, std::uint32_t count, std::uint8_t value) {
    block.for_each_thread([&](const Thread& thread) {
      if (thread.global[0] < count) data[thread.global[0]] = static_cast<std::uint8_t>(data[thread.global[0]] + value);
    });
  });
  Buffer buffer(stream, 64);
  Buffer copy(stream, 64);
  std::vector<std::uint8_t> up(64, 10);
  std::vector<std::uint8_t> down(64);
  std::vector<std::uint8_t> seen;
  stream.copy(buffer, up);
  stream.launch(add, {1, 64}, buffer, std::uint32_t{64}, std::uint8_t{5});
  stream.copy(copy, buffer);
  stream.memset8(copy.sub(0, 8), 1);
  stream.memset16(copy.sub(8, 8), 0x0202);
  stream.memset32(copy.sub(16, 8), 0x03030303);
  stream.copy(down, copy);
  stream.launch_host_func([&] { seen = down; });
  const Event event = stream.record_event();
  REQUIRE_FALSE(stream.query());
  REQUIRE_FALSE(event.query());
  REQUIRE(seen.empty());
  held.gate.open();
  stream.synchronize();
  REQUIRE(event.query());
  std::vector<std::uint8_t> expected(64, 15);
  std::fill_n(expected.begin(), 8, std::uint8_t{1});
  std::fill_n(expected.begin() + 8, 8, std::uint8_t{2});
  std::fill_n(expected.begin() + 16, 8, std::uint8_t{3});
  REQUIRE(seen == expected);
}

TEST_CASE("Given a held stream when waiting has a timeout then it runs out and the hold stays") {
  Held held;
  const Event event = held.stream->record_event();
  REQUIRE_FALSE(held.stream->synchronize(0ns));
  REQUIRE_FALSE(held.stream->synchronize(2ms));
  REQUIRE_FALSE(event.synchronize(0ns));
  REQUIRE_FALSE(event.synchronize(2ms));
  REQUIRE_FALSE(Held::device().synchronize(0ns));
  REQUIRE_FALSE(Held::device().synchronize(2ms));
  REQUIRE(Device("sim_c:1").synchronize(1h));
  held.gate.open();
  REQUIRE(event.synchronize(1h));
  REQUIRE(held.stream->synchronize(1h));
  REQUIRE(held.stream->query());
}

TEST_CASE("Given a held stream when threads wait for it then all return once it went on") {
  Held held;
  const Event event = held.stream->record_event();
  std::atomic<int> returned{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] { held.stream->synchronize(), ++returned; });
  threads.emplace_back([&] { event.synchronize(), ++returned; });
  threads.emplace_back([&] { Held::device().synchronize(), ++returned; });
  held.gate.open();
  for (std::thread& thread : threads) thread.join();
  REQUIRE(returned == 3);
}

TEST_CASE("Given a stream that is held no more then it submits as any other") {
  Held held;
  held.gate.open();
  held.stream->synchronize();
  Marked other(Held::device());
  held.stream->memset8(other.mark, 9);
  const Event event = held.stream->record_event();
  held.stream->synchronize();
  REQUIRE(event.query());
  REQUIRE(other.get() == 9);
}

TEST_CASE("Given a held stream when it waits for more of other backends then each holds what comes after it") {
  Held held;
  const Stream second(Device("sim_b:0"));
  HostGate second_gate;
  second_gate.block(second);
  Marked marked(Held::device());
  held.stream->memset8(marked.mark, 1);
  const Event between = held.stream->record_event();
  held.stream->wait_stream(second);
  held.stream->memset8(marked.mark, 2);
  REQUIRE(marked.get() == 0);
  held.gate.open();
  between.synchronize();
  REQUIRE(marked.get() == 1);
  REQUIRE_FALSE(held.stream->query());
  second_gate.open();
  held.stream->synchronize();
  REQUIRE(marked.get() == 2);
}

TEST_CASE("Given a held stream when it waits for a record that another library made then it does after the hold, too") {
  Held held;
  const Stream busy(Held::device());
  HostGate second_gate;
  second_gate.block(busy);
  Marked marked(Held::device());
  const Event event(Held::device());
  const Event of_another_library = Event::from_native(Held::device(), event.native_handle());
  of_another_library.record(busy);
  held.stream->wait_event(event);
  held.stream->memset8(marked.mark, 1);
  held.gate.open();
  REQUIRE_FALSE(held.stream->synchronize(20ms));
  REQUIRE(marked.get() == 0);
  second_gate.open();
  held.stream->synchronize();
  REQUIRE(marked.get() == 1);
}

TEST_CASE(
    "Given a record of a stream that was held when another library records it anew then the stream waits for it") {
  Held held;
  const Event event = held.stream->record_event();
  held.gate.open();
  held.stream->synchronize();
  const Stream busy(Held::device());
  HostGate second_gate;
  second_gate.block(busy);
  Marked marked(Held::device());
  const Event of_another_library = Event::from_native(Held::device(), event.native_handle());
  of_another_library.record(busy);
  held.stream->wait_event(event);
  held.stream->memset8(marked.mark, 1);
  REQUIRE_FALSE(held.stream->synchronize(20ms));
  REQUIRE(marked.get() == 0);
  second_gate.open();
  held.stream->synchronize();
  REQUIRE(marked.get() == 1);
}

TEST_CASE("Given a held stream when the second wait is over first then the first still holds") {
  Held held;
  const Stream second(Device("sim_b:0"));
  HostGate second_gate;
  second_gate.block(second);
  const Event of_second = second.record_event();
  held.stream->wait_event(of_second);
  Marked marked(Held::device());
  held.stream->memset8(marked.mark, 1);
  second_gate.open();
  of_second.synchronize();
  REQUIRE(marked.get() == 0);
  held.gate.open();
  held.stream->synchronize();
  REQUIRE(marked.get() == 1);
}

TEST_CASE("Given a held stream when it waits for an event of its own backend then that holds too") {
  Held held;
  const Stream other(Device("sim_c:1"));
  HostGate other_gate;
  other_gate.block(other);
  Marked marked(Held::device());
  {
    const Event event = other.record_event();
    held.stream->wait_event(event);
    event.record(Stream(Device("sim_c:1")));  // the wait keeps the record that it took
  }
  held.stream->memset8(marked.mark, 1);
  held.gate.open();
  REQUIRE_FALSE(held.stream->synchronize(2ms));
  REQUIRE(marked.get() == 0);
  other_gate.open();
  held.stream->synchronize();
  REQUIRE(marked.get() == 1);
}

// ---- Records in held streams ---------------------------------------------------------------------------------------

TEST_CASE("Given a record in a held stream when others wait for it then they come after it") {
  Held held;
  Marked first(Held::device());
  held.stream->memset8(first.mark, 1);
  const Event event = held.stream->record_event();
  std::vector<std::unique_ptr<Marked>> waiting;
  for (const char* place : {"sim_c:0", "sim_c:1", "cpu_sim:0", "sim_b:1"}) {
    waiting.push_back(std::make_unique<Marked>(Device(place)));
    waiting.back()->stream.wait_event(event);
    waiting.back()->set(1);
  }
  held.stream->wait_event(event);  // its own: no wait
  for (const auto& one : waiting) {
    REQUIRE_FALSE(one->stream.query());
    REQUIRE(one->get() == 0);
  }
  held.gate.open();
  for (const auto& one : waiting) {
    one->stream.synchronize();
    REQUIRE(one->get() == 1);
  }
  REQUIRE(first.get() == 1);
  REQUIRE(event.query());
  // Now that the record is submitted, waiting is what it always is.
  Marked late(Held::device());
  late.stream.wait_event(event);
  late.set(1);
  late.stream.synchronize();
}

TEST_CASE(
    "Given a record in a held stream when the event is recorded elsewhere then that counts and waits keep theirs") {
  Held held;
  const Stream idle(Held::device());
  Marked waiting(Held::device());
  const Event event = held.stream->record_event();
  waiting.stream.wait_event(event);
  waiting.set(1);
  REQUIRE_FALSE(event.query());
  event.record(idle);
  event.synchronize();
  REQUIRE(event.query());
  REQUIRE_FALSE(waiting.stream.query());
  held.gate.open();
  held.stream->synchronize();
  waiting.stream.synchronize();
  REQUIRE(waiting.get() == 1);
  REQUIRE(event.query());
}

TEST_CASE("Given an event recorded in a held stream twice when it is destroyed then waits for both records are safe") {
  Held held;
  Marked one(Held::device());
  Marked two(Held::device());
  {
    const Event event = held.stream->record_event();
    one.stream.wait_event(event);
    event.record(*held.stream);
    two.stream.wait_event(event);
  }
  one.set(1);
  two.set(1);
  held.gate.open();
  one.stream.synchronize();
  two.stream.synchronize();
  REQUIRE(one.get() == 1);
  REQUIRE(two.get() == 1);
}

TEST_CASE("Given records in a held stream then the time between them can be had once they are complete") {
  Held held;
  const Event start = held.stream->record_event({.timing = true});
  held.stream->launch_host_func([] {});
  const Event end = held.stream->record_event({.timing = true});
  REQUIRE(code_of([&] { elapsed_time(start, end); }) == ErrorCode::not_ready);
  held.gate.open();
  held.stream->synchronize();
  const double between = elapsed_time(start, end);
  REQUIRE(std::isfinite(between));
  REQUIRE(between >= 0);
}

TEST_CASE("Given records in held streams when all is over then no event of the backend is left") {
  Held held;
  {
    const Event kept = held.stream->record_event();
    for (int i = 0; i < 10; ++i) {
      const Event event = held.stream->record_event();
      kept.record(*held.stream);
    }
    held.gate.open();
    held.stream->synchronize();
  }
  held.stream->synchronize();
  // The service thread lets go of the last ones when the work is done, not before anybody hears of it.
  while (held.forward.live_events != 0) std::this_thread::yield();
  SUCCEED("none is left; else this case runs into its time limit");
}

// ---- Ends and failures ---------------------------------------------------------------------------------------------

TEST_CASE("Given a held stream when it is destroyed then what it holds still runs and then it ends") {
  Held held;
  Marked marked(Held::device());
  bool ran = false;
  const int streams = held.forward.live_streams;
  held.stream->memset8(marked.mark, 4);
  held.stream->launch_host_func([&] { ran = true; });
  const StreamView gone = *held.stream;
  held.stream.reset();
  REQUIRE(code_of([&] { static_cast<void>(gone.query()); }) == ErrorCode::invalid_handle);
  REQUIRE_FALSE(Held::device().synchronize(0ns));
  REQUIRE(held.forward.live_streams == streams);
  held.gate.open();
  Held::device().synchronize();
  REQUIRE(ran);
  REQUIRE(marked.get() == 4);
}

TEST_CASE(
    "Given a held submission when the backend refuses it later then that is the stream's fault and the rest runs") {
  Held held;
  Marked marked(Held::device());
  Buffer buffer(*held.stream, 64);
  held.stream->memset8(buffer, 1);
  held.stream->memset8(marked.mark, 6);
  held.forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  held.gate.open();
  const auto error = test::error_of([&] { held.stream->synchronize(); });
  REQUIRE(error);
  REQUIRE(error->code() == ErrorCode::backend_failed);
  REQUIRE(error->vendor_name() == "FORWARD_FAILED");
  REQUIRE(error->place() == "sim_c:0");
  held.stream->synchronize();
  REQUIRE(marked.get() == 6);
}

TEST_CASE("Given a held host function when the backend refuses it later then its closure is destroyed uncalled") {
  Held held;
  const auto counted = std::make_shared<int>(0);
  held.stream->launch_host_func([counted] { ++*counted; });
  held.forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  held.gate.open();
  REQUIRE(code_of([&] { held.stream->synchronize(); }) == ErrorCode::backend_failed);
  REQUIRE(counted.use_count() == 1);
  REQUIRE(*counted == 0);
}

TEST_CASE("Given a held record when the backend refuses it later then nobody waits for it for ever") {
  Held held;
  const Event event = held.stream->record_event();
  Marked waiting(Held::device());
  waiting.stream.wait_event(event);
  waiting.set(1);
  held.forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  held.gate.open();
  REQUIRE(code_of([&] { held.stream->synchronize(); }) == ErrorCode::backend_failed);
  event.synchronize();
  waiting.stream.synchronize();
  REQUIRE(waiting.get() == 1);
}

TEST_CASE("Given a host function that throws in a held stream then the fault comes as always") {
  Held held;
  held.stream->launch_host_func([] { throw std::runtime_error("later"); });
  REQUIRE_FALSE(held.stream->query());
  held.gate.open();
  const auto error = test::error_of([&] { held.stream->synchronize(); });
  REQUIRE(error);
  REQUIRE(error->text() == "later");
}

}  // namespace held_stream_test
