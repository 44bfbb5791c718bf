// SPDX-License-Identifier: Apache-2.0
// The allocator statistics of a device: what they say of buffers, limits, the cache and processes.
#include <anyplace/anyplace.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "memory/memory_support.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace statistics_test {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::memory_stats;
using anyplace::MemoryStats;
using anyplace::Stream;
using Catch::Contains;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

std::int64_t stat(const Device& device, const std::string& name) { return memory_stats(device).at(name); }

}  // namespace

TEST_CASE("a device that was never used has all its figures, and they are 0") {
  const Device device("cpu_sim:0");
  const MemoryStats stats = memory_stats(device);
  CHECK(stats.size() == 122);
  for (const auto& [name, value] : stats) {
    INFO(name);
    CHECK(value == (name == "max_split_size" ? -1 : 0));
  }
}

TEST_CASE("the figures follow a buffer from its birth to its end") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::optional<Buffer> small(std::in_place, stream, 1000);
  std::optional<Buffer> large(std::in_place, stream, 5 * mib);

  MemoryStats stats = memory_stats(device);
  CHECK(stats["allocation.all.current"] == 2);
  CHECK(stats["allocation.small_pool.current"] == 1);
  CHECK(stats["allocation.large_pool.current"] == 1);
  CHECK(stats["requested_bytes.all.current"] == 1000 + 5 * static_cast<std::int64_t>(mib));
  CHECK(stats["requested_bytes.small_pool.current"] == 1000);
  CHECK(stats["allocated_bytes.small_pool.current"] >= 1000);
  CHECK(stats["allocated_bytes.small_pool.current"] % 512 == 0);
  CHECK(stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"]);
  CHECK(stats["reserved_bytes.all.current"] >= stats["active_bytes.all.current"]);
  CHECK(stats["reserved_bytes.all.current"] ==
        stats["reserved_bytes.small_pool.current"] + stats["reserved_bytes.large_pool.current"]);
  CHECK(stats["segment.all.current"] >= 2);
  CHECK(stats["num_device_alloc"] >= 2);
  const std::int64_t before = stats["allocated_bytes.all.current"];

  large.reset();
  stats = memory_stats(device);
  CHECK(stats["allocation.all.current"] == 1);
  CHECK(stats["allocation.all.peak"] == 2);
  CHECK(stats["allocation.all.allocated"] == 2);
  CHECK(stats["allocation.all.freed"] == 1);
  CHECK(stats["allocated_bytes.large_pool.current"] == 0);
  CHECK(stats["allocated_bytes.all.peak"] == before);
  CHECK(stats["reserved_bytes.large_pool.current"] > 0);

  small.reset();
  CHECK(stat(device, "allocation.all.current") == 0);
  CHECK(stat(device, "active.all.current") == 0);
}

TEST_CASE("allocated falls when the free is asked for, active and requested when it completes") {
  const Device device("cpu_sim:0");
  const Stream home(device);
  const Stream user(device);
  test::HostGate gate;
  std::optional<Buffer> buffer(std::in_place, home, 4 * mib);
  gate.block(user);
  buffer->record_stream(user);
  const std::int64_t bytes = stat(device, "active_bytes.all.current");
  buffer.reset();

  CHECK(stat(device, "allocated_bytes.all.current") == 0);
  CHECK(stat(device, "allocation.all.current") == 0);
  CHECK(stat(device, "active_bytes.all.current") == bytes);
  CHECK(stat(device, "requested_bytes.all.current") == 4 * static_cast<std::int64_t>(mib));
  CHECK(stat(device, "active.all.current") == 1);

  gate.open();
  user.synchronize();
  anyplace::empty_cache(device);
  CHECK(stat(device, "active_bytes.all.current") == 0);
  CHECK(stat(device, "requested_bytes.all.current") == 0);
  CHECK(stat(device, "active.all.current") == 0);
}

TEST_CASE("a small buffer that is made and freed again and again shows in every figure") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  constexpr int rounds = 1000;
  for (int i = 0; i < rounds; ++i) Buffer(stream, 300);
  const MemoryStats stats = memory_stats(device);
  CHECK(stats.at("allocation.all.allocated") == rounds);
  CHECK(stats.at("allocation.all.freed") == rounds);
  CHECK(stats.at("allocation.all.peak") == 1);
  CHECK(stats.at("requested_bytes.all.allocated") == 300 * rounds);
  CHECK(stats.at("requested_bytes.all.peak") == 300);
  CHECK(stats.at("active.small_pool.freed") == rounds);
}

