// SPDX-License-Identifier: Apache-2.0
// Snapshots of real runs: what the history says leads from the segments back to where it began, whatever happened.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/snapshot_check.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace history_test {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::memory_snapshot;
using anyplace::SnapshotFormat;
using anyplace::Stream;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

nlohmann::json json_of(const Device& device) {
  return nlohmann::json::parse(memory_snapshot(device, SnapshotFormat::json));
}

std::size_t count(const nlohmann::json& history, const std::string& action) {
  std::size_t found = 0;
  for (const nlohmann::json& entry : history) found += entry.at("action") == action ? 1 : 0;
  return found;
}

/// Both formats at one moment, without a change in between: nothing else runs.
void require_consistent(const Device& device, const std::string& options) {
  const snapshot_check::Result result = snapshot_check::check(memory_snapshot(device, SnapshotFormat::pickle),
                                                              memory_snapshot(device, SnapshotFormat::json), options);
  INFO(result.output);
  REQUIRE(result.status == 0);
}

/// Makes and frees buffers of all sizes on `streams`, each used on others now and then.
class Churn {
 public:
  Churn(const Device& device, std::uint32_t seed, int streams = 3) : random_(seed) {
    for (int i = 0; i < streams; ++i) streams_.emplace_back(device);
  }

  void run(int steps, std::size_t most = 60) {
    for (int step = 0; step < steps; ++step) {
      if (!held_.empty() && (held_.size() >= most || pick(2) == 0)) {
        drop(pick(held_.size()));
      } else {
        make();
      }
    }
  }
  void drop_all() {
    while (!held_.empty()) drop(0);
  }
  void synchronize() {
    for (const Stream& stream : streams_) stream.synchronize();
  }
  Stream& stream(std::size_t index) { return streams_[index]; }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }

  void make() {
    static constexpr std::uint64_t sizes[] = {1, 300, 512, 5000, 200 * kib, mib, 3 * mib, 20 * mib};
    try {
      Buffer buffer(streams_[pick(streams_.size())], sizes[pick(std::size(sizes))] + pick(200));
      if (pick(4) == 0) buffer.record_stream(streams_[pick(streams_.size())]);
      held_.push_back(std::move(buffer));
    } catch (const anyplace::Error& error) {
      if (error.code() != anyplace::ErrorCode::out_of_memory) throw;
      drop(pick(held_.size()));
    }
  }
  void drop(std::size_t index) {
    std::swap(held_[index], held_.back());
    held_.pop_back();
  }

  std::mt19937 random_;
  std::vector<Stream> streams_;
  std::vector<Buffer> held_;
};

}  // namespace

TEST_CASE("without history a snapshot has segments and no entries") {
  const Device device("cpu_sim:0");
  const Buffer buffer(device, 3000);
  const nlohmann::json snapshot = json_of(device);
  CHECK_FALSE(snapshot.at("segments").empty());
  for (const nlohmann::json& history : snapshot.at("device_traces")) CHECK(history.empty());
}

TEST_CASE("history has an alloc, a free_requested and a free_completed of each buffer") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  anyplace::record_memory_history(device);
  for (int i = 0; i < 50; ++i) Buffer(stream, 700);
  const nlohmann::json history = json_of(device).at("device_traces")[0];
  CHECK(count(history, "alloc") == 50);
  CHECK(count(history, "free_requested") == 50);
  CHECK(count(history, "free_completed") == 50);
  CHECK(count(history, "segment_alloc") + count(history, "segment_map") >= 1);
  for (const nlohmann::json& entry : history) {
    if (entry.at("action") == "alloc") CHECK(entry.at("size") == 700);
  }
}

TEST_CASE("the default stream is number 0 in a snapshot, every other its own") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  anyplace::record_memory_history(device);
  const Buffer on_default(device.default_stream(), 700);
  const Buffer on_stream(stream, 700);
  const nlohmann::json snapshot = json_of(device);
  std::set<std::uint64_t> of_segments;
  std::set<std::uint64_t> of_entries;
  for (const nlohmann::json& segment : snapshot.at("segments"))
    of_segments.insert(segment.at("stream").get<std::uint64_t>());
  for (const nlohmann::json& entry : snapshot.at("device_traces")[0])
    of_entries.insert(entry.at("stream").get<std::uint64_t>());
  CHECK(of_segments == std::set<std::uint64_t>{0, stream.id()});
  CHECK(of_entries == of_segments);
}

TEST_CASE("memory that one stream left and another took over changes hands in the history") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  for (int i = 0; i < 5; ++i) {
    const Stream stream(device);
    std::vector<Buffer> buffers;
    for (int j = 0; j < 5; ++j) buffers.emplace_back(stream, 3 * mib + static_cast<std::uint64_t>(i) * mib);
    buffers.erase(buffers.begin() + 1);
    stream.synchronize();
    anyplace::empty_cache(device);
    require_consistent(device, "--from-start");
  }
}

TEST_CASE("an out of memory is in the history with what was asked for") {
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  const std::uint64_t total = *anyplace::mem_get_info(device).total;
  REQUIRE(test::code_of([&] { Buffer(device, total + mib); }) == anyplace::ErrorCode::out_of_memory);
  const nlohmann::json history = json_of(device).at("device_traces")[0];
  REQUIRE(count(history, "oom") == 1);
  for (const nlohmann::json& entry : history) {
    if (entry.at("action") == "oom") CHECK(entry.at("size").get<std::uint64_t>() == total + mib);
  }
  if (snapshot_check::has_python()) require_consistent(device, "--from-start");
}

