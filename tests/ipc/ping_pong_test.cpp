// SPDX-License-Identifier: Apache-2.0
#include "ipc/ping_pong.h"

#include <catch2/catch.hpp>
#include <iostream>

#include "ipc/peer.h"
#include "support/turn.h"

namespace ping_pong_test {

using namespace anyplace;
using test::Peer;

TEST_CASE("Given 10,000 rounds of ping-pong over a buffer and two events then every number arrives") {
  constexpr std::size_t all_rounds = 10'000;  // all alike
  const test::Turn turn = test::turn();
  const auto rounds = static_cast<int>(turn.part(all_rounds));
  std::cout << turn.text() << ": " << rounds << " of " << all_rounds << " rounds\n";
  Peer peer;
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer buffer(stream, sizeof(std::uint64_t));
  stream.fill(buffer.as<std::uint64_t>(), std::uint64_t{0});
  stream.synchronize();
  const Event ping(device, {.interprocess = true});
  peer.send("import b", buffer.export_handle());
  peer.send("import-event ping", ping.export_handle());
  peer.must("event pong");
  const Event pong = Event::import(device, peer.handle("export-event pong"));
  peer.must("pong b ping pong " + std::to_string(rounds));
  CHECK(test::play_pings(stream, buffer, ping, pong, rounds, peer.pipes()) == 2 * static_cast<std::uint64_t>(rounds));
  CHECK(peer.listen() == "ok played");
}

}  // namespace ping_pong_test
