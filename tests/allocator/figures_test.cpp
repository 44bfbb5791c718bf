// SPDX-License-Identifier: Apache-2.0
// Single figures and snapshots as structures: the same as the books and the text say.
#include <anyplace/anyplace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace figures_test {

using namespace anyplace;

namespace {

constexpr std::uint64_t mib = 1 << 20;

std::uint64_t figure(const MemoryStats& stats, const char* name) { return static_cast<std::uint64_t>(stats.at(name)); }

void check_figures(const Device& device) {
  // Read first: memory_stats empties the bins.
  const std::uint64_t allocated = memory_allocated(device);
  const std::uint64_t most_allocated = max_memory_allocated(device);
  const std::uint64_t reserved = memory_reserved(device);
  const std::uint64_t most_reserved = max_memory_reserved(device);
  const MemoryStats stats = memory_stats(device);
  CHECK(allocated == figure(stats, "allocated_bytes.all.current"));
  CHECK(most_allocated == figure(stats, "allocated_bytes.all.peak"));
  CHECK(reserved == figure(stats, "reserved_bytes.all.current"));
  CHECK(most_reserved == figure(stats, "reserved_bytes.all.peak"));
}

}  // namespace

TEST_CASE("The single figures are those of the books") {
  const Device device("cpu_sim:0");
  check_figures(device);
  CHECK(memory_allocated(device) == 0);
  CHECK(max_memory_reserved(device) == 0);
  const Stream stream(device);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 50; ++i) {
    buffers.emplace_back(stream, static_cast<std::uint64_t>(i) * 10'000 + 1);
    if (i % 3 == 0) buffers.erase(buffers.begin());
    check_figures(device);
  }
  const std::uint64_t most = max_memory_allocated(device);
  buffers.clear();
  check_figures(device);
  CHECK(memory_allocated(device) == 0);
  CHECK(max_memory_allocated(device) == most);
  reset_peak_memory_stats(device);
  CHECK(max_memory_allocated(device) == 0);
  CHECK(max_memory_reserved(device) == memory_reserved(device));
  empty_cache(device);
  CHECK(memory_reserved(device) == 0);
  check_figures(device);
}

TEST_CASE("A figure is exact while blocks go in and out of the calling thread's bins") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  { const Buffer first(stream, 1000); }
  for (int i = 0; i < 100; ++i) {
    const Buffer a(stream, 1000);
    CHECK(memory_allocated(device) == 1024);
    const Buffer b(stream, 1000);
    CHECK(memory_allocated(device) == 2048);
  }
  CHECK(memory_allocated(device) == 0);
  CHECK(max_memory_allocated(device) == 2048);
  check_figures(device);
}

TEST_CASE("A figure counts what is in other threads' bins and what they hold") {
  const Device device("cpu_sim:0");
  std::atomic<int> step{0};
  const auto wait_for = [&](int value) {
    while (step < value) std::this_thread::yield();
  };
  std::thread other([&] {
    const Stream stream(device);
    for (int i = 0; i < 10; ++i) const Buffer binned(stream, 1000);
    const Buffer held(stream, 1000);
    step = 1;
    wait_for(2);
  });
  wait_for(1);
  const Stream stream(device);
  const Buffer own(stream, 3000);
  CHECK(memory_allocated(device) == 1024 + 3072);
  check_figures(device);
  step = 2;
  other.join();
  CHECK(memory_allocated(device) == 3072);
  check_figures(device);
}

TEST_CASE("Figures can be looked at while threads allocate") {
  const Device device("cpu_sim:0");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Stream stream(device);
      while (!stop) const Buffer buffer(stream, 5000);
    });
  }
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(memory_allocated(device) <= 3 * 5120);
    // The peak is asked for after the figure, which an expression's operands needn't be.
    const std::uint64_t allocated = memory_allocated(device);
    REQUIRE(allocated <= max_memory_allocated(device));
    const std::uint64_t reserved = memory_reserved(device);
    REQUIRE(reserved <= max_memory_reserved(device));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  check_figures(device);
  CHECK(memory_allocated(device) == 0);
}