TEST_CASE("a run over three streams is consistent backwards to its start") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    Churn churn(device, seed);
    churn.run(1500);
    require_consistent(device, "--from-start");
    churn.synchronize();
    anyplace::empty_cache(device);
    churn.run(500);
    churn.drop_all();
    require_consistent(device, "--from-start");
  }
  anyplace::empty_cache(device);
  require_consistent(device, "--from-start");
}

TEST_CASE("a run over classic segments is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::AllocatorConfig config;
  config.segments = anyplace::SegmentKind::classic;
  anyplace::configure_allocator(device, config);
  anyplace::record_memory_history(device);
  Churn churn(device, 8);
  churn.run(1500);
  require_consistent(device, "--from-start");
  churn.synchronize();
  anyplace::empty_cache(device);
  churn.run(500);
  const nlohmann::json history = json_of(device).at("device_traces")[0];
  CHECK(count(history, "segment_alloc") > 0);
  CHECK(count(history, "segment_free") > 0);
  CHECK(count(history, "segment_map") == 0);
  require_consistent(device, "--from-start");
}

TEST_CASE("a run that is short of memory again and again is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  const double total = static_cast<double>(*anyplace::mem_get_info(device).total);
  anyplace::set_per_process_memory_fraction(device, 100.0 * static_cast<double>(mib) / total);
  anyplace::record_memory_history(device);
  Churn churn(device, 9);
  churn.run(2500);
  CHECK(count(json_of(device).at("device_traces")[0], "oom") > 0);
  CHECK(anyplace::memory_stats(device).at("reserved_bytes.all.peak") <= static_cast<std::int64_t>(100 * mib));
  require_consistent(device, "--from-start");
}

TEST_CASE("a run in and out of pools is consistent, and a pool's segments are its own") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  Churn outside(device, 10);
  outside.run(200);
  {
    const anyplace::MemoryPool pool(device);
    Churn inside(device, 11);
    {
      const anyplace::MemoryPoolGuard guard(pool);
      inside.run(400);
    }
    outside.run(200);
    std::uint64_t of_pool = 0;
    const nlohmann::json snapshot = json_of(device);
    for (const nlohmann::json& segment : snapshot.at("segments")) {
      if (segment.at("segment_pool_id")[1] == pool.id()) {
        of_pool += segment.at("total_size").get<std::uint64_t>();
      }
    }
    CHECK(of_pool == pool.reserved_bytes());
    CHECK(of_pool > 0);
    require_consistent(device, "--from-start");
  }
  outside.run(300);
  require_consistent(device, "--from-start");
}

TEST_CASE("a run while another stream still works is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  Churn churn(device, 5);
  test::HostGate gate;
  gate.block(churn.stream(2));
  churn.run(800);
  const nlohmann::json snapshot = json_of(device);
  std::size_t pending = 0;
  for (const nlohmann::json& segment : snapshot.at("segments")) {
    for (const nlohmann::json& block : segment.at("blocks")) pending += block.at("state") == "active_pending_free";
  }
  CHECK(pending > 0);
  require_consistent(device, "--from-start");
  gate.open();
  churn.run(300);
  require_consistent(device, "--from-start");
}

TEST_CASE("a history whose oldest entries were dropped is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device, {true, 500});
  Churn churn(device, 6);
  churn.run(2000);
  const nlohmann::json snapshot = json_of(device);
  CHECK(snapshot.at("device_traces")[0].size() == 500);
  CHECK(snapshot.at("allocator_settings").at("trace_alloc_overflowed") == true);
  CHECK(snapshot.at("allocator_settings").at("trace_alloc_max_entries") == 500);
  require_consistent(device, "");
}

TEST_CASE("a history that begins and ends in the middle is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  Churn churn(device, 7);
  churn.run(500);
  anyplace::record_memory_history(device);
  churn.run(500);
  require_consistent(device, "");
  anyplace::record_memory_history(device, {false, 0});
  churn.run(100);
  require_consistent(device, "");
}

TEST_CASE("a history of several threads is consistent") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device device("cpu_sim:0");
  anyplace::record_memory_history(device);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&device, i] {
      Churn churn(device, 20 + i, 2);
      churn.run(600);
    });
  }
  for (std::thread& thread : threads) thread.join();
  require_consistent(device, "--from-start");
}

TEST_CASE("a snapshot has the other devices of the backend, each at its number") {
  if (!snapshot_check::has_python()) return snapshot_check::say_skipped();
  const Device first("cpu_sim:0");
  const Device second("cpu_sim:1");
  anyplace::record_memory_history(second);
  const Buffer one(first, 3 * mib);
  const Buffer other(second, 5 * mib);
  const nlohmann::json snapshot = json_of(first);
  REQUIRE(snapshot.at("device_traces").size() == 2);
  CHECK(snapshot["device_traces"][0].empty());
  CHECK(count(snapshot["device_traces"][1], "alloc") == 1);
  require_consistent(second, "");
}

}  // namespace history_test
