// SPDX-License-Identifier: Apache-2.0
//
// A stream of one backend waits for another's: with and without host functions on the side that is waited for, with and
// without gates on the side that waits.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "streams/marked.h"
#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace cross_backend_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::HostGate;
using test::Marked;

namespace {

/// sim_b is waited for, sim_c waits. sim_b's stream is kept busy by a wait of its own, for a stream of cpu_sim, so that
/// it needs no host functions.
struct Pair {
  explicit Pair(bool host_functions, bool gates) {
    producer_side.host_functions = host_functions;
    waiter_side.gates = gates;
    producer_side.install("sim_b");
    waiter_side.install("sim_c");
    blocker = std::make_unique<Stream>(Device("cpu_sim:0"));
    producer = std::make_unique<Marked>(Device("sim_b:0"));
    waiter = std::make_unique<Marked>(Device("sim_c:0"));
  }
  void block() {
    gate.block(*blocker);
    producer->stream.wait_stream(*blocker);
    producer->set(1);
  }

  test::Forward& producer_side = test::new_forward();
  test::Forward& waiter_side = test::new_forward();
  std::unique_ptr<Stream> blocker;
  std::unique_ptr<Marked> producer;
  std::unique_ptr<Marked> waiter;
  HostGate gate;  // opened before the streams go, whatever happens
};

void waits_for_pending_work(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  const Event event = pair.producer->stream.record_event();
  pair.waiter->set(1);
  pair.waiter->stream.wait_event(event);
  pair.waiter->set(2);
  REQUIRE_FALSE(pair.waiter->stream.query());
  REQUIRE_FALSE(pair.waiter->stream.synchronize(2ms));
  REQUIRE_FALSE(Device("sim_c:0").synchronize(0ns));
  REQUIRE(pair.waiter->get() <= 1);
  Marked(Device("sim_c:0")).stream.synchronize();  // another stream isn't held up
  pair.gate.open();
  pair.waiter->stream.synchronize();
  REQUIRE(pair.waiter->get() == 2);
  REQUIRE(pair.producer->get() == 1);
  REQUIRE(event.query());
}

void takes_the_record_at_the_call(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  {
    const Event event = pair.producer->stream.record_event();
    pair.waiter->stream.wait_event(event);
    const Stream idle(Device("sim_b:0"));
    event.record(idle);
    event.synchronize();
    // Recorded again, and destroyed.
  }
  pair.waiter->set(1);
  REQUIRE_FALSE(pair.waiter->stream.query());
  REQUIRE(pair.waiter->get() == 0);
  pair.gate.open();
  pair.waiter->stream.synchronize();
  REQUIRE(pair.waiter->get() == 1);
}

/// Who has the native handle records the event without its owner's knowing.
void waits_for_a_record_of_another_library(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  const Event event(Device("sim_b:0"));
  const Event of_another_library = Event::from_native(Device("sim_b:0"), event.native_handle());
  pair.waiter->stream.wait_event(event);  // not recorded yet
  pair.waiter->set(1);
  pair.waiter->stream.synchronize();
  of_another_library.record(pair.producer->stream);
  pair.waiter->stream.wait_event(event);
  pair.waiter->set(2);
  REQUIRE_FALSE(pair.waiter->stream.query());
  REQUIRE_FALSE(pair.waiter->stream.synchronize(20ms));
  REQUIRE(pair.waiter->get() == 1);
  pair.gate.open();
  pair.waiter->stream.synchronize();
  REQUIRE(pair.waiter->get() == 2);
  REQUIRE(pair.producer->get() == 1);
}

void waits_don_t_depend_on_each_other(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  pair.waiter->stream.wait_stream(pair.producer->stream);
  // A second pair of streams of the same devices, not blocked: made to wait while the first still does.
  const Stream blocker(Device("cpu_sim:1"));
  const Stream producer(Device("sim_b:0"));
  Marked waiter(Device("sim_c:0"));
  for (int i = 0; i < 20; ++i) {
    producer.wait_stream(blocker);
    Buffer buffer(producer, 64);
    producer.memset8(buffer, 1);
    waiter.stream.wait_stream(producer);
    waiter.set(static_cast<std::uint8_t>(i));
    waiter.stream.synchronize();
    REQUIRE(waiter.get() == i);
  }
  REQUIRE_FALSE(pair.waiter->stream.query());
  pair.gate.open();
  pair.waiter->stream.synchronize();
}

void survives_a_destroyed_waiter(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  const Device device("sim_c:0");
  {
    const Stream stream(device);
    stream.wait_stream(pair.producer->stream);
    stream.memset8(pair.waiter->mark, 7);
  }
  REQUIRE_FALSE(device.synchronize(1ms));
  REQUIRE(pair.waiter->get() == 0);
  pair.gate.open();
  device.synchronize();
  REQUIRE(pair.waiter->get() == 7);
}

void leaves_nothing_behind(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  for (int i = 0; i < 50; ++i) {
    pair.producer->set(static_cast<std::uint8_t>(i));
    pair.waiter->stream.wait_stream(pair.producer->stream);
    pair.waiter->set(static_cast<std::uint8_t>(i));
    pair.producer->stream.wait_stream(pair.waiter->stream);
  }
  pair.producer->stream.synchronize();
  pair.waiter->stream.synchronize();
  REQUIRE(pair.producer->get() == 49);
  REQUIRE(pair.waiter->get() == 49);
}

}  // namespace

