// SPDX-License-Identifier: Apache-2.0
//
// The table's rows are in the order in which one reads them after an out_of_memory: what the application holds, how
// much memory that takes, and what the device gave. Widths are fixed, so that two summaries can be laid side by side.
#include "memory/figures/summary.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace anyplace::detail {
namespace {

constexpr std::size_t table_width = 82;

/// Divides the number by `step` until at most `most` is before its point; `unit` becomes the unit's index.
double scale(std::int64_t number, double step, double most, std::size_t units, std::size_t& unit) {
  double scaled = static_cast<double>(number);
  for (unit = 0; unit + 1 < units && std::abs(scaled) >= most; ++unit) scaled /= step;
  return scaled;
}

struct Row {
  StatKind kind;
  const char* name;
  bool is_bytes;
  bool always;  ///< also shown in the abbreviated table
};

constexpr std::array<Row, stat_kinds> rows = {{
    {StatKind::requested_bytes, "Requested memory", true, false},
    {StatKind::allocated_bytes, "Allocated memory", true, true},
    {StatKind::active_bytes, "Active memory", true, true},
    {StatKind::reserved_bytes, "Reserved memory", true, true},
    {StatKind::inactive_split_bytes, "Non-releasable memory", true, true},
    {StatKind::allocation, "Allocations", false, true},
    {StatKind::active, "Active blocks", false, false},
    {StatKind::segment, "Segments", false, true},
    {StatKind::inactive_split, "Non-releasable blocks", false, false},
}};

std::string rule(char of) {
  std::string line(table_width, of);
  line += '\n';
  return line;
}

std::string line(const char* name, const Stat& stat, bool is_bytes) {
  const auto shown = is_bytes ? scaled_bytes : scaled_count;
  return fmt::format(" {:<23} | {:>11} | {:>11} | {:>11} | {:>11}\n", name, shown(stat.current), shown(stat.peak),
                     shown(stat.allocated), shown(stat.freed));
}

std::string known_bytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? scaled_bytes(static_cast<std::int64_t>(*bytes)) : "unknown";
}

}  // namespace

std::string scaled_bytes(std::int64_t bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  const double scaled = scale(bytes, 1024, 1023.995, units.size(), unit);
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", scaled, units[unit]);
}

std::string scaled_count(std::int64_t count) {
  static constexpr std::array units = {"", "K", "M", "G", "T"};
  if (std::llabs(count) < 1'000'000) return fmt::format("{}", count);
  std::size_t unit = 0;
  const double scaled = scale(count, 1000, 999.995, units.size(), unit);
  return fmt::format("{:.2f} {}", scaled, units[unit]);
}

std::string summarise(const std::string& place, const StatTable& table, const MemoryInfo& device, bool abbreviated) {
  std::string text = rule('=');
  text += fmt::format(" Memory of {}: {} free of {}\n", place, known_bytes(device.free), known_bytes(device.total));
  text += fmt::format(" Out of memory: {}   Retries: {}   Device allocations: {}   Device frees: {}\n", table.num_ooms,
                      table.num_alloc_retries, table.num_device_alloc, table.num_device_free);
  if (!abbreviated) {
    text += fmt::format(" Waits for all streams: {}   Largest block that is split: {}\n", table.num_sync_all_streams,
                        table.max_split_size < 0 ? "any" : scaled_bytes(table.max_split_size));
  }
  text += rule('=');
  text += fmt::format(" {:<23} | {:>11} | {:>11} | {:>11} | {:>11}\n", "", "Now", "Peak", "Allocated", "Freed");
  text += rule('-');
  for (const Row& row : rows) {
    if (abbreviated && !row.always) continue;
    text += line(row.name, table.at(row.kind, StatPool::all), row.is_bytes);
    if (abbreviated) continue;
    text += line("  large pool", table.at(row.kind, StatPool::large), row.is_bytes);
    text += line("  small pool", table.at(row.kind, StatPool::small), row.is_bytes);
    text += rule('-');
  }
  if (!abbreviated) {
    text += line("Oversize allocations", table.oversize_allocations, false);
    text += line("Oversize segments", table.oversize_segments, false);
  }
  return text + rule('=');
}

}  // namespace anyplace::detail
