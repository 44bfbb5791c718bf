// SPDX-License-Identifier: Apache-2.0
// A process that is killed at any moment leaves nothing behind and lets nobody wait.
#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <thread>

#include "ipc/peer.h"
#include "support/errors.h"
#include "support/turn.h"

namespace kill_test {

using namespace anyplace;
using test::Belongings;
using test::Peer;

/// Plays until the other process is killed, which happens a while from now. Memory and one event are this process's, or
/// the other's.
void play_until_killed(const Device& device, bool mine, std::chrono::microseconds until) {
  Peer peer;
  const Stream stream(device);
  Buffer buffer;
  const Event ping(device, {.interprocess = true});
  peer.send("import-event ping", ping.export_handle());
  peer.must("event pong");
  const Event pong = Event::import(device, peer.handle("export-event pong"));
  if (mine) {
    buffer = Buffer(stream, sizeof(std::uint64_t));
    peer.send("import b", buffer.export_handle());
  } else {
    peer.must("buffer b 8");
    buffer = Buffer::import(stream, peer.handle("export b"));
  }
  stream.fill(buffer.as<std::uint64_t>(), std::uint64_t{0});
  stream.synchronize();
  peer.must("pong b ping pong 1000000");
  std::thread killer([&] {
    std::this_thread::sleep_for(until);
    ::kill(peer.pid(), SIGKILL);
  });
  std::string end;
  try {
    test::play_pings(stream, buffer, ping, pong, 1'000'000, peer.pipes());
  } catch (const std::exception& ended) {
    end = ended.what();
  }
  killer.join();
  CHECK(end == "the other process has ended");
  // What the other one recorded last may never complete: this stream's wait for it ends all the same.
  bool in_time = true;
  const ErrorCode code = test::code_of([&] { in_time = stream.synchronize(std::chrono::seconds(60)); });
  CHECK(in_time);
  CHECK((code == ErrorCode::ok || code == ErrorCode::peer_gone));
}

TEST_CASE("Given either process killed 200 times at random points then nothing is left and nobody hangs", "[alone]") {
  constexpr std::size_t pairs = 100;  // of a kill of either
  const test::Turn turn = test::turn();
  std::cout << turn.text() << ": " << 2 * turn.part(pairs) << " of " << 2 * pairs << " kills\n";
  const Device device("cpu_sim:0");
  std::mt19937 random(20);  // the moments differ anyway
  const auto some_time = [&] { return std::chrono::microseconds(random() % 4000); };
  play_until_killed(device, true, some_time());  // what a process has for all its shared things is made once
  play_until_killed(device, false, some_time());
  ipc_collect(device);
  const Belongings before = Belongings::now();
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (const bool mine : {true, false}) {
      const std::chrono::microseconds until = some_time();
      if (turn.takes(pair)) play_until_killed(device, mine, until);
    }
  }
  CHECK(ipc_collect(device) == 0);
  CHECK(memory_allocated(device) == 0);
  // The thread that watches another process's events keeps their memory for a second after its last use.
  Belongings after = Belongings::now();
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
       !(after == before) && std::chrono::steady_clock::now() < end; after = Belongings::now()) {
    std::this_thread::yield();
  }
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.files_in_memory == before.files_in_memory);
  CHECK(after.shared_memory == before.shared_memory);
}

}  // namespace kill_test
