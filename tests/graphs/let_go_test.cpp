// SPDX-License-Identifier: Apache-2.0
// Memory of graphs that are gone, and of what updates replaced, is there for who needs it.
#include <optional>
#include <thread>

#include "graphs/graph_support.h"

namespace let_go_test {

using namespace anyplace;
using test::graph_device;
using test::HostGate;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
/// What a thread that isn't told of something may not have noticed yet is seen in one of so many rounds.
constexpr int rounds = 40;

/// The device has 64 MiB for this process.
Device small_device() {
  const Device device = graph_device();
  if (!allocator_config(device).limit_bytes) configure_allocator(device, {.limit_bytes = 64 * mebibyte});
  return device;
}

Graph graph_of(const Stream& stream, std::uint64_t bytes) {
  stream.begin_capture();
  {
    const Buffer temporary(stream, bytes);
    stream.memset8(temporary.sub(0, mebibyte), 1);
  }
  return stream.end_capture();
}

void launch_and_let_go(const Stream& stream, std::uint64_t bytes) {
  graph_of(stream, bytes).instantiate().launch(stream);
}

/// Opens the gate once an allocation of the device's waits for memory.
std::thread open_when_waited_for(const Device& device, HostGate& gate) {
  const std::int64_t before = memory_stats(device).at("num_sync_all_streams");
  return std::thread([device, before, &gate] {
    while (memory_stats(device).at("num_sync_all_streams") == before) std::this_thread::yield();
    gate.open();
  });
}

}  // namespace

TEST_CASE("Given graphs that are gone and done then their memory is there for an allocation that is short") {
  const Device device = small_device();
  const Stream stream(device);
  for (int i = 0; i < rounds; ++i) {
    launch_and_let_go(stream, 48 * mebibyte);
    stream.synchronize();
    REQUIRE_NOTHROW(Buffer(stream, 32 * mebibyte));
  }
}

TEST_CASE("Given a graph that is gone while its launch is pending then an allocation that is short waits for it") {
  const Device device = small_device();
  const Stream stream(device);
  for (int i = 0; i < rounds; ++i) {
    empty_cache(device);  // so that the capture waits for nothing
    HostGate gate;
    gate.block(stream);
    launch_and_let_go(stream, 48 * mebibyte);
    std::thread opener = open_when_waited_for(device, gate);
    CHECK_NOTHROW(Buffer(stream, 32 * mebibyte));
    opener.join();
  }
}

TEST_CASE("Given graphs that are gone and done then empty_cache gives their memory back") {
  const Device device = small_device();
  const Stream stream(device);
  for (int i = 0; i < rounds; ++i) {
    launch_and_let_go(stream, 8 * mebibyte);
    stream.synchronize();
    empty_cache(device);
    REQUIRE(memory_reserved(device) == 0);
  }
}

TEST_CASE("Given updates while launches are pending then what they replaced goes when those are done") {
  const Device device = small_device();
  const Stream stream(device);
  HostGate gate;
  gate.block(stream);
  const GraphExec exec = graph_of(stream, 8 * mebibyte).instantiate();
  exec.launch(stream);
  for (int i = 0; i < 5; ++i) {
    exec.update(graph_of(stream, 8 * mebibyte));
    exec.launch(stream);
  }
  SECTION("to who needs it, which waits") {
    std::thread opener = open_when_waited_for(device, gate);
    CHECK_NOTHROW(Buffer(stream, 48 * mebibyte));
    opener.join();
  }
  SECTION("by empty_cache") {
    gate.open();
    stream.synchronize();
    empty_cache(device);
    CHECK(memory_reserved(device) == 8 * mebibyte);
  }
  SECTION("by itself") {
    gate.open();
    stream.synchronize();
    while (memory_allocated(device) != 8 * mebibyte) std::this_thread::yield();
  }
}

}  // namespace let_go_test