TEST_CASE("resets: peaks start from what is there, sums from nothing") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer kept(stream, 3 * mib);
  { const Buffer gone(stream, 7 * mib); }
  anyplace::reset_peak_memory_stats(device);
  MemoryStats stats = memory_stats(device);
  for (const auto& [name, value] : stats) {
    if (name.size() < 5 || name.compare(name.size() - 5, 5, ".peak") != 0) continue;
    INFO(name);
    CHECK(value == stats.at(name.substr(0, name.size() - 4) + "current"));
  }
  CHECK(stats.at("allocation.all.allocated") == 2);

  anyplace::reset_accumulated_memory_stats(device);
  stats = memory_stats(device);
  for (const auto& [name, value] : stats) {
    if (name.find(".allocated") == std::string::npos && name.find(".freed") == std::string::npos &&
        name.find("num_") != 0) {
      continue;
    }
    INFO(name);
    CHECK(value == 0);
  }
  CHECK(stats.at("allocation.all.current") == 1);
}

TEST_CASE("emptying the cache gives back what nothing uses, and only that") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer kept(stream, 3 * mib);
  { const Buffer gone(stream, 64 * mib); }
  CHECK(stat(device, "reserved_bytes.all.current") >= static_cast<std::int64_t>(64 * mib));
  stream.synchronize();
  anyplace::empty_cache(device);
  CHECK(stat(device, "reserved_bytes.all.current") < static_cast<std::int64_t>(8 * mib));
  CHECK(stat(device, "allocated_bytes.all.current") >= static_cast<std::int64_t>(3 * mib));
}

TEST_CASE("mem_get_info has the device's own figures") {
  const Device device("cpu_sim:0");
  const anyplace::MemoryInfo before = anyplace::mem_get_info(device);
  REQUIRE(before.free);
  REQUIRE(before.total);
  const Buffer buffer(device, 32 * mib);
  CHECK(*anyplace::mem_get_info(device).free <= *before.free - 32 * mib);
  CHECK(anyplace::mem_get_info(device).total == before.total);
}

TEST_CASE("a fraction that isn't from 0 to 1 is refused, and changes nothing") {
  const Device device("cpu_sim:0");
  for (const double bad : {-0.1, 1.1, std::nan(""), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::infinity(), -1e-300, 1 + 1e-15}) {
    const std::optional<anyplace::Error> error =
        test::error_of([&] { anyplace::set_per_process_memory_fraction(device, bad); });
    INFO(bad);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::invalid_argument);
    CHECK_THAT(error->what(), Contains("from 0 to 1"));
  }
  CHECK(Buffer(device, mib).size_bytes() == mib);
}

TEST_CASE("a fraction limits what is reserved, and 1 lifts it") {
  const Device device("cpu_sim:0");
  const std::uint64_t total = *anyplace::mem_get_info(device).total;
  anyplace::set_per_process_memory_fraction(device, 0.25);
  const std::optional<anyplace::Error> error = test::error_of([&] { Buffer(device, total / 2); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::out_of_memory);
  CHECK(stat(device, "num_ooms") == 1);
  CHECK(Buffer(device, total / 8).size_bytes() == total / 8);

  anyplace::set_per_process_memory_fraction(device, 0);
  CHECK(test::code_of([&] { Buffer(device, total / 4); }) == ErrorCode::out_of_memory);

  anyplace::set_per_process_memory_fraction(device, 1);
  CHECK(Buffer(device, total / 2).size_bytes() == total / 2);
}

TEST_CASE("without caching the statistics are empty, and a limit that nothing would keep to is refused") {
  const Device device("cpu_sim:0");
  anyplace::AllocatorConfig config;
  config.caching = false;
  anyplace::configure_allocator(device, config);
  const Buffer buffer(device, mib);
  CHECK(stat(device, "reserved_bytes.all.current") == 0);
  CHECK(test::code_of([&] { anyplace::set_per_process_memory_fraction(device, 0.5); }) == ErrorCode::unsupported);
  anyplace::set_per_process_memory_fraction(device, 1);
  anyplace::empty_cache(device);
  CHECK_FALSE(anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle).empty());
}

