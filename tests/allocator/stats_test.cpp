// SPDX-License-Identifier: Apache-2.0
// The figures' names and meaning, and the summary, on statistics made by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

#include "memory/figures/stat_names.h"
#include "memory/figures/statistics.h"
#include "memory/figures/summary.h"

namespace stats_test {

using namespace anyplace::detail;
using Catch::Contains;

namespace {

/// torch.cuda.memory_stats()'s, as it names them.
constexpr const char* all_names = R"(
allocation.all.current allocation.all.peak allocation.all.allocated allocation.all.freed allocation.large_pool.current
allocation.large_pool.peak allocation.large_pool.allocated allocation.large_pool.freed allocation.small_pool.current
allocation.small_pool.peak allocation.small_pool.allocated allocation.small_pool.freed segment.all.current
segment.all.peak segment.all.allocated segment.all.freed segment.large_pool.current segment.large_pool.peak
segment.large_pool.allocated segment.large_pool.freed segment.small_pool.current segment.small_pool.peak
segment.small_pool.allocated segment.small_pool.freed active.all.current active.all.peak active.all.allocated
active.all.freed active.large_pool.current active.large_pool.peak active.large_pool.allocated active.large_pool.freed
active.small_pool.current active.small_pool.peak active.small_pool.allocated active.small_pool.freed
inactive_split.all.current inactive_split.all.peak inactive_split.all.allocated inactive_split.all.freed
inactive_split.large_pool.current inactive_split.large_pool.peak inactive_split.large_pool.allocated
inactive_split.large_pool.freed inactive_split.small_pool.current inactive_split.small_pool.peak
inactive_split.small_pool.allocated inactive_split.small_pool.freed allocated_bytes.all.current
allocated_bytes.all.peak allocated_bytes.all.allocated allocated_bytes.all.freed allocated_bytes.large_pool.current
allocated_bytes.large_pool.peak allocated_bytes.large_pool.allocated allocated_bytes.large_pool.freed
allocated_bytes.small_pool.current allocated_bytes.small_pool.peak allocated_bytes.small_pool.allocated
allocated_bytes.small_pool.freed reserved_bytes.all.current reserved_bytes.all.peak reserved_bytes.all.allocated
reserved_bytes.all.freed reserved_bytes.large_pool.current reserved_bytes.large_pool.peak
reserved_bytes.large_pool.allocated reserved_bytes.large_pool.freed reserved_bytes.small_pool.current
reserved_bytes.small_pool.peak reserved_bytes.small_pool.allocated reserved_bytes.small_pool.freed
active_bytes.all.current active_bytes.all.peak active_bytes.all.allocated active_bytes.all.freed
active_bytes.large_pool.current active_bytes.large_pool.peak active_bytes.large_pool.allocated
active_bytes.large_pool.freed active_bytes.small_pool.current active_bytes.small_pool.peak
active_bytes.small_pool.allocated active_bytes.small_pool.freed inactive_split_bytes.all.current
inactive_split_bytes.all.peak inactive_split_bytes.all.allocated inactive_split_bytes.all.freed
inactive_split_bytes.large_pool.current inactive_split_bytes.large_pool.peak inactive_split_bytes.large_pool.allocated
inactive_split_bytes.large_pool.freed inactive_split_bytes.small_pool.current inactive_split_bytes.small_pool.peak
inactive_split_bytes.small_pool.allocated inactive_split_bytes.small_pool.freed requested_bytes.all.current
requested_bytes.all.peak requested_bytes.all.allocated requested_bytes.all.freed requested_bytes.large_pool.current
requested_bytes.large_pool.peak requested_bytes.large_pool.allocated requested_bytes.large_pool.freed
requested_bytes.small_pool.current requested_bytes.small_pool.peak requested_bytes.small_pool.allocated
requested_bytes.small_pool.freed oversize_allocations.current oversize_allocations.peak oversize_allocations.allocated
oversize_allocations.freed oversize_segments.current oversize_segments.peak oversize_segments.allocated
oversize_segments.freed num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free
max_split_size
)";

std::set<std::string> expected_names() {
  std::istringstream words(all_names);
  std::set<std::string> names;
  for (std::string name; words >> name;) names.insert(name);
  return names;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("memory_stats has torch's 122 names and no other") {
  const std::set<std::string> expected = expected_names();
  REQUIRE(expected.size() == 122);
  std::set<std::string> names;
  for (const auto& [name, value] : named_stats(StatTable())) names.insert(name);
  CHECK(names == expected);
}

TEST_CASE("each figure has its own name") {
  StatTable table;
  std::int64_t next = 1;
  const auto fill = [&next](Stat& stat) { stat = {next, next + 1, next + 2, next + 3}, next += 4; };
  for (auto& kind : table.stats) {
    for (Stat& stat : kind) fill(stat);
  }
  fill(table.oversize_allocations);
  fill(table.oversize_segments);
  table.num_alloc_retries = 1001;
  table.num_ooms = 1002;
  table.num_sync_all_streams = 1003;
  table.num_device_alloc = 1004;
  table.num_device_free = 1005;
  table.max_split_size = 1006;

  const anyplace::MemoryStats named = named_stats(table);
  std::set<std::int64_t> values;
  for (const auto& [name, value] : named) values.insert(value);
  CHECK(values.size() == named.size());

  const Stat& large = table.at(StatKind::active_bytes, StatPool::large);
  CHECK(named.at("active_bytes.large_pool.current") == large.current);
  CHECK(named.at("active_bytes.large_pool.peak") == large.peak);
  CHECK(named.at("active_bytes.large_pool.allocated") == large.allocated);
  CHECK(named.at("active_bytes.large_pool.freed") == large.freed);
  CHECK(named.at("allocation.all.current") == table.at(StatKind::allocation, StatPool::all).current);
  CHECK(named.at("requested_bytes.small_pool.freed") == table.at(StatKind::requested_bytes, StatPool::small).freed);
  CHECK(named.at("inactive_split_bytes.all.peak") == table.at(StatKind::inactive_split_bytes, StatPool::all).peak);
  CHECK(named.at("oversize_segments.peak") == table.oversize_segments.peak);
  CHECK(named.at("num_alloc_retries") == 1001);
  CHECK(named.at("num_ooms") == 1002);
  CHECK(named.at("num_sync_all_streams") == 1003);
  CHECK(named.at("num_device_alloc") == 1004);
  CHECK(named.at("num_device_free") == 1005);
  CHECK(named.at("max_split_size") == 1006);
}

TEST_CASE("blocks of every size are split unless somebody said otherwise") {
  CHECK(named_stats(StatTable()).at("max_split_size") == -1);
}

TEST_CASE("a figure goes to its pool and to all; peaks stay, sums only grow") {
  StatTable table;
  table.add(StatKind::allocated_bytes, true, 512);
  table.add(StatKind::allocated_bytes, false, 4096);
  table.add(StatKind::allocated_bytes, true, -512);

  const Stat& all = table.at(StatKind::allocated_bytes, StatPool::all);
  CHECK(all.current == 4096);
  CHECK(all.peak == 4608);
  CHECK(all.allocated == 4608);
  CHECK(all.freed == 512);
  CHECK(table.at(StatKind::allocated_bytes, StatPool::small).current == 0);
  CHECK(table.at(StatKind::allocated_bytes, StatPool::small).peak == 512);
  CHECK(table.at(StatKind::allocated_bytes, StatPool::large).current == 4096);
}

TEST_CASE("a peak starts again from what is there, a sum from nothing") {
  Stat stat;
  stat.add(10);
  stat.add(-4);
  stat.reset_peak();
  CHECK(stat.peak == 6);
  stat.reset_accumulated();
  CHECK(stat.allocated == 0);
  CHECK(stat.freed == 0);
  CHECK(stat.current == 6);
}

TEST_CASE("the summary's sizes have the unit that leaves a number below 1024") {
  CHECK(scaled_bytes(0) == "0 B");
  CHECK(scaled_bytes(1023) == "1023 B");
  CHECK(scaled_bytes(1024) == "1.00 KiB");
  CHECK(scaled_bytes(1536) == "1.50 KiB");
  CHECK(scaled_bytes(1024 * 1024 - 1) == "1.00 MiB");
  CHECK(scaled_bytes(std::int64_t{40} << 30) == "40.00 GiB");
  CHECK(scaled_bytes(INT64_MAX) == "8.00 EiB");
  CHECK(scaled_bytes(-2048) == "-2.00 KiB");
}

TEST_CASE("the summary's counts are in full below a million") {
  CHECK(scaled_count(0) == "0");
  CHECK(scaled_count(999'999) == "999999");
  CHECK(scaled_count(1'000'000) == "1.00 M");
  CHECK(scaled_count(12'345'678'901) == "12.35 G");
}

TEST_CASE("the summary has every figure, the abbreviated one those that matter most") {
  StatTable table;
  table.add(StatKind::allocated_bytes, false, 3 << 20);
  table.add(StatKind::reserved_bytes, false, 4 << 20);
  table.num_ooms = 7;
  table.num_alloc_retries = 11;
  const anyplace::MemoryInfo info{std::uint64_t{1} << 30, std::uint64_t{2} << 30};

  const std::string full = summarise("cpu_sim:0", table, info, false);
  CHECK_THAT(full, Contains("Memory of cpu_sim:0: 1.00 GiB free of 2.00 GiB"));
  CHECK_THAT(full, Contains("Out of memory: 7") && Contains("Retries: 11"));
  for (const char* name : {"Requested memory", "Allocated memory", "Active memory", "Reserved memory", "Segments",
                           "Non-releasable memory", "Allocations", "Oversize segments", "large pool", "small pool"}) {
    CHECK_THAT(full, Contains(name));
  }
  CHECK_THAT(full, Contains("3.00 MiB") && Contains("4.00 MiB"));

  const std::string abbreviated = summarise("cpu_sim:0", table, info, true);
  CHECK(lines_of(abbreviated) < lines_of(full) / 2);
  CHECK_THAT(abbreviated, Contains("Allocated memory") && Contains("Reserved memory") && !Contains("large pool"));
}

TEST_CASE("the summary says unknown where the device doesn't tell") {
  CHECK_THAT(summarise("cuda:0", StatTable(), {}, true), Contains("unknown free of unknown"));
}

TEST_CASE("every line of the summary's table is as wide as the others") {
  StatTable table;
  table.add(StatKind::allocated_bytes, false, std::int64_t{1} << 60);
  std::istringstream lines(summarise("cpu_sim:0", table, {}, false));
  std::size_t bars = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find('|') == std::string::npos) continue;
    CHECK(line.size() <= 82);
    CHECK(line.find('|') == 25);
    ++bars;
  }
  CHECK(bars == 1 + 27 + 2);
}

}  // namespace stats_test
