// SPDX-License-Identifier: Apache-2.0
//
// Gates: waits that the host opens.
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "plugin.h"

namespace test_gates_cases {

using namespace cpu_sim_test;

TEST_CASE("Given an open gate, Then waiting for it is no wait") {
  Plugin plugin;
  Gate gate(plugin);
  gate.open();
  Stream stream(plugin);
  stream.wait(gate);
  CHECK(stream.done());
}

TEST_CASE("Given a gate that many streams of several devices wait for, When it opens, Then all go on") {
  Plugin plugin;
  Gate gate(plugin);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_unique<Stream>(plugin, Stream::on(i % 2)));
    streams.back()->wait(gate);
  }
  for (const auto& stream : streams) CHECK_FALSE(stream->done());
  gate.open();
  for (const auto& stream : streams) CHECK(stream->synchronize());
}

TEST_CASE("Given a gate that a host function opens, Then the stream that waits goes on") {
  Plugin plugin;
  Gate gate(plugin);
  Stream waiting(plugin), opening(plugin);
  waiting.wait(gate);
  opening.host([&] { gate.open(); });
  CHECK(waiting.synchronize());
}

TEST_CASE("Given an open gate with waits still pending, When it is destroyed, Then they pass") {
  Plugin plugin;
  Stream stream(plugin);
  Gate before(plugin);
  {
    Gate gate(plugin);
    stream.wait(before);
    stream.wait(gate);
    gate.open();
  }
  CHECK_FALSE(stream.done());
  before.open();
  CHECK(stream.synchronize());
}

TEST_CASE("Given gates opened while streams are about to wait, Then none is missed") {
  Plugin plugin;
  Stream stream(plugin);
  for (int i = 0; i < 500; ++i) {
    auto gate = std::make_unique<Gate>(plugin);
    stream.wait(*gate);
    std::thread opener([&] { gate->open(); });
    CHECK(stream.synchronize());
    opener.join();
  }
}

}  // namespace test_gates_cases