TEST_CASE("the summary names the place and shows what is there") {
  const Device device("cpu_sim:0");
  const Buffer buffer(device, 3 * mib);
  CHECK_THAT(anyplace::memory_summary(device), Contains("cpu_sim:0") && Contains("3.00 MiB"));
  CHECK(anyplace::memory_summary(device, true).size() < anyplace::memory_summary(device).size());
}

TEST_CASE("a simulated device is used by this process") {
  const Device device("cpu_sim:0");
  const Buffer buffer(device, 3 * mib);
  const auto processes = anyplace::list_processes(device);
  REQUIRE(processes);
  REQUIRE(processes->size() == 1);
  CHECK(processes->front().process_id == static_cast<std::uint64_t>(::getpid()));
  CHECK(processes->front().bytes.value_or(0) >= 3 * mib);
  CHECK_THAT(anyplace::describe_processes(device), Contains(std::to_string(::getpid())) && Contains("MiB"));
}

TEST_CASE("processes of a device whose vendor doesn't tell are unknown, not none") {
  const Device device("sim_plain:0");
  CHECK_FALSE(anyplace::list_processes(device));
  CHECK_THAT(anyplace::describe_processes(device), Contains("sim_plain:0") && Contains("unknown"));
}

TEST_CASE("where the total is unknown there is no fraction of it, but all of it") {
  const Device device("sim_full:0");
  memory_test::controls_of(device).memory_unknown = true;
  CHECK_FALSE(anyplace::mem_get_info(device).total);
  CHECK(test::code_of([&] { anyplace::set_per_process_memory_fraction(device, 0.5); }) == ErrorCode::unsupported);
  CHECK(test::code_of([&] { anyplace::set_per_process_memory_fraction(device, 2); }) == ErrorCode::invalid_argument);
  anyplace::set_per_process_memory_fraction(device, 1);
  CHECK_THAT(anyplace::memory_summary(device), Contains("unknown free of unknown"));
  CHECK(Buffer(device, mib).size_bytes() == mib);
}

TEST_CASE("lifting the fraction leaves the configured limit") {
  const Device device("cpu_sim:0");
  anyplace::AllocatorConfig config;
  config.limit_bytes = 32 * mib;
  anyplace::configure_allocator(device, config);
  anyplace::set_per_process_memory_fraction(device, 0.9);
  CHECK(test::code_of([&] { Buffer(device, 40 * mib); }) == ErrorCode::out_of_memory);
  anyplace::set_per_process_memory_fraction(device, 1);
  CHECK(test::code_of([&] { Buffer(device, 40 * mib); }) == ErrorCode::out_of_memory);
  CHECK(Buffer(device, 20 * mib).size_bytes() == 20 * mib);
}

TEST_CASE("the statistics of a lost device can be read; what asks the device says that it is lost") {
  const memory_test::CaughtReports reports;
  const Device device("sim_full:0");
  const Stream stream(device);
  std::optional<Buffer> buffer(std::in_place, stream, 3 * mib);
  anyplace::record_memory_history(device);
  memory_test::controls_of(device).lost = true;
  REQUIRE(test::code_of([&] { anyplace::mem_get_info(device); }) == ErrorCode::device_lost);

  CHECK(stat(device, "allocation.all.current") == 1);
  CHECK_THAT(anyplace::memory_summary(device), Contains("3.00 MiB") && Contains("unknown free of unknown"));
  CHECK_FALSE(anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle).empty());
  anyplace::reset_peak_memory_stats(device);
  anyplace::reset_accumulated_memory_stats(device);
  CHECK(test::code_of([&] { anyplace::empty_cache(device); }) == ErrorCode::device_lost);
  CHECK(test::code_of([&] { anyplace::list_processes(device); }) == ErrorCode::device_lost);
  CHECK(test::code_of([&] { anyplace::set_per_process_memory_fraction(device, 0.5); }) == ErrorCode::device_lost);
  buffer.reset();
  CHECK(stat(device, "allocation.all.current") == 0);
}