TEST_CASE("A snapshot's segments are tiled by their blocks and add up to the figures") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const MemoryPool pool(device);
  const Buffer small(stream, 1000);
  const Buffer large(device.default_stream(), 3 * mib);
  { const Buffer gone(stream, 2000); }
  std::optional<Buffer> in_pool;
  {
    const MemoryPoolGuard guard(pool);
    in_pool.emplace(stream, 2 * mib);
  }
  const MemorySnapshot snapshot = memory_snapshot(device);
  std::uint64_t reserved = 0;
  std::map<std::uint64_t, const MemorySegment*> segment_of;
  std::uint64_t allocated = 0;
  for (const MemorySegment& segment : snapshot.segments) {
    reserved += segment.size_bytes;
    std::uint64_t at = segment.address;
    for (const MemoryBlock& block : segment.blocks) {
      CHECK(block.address == at);
      at += block.size_bytes;
      if (block.state == MemoryBlock::State::allocated) {
        allocated += block.size_bytes;
        segment_of[block.address] = &segment;
        CHECK(block.requested_bytes != 0);
      }
    }
    CHECK(at == segment.address + segment.size_bytes);
  }
  CHECK(reserved == memory_reserved(device));
  CHECK(allocated == memory_allocated(device));
  REQUIRE(segment_of.count(small.address()) == 1);
  CHECK(segment_of[small.address()]->stream_id == stream.id());
  CHECK(segment_of[small.address()]->pool_id == 0);
  REQUIRE(segment_of.count(large.address()) == 1);
  CHECK(segment_of[large.address()]->stream_id == 0);
  REQUIRE(segment_of.count(in_pool->address()) == 1);
  CHECK(segment_of[in_pool->address()]->pool_id == pool.id());
  CHECK(snapshot.history.empty());
  CHECK(snapshot.max_history_entries == 0);
}

TEST_CASE("A snapshot's history is that of the text") {
  const Device device("cpu_sim:0");
  const auto before = std::chrono::system_clock::now() - std::chrono::seconds(1);
  record_memory_history(device, {.max_entries = 100});
  const Stream stream(device);
  { const Buffer buffer(stream, 3 * mib); }
  { const Buffer buffer(device.default_stream(), 1000); }
  CHECK_THROWS_AS(Buffer(stream, std::uint64_t{1} << 40), Error);
  const MemorySnapshot snapshot = memory_snapshot(device);
  const auto text = nlohmann::json::parse(memory_snapshot(device, SnapshotFormat::json));
  const auto& trace = text.at("device_traces").at(0);
  REQUIRE(snapshot.history.size() == trace.size());
  REQUIRE_FALSE(snapshot.history.empty());
  CHECK(snapshot.max_history_entries == 100);
  CHECK_FALSE(snapshot.history_overflowed);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const MemoryEvent& event = snapshot.history[i];
    CAPTURE(i, trace[i].dump());
    CHECK(trace[i].at("action") == to_string(event.action));
    CHECK(trace[i].at("size") == event.size_bytes);
    CHECK(trace[i].at("stream") == event.stream_id);
    CHECK(event.time > before);
    if (event.action == MemoryEvent::Action::oom) {
      REQUIRE(event.device_free_bytes.has_value());
      CHECK(trace[i].at("device_free") == *event.device_free_bytes);
    } else {
      CHECK(trace[i].at("addr") == event.address);
    }
  }
  record_memory_history(device, {.max_entries = 1});
  for (int i = 0; i < 3; ++i) const Buffer buffer(stream, 5 * mib);
  CHECK(memory_snapshot(device).history_overflowed);
  CHECK(memory_snapshot(device).history.size() == 1);
}

TEST_CASE("A block that work may still use is pending in a snapshot") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream user(device);
  std::atomic<bool> open{false};
  std::uint64_t address = 0;
  user.launch_host_func([&] {
    while (!open) std::this_thread::yield();
  });
  {
    const Buffer buffer(stream, 3 * mib);
    address = buffer.address();
    buffer.record_stream(user);
  }
  const auto state_of = [&] {
    for (const MemorySegment& segment : memory_snapshot(device).segments) {
      for (const MemoryBlock& block : segment.blocks) {
        if (block.address == address) return block.state;
      }
    }
    return MemoryBlock::State::free;
  };
  CHECK(state_of() == MemoryBlock::State::pending_free);
  open = true;
  device.synchronize();
  CHECK(state_of() == MemoryBlock::State::free);
}

TEST_CASE("The words of a snapshot are those of its text") {
  CHECK(std::string(to_string(MemoryEvent::Action::segment_unmap)) == "segment_unmap");
  CHECK(std::string(to_string(static_cast<MemoryEvent::Action>(99))) == "unknown");
  CHECK(std::string(to_string(MemoryBlock::State::pending_free)) == "pending_free");
  CHECK(std::string(to_string(static_cast<MemoryBlock::State>(99))) == "unknown");
}

}  // namespace figures_test
