// SPDX-License-Identifier: Apache-2.0
// Events that two processes use.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "ipc/peer.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace event_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::HostGate;
using test::Peer;

Device device() { return Device(test::place_of_test()); }

TEST_CASE("Given an event that was never recorded then nobody waits for it, in any process", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  CHECK(event.query());
  event.synchronize();
  const Stream stream(device());
  stream.wait_event(event);
  stream.synchronize();
}

TEST_CASE("Given another process's pending record then it is waited for, by hosts and by streams", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  const Stream stream(device());
  peer.must("block");
  peer.must("record e");
  CHECK_FALSE(event.query());
  CHECK_FALSE(event.synchronize(1ms));
  stream.wait_event(event);
  CHECK_FALSE(stream.query());
  peer.must("unblock");
  event.synchronize();
  CHECK(event.query());
  stream.synchronize();
}

TEST_CASE("Given this process's pending record of another's event then the other waits for it", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  const Stream stream(device());
  HostGate gate;
  gate.block(stream);
  stream.record_event(event);
  CHECK_FALSE(event.query());
  CHECK(peer.must("query-event e") == "pending");
  peer.must("wait e");
  CHECK(peer.must("query") == "pending");
  gate.open();
  peer.must("sync");
  CHECK(peer.must("query-event e") == "done");
}

TEST_CASE("Given this process's own event then its streams wait for its records and for the other process's",
          "[events]") {
  Peer peer;
  const Event event(device(), {.interprocess = true});
  peer.send("import-event e", event.export_handle());
  const Stream stream(device());
  const Stream waiting(device());
  {
    HostGate gate;
    gate.block(stream);
    stream.record_event(event);
    waiting.wait_event(event);
    CHECK_FALSE(waiting.query());
    CHECK(peer.must("query-event e") == "pending");
    gate.open();
    waiting.synchronize();
    event.synchronize();
    CHECK(peer.must("query-event e") == "done");
  }
  peer.must("block");
  peer.must("record e");
  waiting.wait_event(event);
  CHECK_FALSE(waiting.query());
  peer.must("unblock");
  waiting.synchronize();
}

TEST_CASE("Given a graph that records an event then another process waits for each launch's record", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  const Stream stream(device());
  stream.begin_capture();
  stream.record_external_event(event);
  const GraphExec exec = stream.end_capture().instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    HostGate gate;
    gate.block(stream);
    exec.launch(stream);
    CHECK(peer.must("query-event e") == "pending");
    peer.must("wait e");
    CHECK(peer.must("query") == "pending");
    gate.open();
    peer.must("sync");
    CHECK(peer.must("query-event e") == "done");
  }
}

TEST_CASE("Given a graph that waits for an event then its launch comes after another process's record", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  const Stream stream(device());
  stream.begin_capture();
  const Buffer buffer(stream, 64);
  stream.wait_external_event(event);
  stream.memset8(buffer, 1);
  const GraphExec exec = stream.end_capture().instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    peer.must("block");
    peer.must("record e");
    exec.launch(stream);
    for (int look = 0; look < 100; ++look) peer.must("query-event e");  // it has had the time to be wrong
    CHECK_FALSE(stream.query());
    peer.must("unblock");
    stream.synchronize();
  }
}

TEST_CASE("Given an event that is recorded again then a wait keeps the record that it took", "[events]") {
  Peer peer;
  peer.must("event e");
  const Event event = Event::import(device(), peer.handle("export-event e"));
  const Stream stream(device());
  const Stream other(device());
  HostGate gate;
  gate.block(stream);
  stream.record_event(event);
  peer.must("wait e");
  other.record_event(event);  // complete at once: the most recent one is, the one that was waited for isn't
  CHECK(peer.must("query-event e") == "done");
  CHECK(event.query());
  CHECK(peer.must("query") == "pending");
  gate.open();
  peer.must("sync");

  HostGate later;
  later.block(stream);
  other.record_event(event);
  peer.must("wait e");
  stream.record_event(event);
  peer.must("sync");
  CHECK(peer.must("query-event e") == "pending");
  later.open();
  stream.synchronize();
  CHECK(peer.must("query-event e") == "done");
}