TEST_CASE("blocks that aren't split are oversize, each counted once") {
  const Device device("cpu_sim:0");
  anyplace::AllocatorConfig config;
  config.segments = anyplace::SegmentKind::classic;
  config.max_split_bytes = 20 * mib;
  anyplace::configure_allocator(device, config);
  const Stream stream(device);
  const Buffer small(stream, mib / 2);
  for (int i = 0; i < 10; ++i) Buffer(stream, 30 * mib);
  std::optional<Buffer> kept(std::in_place, stream, 30 * mib);
  MemoryStats stats = memory_stats(device);
  CHECK(stats["max_split_size"] == static_cast<std::int64_t>(20 * mib));
  CHECK(stats["oversize_allocations.current"] == 1);
  CHECK(stats["oversize_allocations.peak"] == 1);
  CHECK(stats["oversize_allocations.allocated"] == 11);
  CHECK(stats["oversize_allocations.freed"] == 10);
  CHECK(stats["oversize_segments.current"] == 1);
  kept.reset();
  stats = memory_stats(device);
  CHECK(stats["oversize_allocations.current"] == 0);
  CHECK(stats["oversize_segments.current"] == 1);
  stream.synchronize();
  anyplace::empty_cache(device);
  CHECK(stat(device, "oversize_segments.current") == 0);
}

TEST_CASE("a history of no entries is refused") {
  const Device device("cpu_sim:0");
  CHECK(test::code_of([&] { anyplace::record_memory_history(device, {true, 0}); }) == ErrorCode::invalid_argument);
  anyplace::record_memory_history(device, {false, 0});
}

TEST_CASE("the statistics are closed inside a host function") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  std::vector<ErrorCode> codes;
  stream.launch_host_func([&] {
    codes.push_back(test::code_of([&] { memory_stats(device); }));
    codes.push_back(test::code_of([&] { anyplace::memory_summary(device); }));
    codes.push_back(test::code_of([&] { anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle); }));
    codes.push_back(test::code_of([&] { anyplace::reset_peak_memory_stats(device); }));
    codes.push_back(test::code_of([&] { anyplace::reset_accumulated_memory_stats(device); }));
    codes.push_back(test::code_of([&] { anyplace::mem_get_info(device); }));
    codes.push_back(test::code_of([&] { anyplace::set_per_process_memory_fraction(device, 0.5); }));
    codes.push_back(test::code_of([&] { anyplace::empty_cache(device); }));
    codes.push_back(test::code_of([&] { anyplace::list_processes(device); }));
    codes.push_back(test::code_of([&] { anyplace::record_memory_history(device); }));
  });
  stream.synchronize();
  CHECK(codes == std::vector<ErrorCode>(10, ErrorCode::not_permitted));
}

TEST_CASE("a figure that there isn't is an error that names it and the nearest that there is") {
  const Device device("cpu_sim:0");
  const MemoryStats stats = memory_stats(device);
  const auto text_of = [&](const std::string& name) {
    const auto error = test::error_of([&] { static_cast<void>(stats.at(name)); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::invalid_argument);
    CHECK(error->operation() == std::string("MemoryStats::at"));
    return error->text();
  };
  CHECK_THAT(text_of("allocated_bytes.all.curent"),
             Contains("\"allocated_bytes.all.curent\"") && Contains("did you mean \"allocated_bytes.all.current\"?"));
  CHECK_THAT(text_of("num_oom"), Contains("did you mean \"num_ooms\"?"));
  CHECK_THAT(text_of("allocated_bytes.current"), Contains("did you mean \"allocated_bytes.all.current\"?"));
  CHECK_THAT(text_of("xyz"), Contains("\"xyz\"") && !Contains("did you mean") && Contains("docs/memory-statistics.md"));
  CHECK_THAT(text_of(""), Contains("\"\""));
  CHECK_THAT(text_of(std::string(1 << 20, 'a')), !Contains("did you mean"));
  CHECK(text_of(std::string(1 << 20, 'a')).size() < 1000);
  // What only looks the same is no other way to get a 0.
  CHECK(test::code_of([&] { static_cast<void>(memory_stats(device)["num_oom"]); }) == ErrorCode::invalid_argument);
  CHECK(memory_stats(device)["num_ooms"] == 0);
  CHECK(stats.size() == 122);
}

}  // namespace statistics_test