#define FOR_EACH_PAIR(what, body)                                                                 \
  TEST_CASE(what ": host functions on one side and gates on the other") { body(true, true); }     \
  TEST_CASE(what ": host functions on one side and no gates on the other") { body(true, false); } \
  TEST_CASE(what ": no host functions on one side and gates on the other") { body(false, true); } \
  TEST_CASE(what ": no host functions on one side and no gates on the other") { body(false, false); }

FOR_EACH_PAIR("Given pending work of another backend when a stream waits then it does and the host doesn't",
              waits_for_pending_work)
FOR_EACH_PAIR(
    "Given a wait across backends when the event is recorded again and destroyed then the first record counts",
    takes_the_record_at_the_call)
FOR_EACH_PAIR("Given another library's record when a stream waits then it does", waits_for_a_record_of_another_library)
FOR_EACH_PAIR("Given two waits across backends when one is blocked then the other isn't",
              waits_don_t_depend_on_each_other)
FOR_EACH_PAIR("Given a wait across backends when the waiter is destroyed then its work still completes",
              survives_a_destroyed_waiter)
FOR_EACH_PAIR("Given many waits both ways across backends then all complete in order", leaves_nothing_behind)

TEST_CASE("Given complete work of another backend when a stream waits for it then nothing is made for that") {
  test::Forward& waiter_side = test::new_forward();
  waiter_side.install("sim_c");
  const Stream producer(Device("cpu_sim:0"));
  const Event event = producer.record_event();
  event.synchronize();
  const Stream waiter(Device("sim_c:0"));
  waiter.wait_event(event);
  REQUIRE(waiter_side.gates_made == 0);
  waiter.synchronize();
}

TEST_CASE("Given gates when the waits are over then none is left") {
  test::Forward& waiter_side = test::new_forward();
  waiter_side.install("sim_c");
  const Stream producer(Device("cpu_sim:0"));
  const Stream waiter(Device("sim_c:0"));
  for (int i = 0; i < 20; ++i) {
    HostGate gate;
    gate.block(producer);
    waiter.wait_stream(producer);
    gate.open();
    waiter.synchronize();
  }
  REQUIRE(waiter_side.gates_made == 20);
  // They end on the service thread, after the host functions that opened them. A handle destroyed from a host function
  // is queued there as well, behind them.
  producer.synchronize();
  Device("cpu_sim:0").synchronize();
  auto last = std::make_unique<Event>(Device("sim_c:0"));
  const int events = waiter_side.live_events;
  producer.launch_host_func([&] { last.reset(); });
  producer.synchronize();
  while (waiter_side.live_events == events) std::this_thread::yield();
  REQUIRE(waiter_side.live_gates == 0);
}

namespace {

void goes_on_when_waiting_fails(bool host_functions, bool gates) {
  Pair pair(host_functions, gates);
  pair.block();
  const Event event = pair.producer->stream.record_event();
  pair.producer_side.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  REQUIRE(test::code_of([&] { pair.waiter->stream.wait_event(event); }) == ErrorCode::backend_failed);
  REQUIRE(pair.producer_side.fail_next == 0);
  pair.waiter->set(1);
  pair.waiter->stream.synchronize();
  REQUIRE(pair.waiter->get() == 1);
  pair.waiter->stream.wait_event(event);
  pair.waiter->set(2);
  REQUIRE_FALSE(pair.waiter->stream.query());
  pair.gate.open();
  pair.waiter->stream.synchronize();
  REQUIRE(pair.waiter->get() == 2);
}

}  // namespace

FOR_EACH_PAIR("Given a wait across backends when arranging it fails then the error passes and the stream isn't blocked",
              goes_on_when_waiting_fails)

}  // namespace cross_backend_test