TEST_CASE("Given many records of many events and streams then each wait ends", "[events]") {
  Peer peer;
  const Event mine(device(), {.blocking_sync = true, .interprocess = true});
  peer.send("import-event m", mine.export_handle());
  peer.must("event t");
  const Event theirs = Event::import(device(), peer.handle("export-event t"));
  std::vector<Stream> streams;
  for (int i = 0; i < 8; ++i) streams.emplace_back(device());
  for (int i = 0; i < 200; ++i) {
    streams[static_cast<std::size_t>(i % 8)].record_event(mine);
    peer.must("wait m");
    peer.must("record t");
    streams[static_cast<std::size_t>(i % 5)].wait_event(theirs);
  }
  for (const Stream& stream : streams) stream.synchronize();
  theirs.synchronize();
  peer.must("sync");
}

TEST_CASE("Given a process that ends before what it recorded is complete then waits for it end as peer_gone",
          "[events]") {
  auto peer = std::make_unique<Peer>();
  peer->must("event e");
  const Event event = Event::import(device(), peer->handle("export-event e"));
  const Event mine(device(), {.interprocess = true});
  peer->send("import-event m", mine.export_handle());
  peer->must("block");
  peer->must("record e");
  peer->must("record m");
  const Stream stream(device());
  const Stream another(device());
  stream.wait_event(event);
  another.wait_event(mine);
  CHECK_FALSE(stream.query());
  CHECK_FALSE(event.query());
  peer->kill();
  CHECK(test::code_of([&] { event.synchronize(); }) == ErrorCode::peer_gone);
  CHECK(test::code_of([&] { mine.synchronize(); }) == ErrorCode::peer_gone);
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::peer_gone);
  CHECK(test::code_of([&] { another.synchronize(); }) == ErrorCode::peer_gone);
  CHECK(test::code_of([&] { return event.query(); }) == ErrorCode::peer_gone);
  // The streams and the events go on.
  stream.synchronize();
  stream.record_event(event);
  stream.record_event(mine);
  event.synchronize();
  another.wait_event(event);
  another.wait_event(mine);
  another.synchronize();
}

TEST_CASE("Given events whose process ended after they were complete then they stay complete", "[events]") {
  auto peer = std::make_unique<Peer>();
  peer->must("event e");
  const Event event = Event::import(device(), peer->handle("export-event e"));
  peer->must("record e");
  peer->must("sync");
  peer.reset();
  CHECK(event.query());
  event.synchronize();
  const Stream stream(device());
  stream.wait_event(event);
  stream.synchronize();
}

TEST_CASE("Given places of members that ended given to others then old records don't count as theirs", "[events]") {
  const Event event(device(), {.interprocess = true});
  for (int i = 0; i < 3; ++i) {
    Peer peer;
    peer.send("import-event m", event.export_handle());
    peer.must("block");
    peer.must("record m");
  }
  CHECK(test::code_of([&] { event.synchronize(); }) == ErrorCode::peer_gone);
  const Event another(device(), {.interprocess = true});  // clears what the dead have left
  Peer peer;
  peer.send("import-event m", another.export_handle());
  for (int i = 0; i < 5; ++i) peer.must("record m");
  peer.must("sync");
  another.synchronize();
  CHECK(test::code_of([&] { event.synchronize(); }) == ErrorCode::peer_gone);
}

TEST_CASE("Given an event that is destroyed while others have it then theirs goes on", "[events]") {
  Peer peer;
  auto mine = std::make_unique<Event>(device(), EventOptions{.interprocess = true});
  const auto handle = mine->export_handle();
  peer.send("import-event m", handle);
  mine.reset();
  peer.must("record m");
  peer.must("sync-event m");
  const Event fresh(device(), {.interprocess = true});
  CHECK(fresh.query());
  CHECK(peer.ask("import-event again " + test::to_hex(handle)).rfind("error invalid_handle", 0) == 0);
  peer.must("drop-event m");
  ipc_collect(device());
}

}  // namespace event_test
