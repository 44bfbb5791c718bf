// SPDX-License-Identifier: Apache-2.0
//
// The public functions of the allocator statistics. Functions about this process's own memory don't ask the device, so
// they work on a lost device too. Functions that ask the device throw device_lost.
#include "anyplace/memory_stats.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "memory/allocator/device_allocator.h"
#include "memory/deferred_free.h"
#include "memory/figures/snapshot.h"
#include "memory/figures/stat_names.h"
#include "memory/figures/summary.h"
#include "memory/figures/whole_file.h"
#include "memory/host_pool.h"
#include "runtime/backend.h"
#include "runtime/call.h"
#include "runtime/edit_distance.h"
#include "runtime/text.h"
#include "streams/captured.h"

namespace anyplace {

using detail::enter;
using detail::fail;
using detail::require_usable;

namespace {

detail::DeviceAllocator& allocator_of(const Device& device) { return *device.state()->allocator; }

/// The device's memory figures; unknown ones if the device can't tell them.
MemoryInfo info_if_known(const Device& device) {
  if (device.state()->lost.load(std::memory_order_relaxed)) return {};
  try {
    return device.memory_info();
  } catch (const Error&) {
    return {};
  }
}

/// Gives the default stream the number 0 in the snapshot, as torch does.
void rename_default_stream(detail::Snapshot& snapshot, std::uint64_t id) {
  if (id == 0) return;
  for (detail::SnapshotSegment& segment : snapshot.segments) {
    if (segment.stream == id) segment.stream = 0;
  }
  for (detail::TraceEntry& entry : snapshot.history) {
    if (entry.stream == id) entry.stream = 0;
  }
}

std::string snapshot_of(const Device& device, SnapshotFormat format) {
  std::vector<detail::Snapshot> snapshots;
  for (const auto& each : device.state()->backend->devices) {
    snapshots.push_back(each->allocator->snapshot());
    rename_default_stream(snapshots.back(), each->default_stream_id.load(std::memory_order_relaxed));
  }
  return detail::write_snapshot(snapshots, format);
}

void require_format(const Device& device, SnapshotFormat format, const char* operation) {
  if (format == SnapshotFormat::pickle || format == SnapshotFormat::json) return;
  fail(ErrorCode::invalid_argument, device.to_string(), operation,
       fmt::format("snapshot format {} does not exist", static_cast<int>(format)));
}

}  // namespace

const std::int64_t& MemoryStats::at(const std::string& name) const {
  if (const auto found = find(name); found != end()) return found->second;
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  // Longer names aren't compared: no statistic's name is longer, and the time for a distance is the product of the
  // lengths.
  constexpr std::size_t longest = 64;
  for (const auto& [known, value] : *this) {
    if (name.size() > longest) break;
    const std::size_t distance = detail::edit_distance(name, known);
    if (nearest != nullptr && distance >= least) continue;
    nearest = &known;
    least = distance;
  }
  const bool near = nearest != nullptr && least * 2 < nearest->size();
  fail(ErrorCode::invalid_argument, "", "MemoryStats::at",
       fmt::format("{} is no allocator statistic; {}", detail::in_quotes(name),
                   near ? fmt::format("did you mean \"{}\"?", *nearest) : "docs/memory-statistics.md has them all"));
}

// ---- Figures -------------------------------------------------------------------------------------------------------

namespace {

/// The device's allocator, after everything that was freed and whose work is done has gone back to it. Nothing else may
/// trigger that.
detail::DeviceAllocator& settled_allocator_of(const Device& device) {
  detail::reap_without_waiting(*device.state());
  return allocator_of(device);
}

}  // namespace

MemoryStats memory_stats(const Device& device) {
  enter("memory_stats");
  return detail::named_stats(settled_allocator_of(device).stats());
}

std::uint64_t memory_allocated(const Device& device) {
  enter("memory_allocated");
  return static_cast<std::uint64_t>(settled_allocator_of(device).total(detail::StatKind::allocated_bytes).current);
}

std::uint64_t max_memory_allocated(const Device& device) {
  enter("max_memory_allocated");
  return static_cast<std::uint64_t>(settled_allocator_of(device).total(detail::StatKind::allocated_bytes).peak);
}

std::uint64_t memory_reserved(const Device& device) {
  enter("memory_reserved");
  return static_cast<std::uint64_t>(settled_allocator_of(device).total(detail::StatKind::reserved_bytes).current);
}

std::uint64_t max_memory_reserved(const Device& device) {
  enter("max_memory_reserved");
  return static_cast<std::uint64_t>(settled_allocator_of(device).total(detail::StatKind::reserved_bytes).peak);
}

std::string memory_summary(const Device& device, bool abbreviated) {
  enter("memory_summary");
  return detail::summarise(device.to_string(), settled_allocator_of(device).stats(), info_if_known(device),
                           abbreviated);
}

void reset_peak_memory_stats(const Device& device) {
  enter("reset_peak_memory_stats");
  allocator_of(device).reset_peak();
  device.state()->host_pool->reset_peak();
}

void reset_accumulated_memory_stats(const Device& device) {
  enter("reset_accumulated_memory_stats");
  allocator_of(device).reset_accumulated();
  device.state()->host_pool->reset_accumulated();
}

// ---- The device ----------------------------------------------------------------------------------------------------

MemoryInfo mem_get_info(const Device& device) { return device.memory_info(); }

void set_per_process_memory_fraction(const Device& device, double fraction) {
  constexpr const char* operation = "set_per_process_memory_fraction";
  enter(operation);
  require_usable(*device.state(), operation);
  if (!(fraction >= 0 && fraction <= 1)) {  // written so that NaN is refused too
    fail(ErrorCode::invalid_argument, device.to_string(), operation,
         fmt::format("the fraction is {}\nit has to be from 0 to 1, and 1 lifts the limit", fraction));
  }
  detail::DeviceAllocator& allocator = allocator_of(device);
  const AllocatorConfig config = allocator.config();
  const std::uint64_t configured = config.limit_bytes.value_or(UINT64_MAX);
  if (fraction == 1) {
    allocator.set_limit(configured);
    return;
  }
  if (!config.caching) {
    fail(ErrorCode::unsupported, device.to_string(), operation,
         "the device's caching is off, so nothing would keep to the limit\na limit_allocator does");
  }
  const std::optional<std::uint64_t> total = device.memory_info().total;
  if (!total) {
    fail(ErrorCode::unsupported, device.to_string(), operation,
         "the device doesn't tell how much memory it has, so a part of it is unknown too\nset limit_mb in "
         "ANYPLACE_ALLOCATOR, or AllocatorConfig::limit_bytes");
  }
  allocator.set_limit(std::min(configured, static_cast<std::uint64_t>(fraction * static_cast<double>(*total))));
}

void empty_cache(const Device& device) {
  constexpr const char* operation = "empty_cache";
  enter(operation);
  require_usable(*device.state(), operation);
  detail::refuse_unsafe_call(*device.state(), operation);
  detail::end_let_go_without_waiting(*device.state());
  allocator_of(device).empty_cache();
  device.state()->host_pool->release();
}

// ---- Processes -----------------------------------------------------------------------------------------------------

std::string describe_processes(const Device& device) {
  const std::optional<std::vector<MemoryProcess>> processes = list_processes(device);
  if (!processes) return fmt::format("{}: the processes that use it are unknown\n", device.to_string());
  std::string text =
      fmt::format("{}: {} process{}\n", device.to_string(), processes->size(), processes->size() == 1 ? "" : "es");
  for (const MemoryProcess& process : *processes) {
    text += fmt::format("  process {:>10}  {:>12}\n", process.process_id,
                        process.bytes ? detail::scaled_bytes(static_cast<std::int64_t>(*process.bytes)) : "unknown");
  }
  return text;
}

// ---- History and snapshots -----------------------------------------------------------------------------------------

void record_memory_history(const Device& device, MemoryHistoryOptions options) {
  constexpr const char* operation = "record_memory_history";
  enter(operation);
  if (options.enabled && options.max_entries == 0) {
    fail(ErrorCode::invalid_argument, device.to_string(), operation,
         "a history of 0 entries has nothing in it\nset enabled to false to turn it off");
  }
  allocator_of(device).record_history(options.enabled, options.max_entries);
}

std::string memory_snapshot(const Device& device, SnapshotFormat format) {
  constexpr const char* operation = "memory_snapshot";
  enter(operation);
  require_format(device, format, operation);
  return snapshot_of(device, format);
}

void write_memory_snapshot(const Device& device, const std::string& path, SnapshotFormat format) {
  constexpr const char* operation = "write_memory_snapshot";
  enter(operation);
  require_format(device, format, operation);
  detail::write_whole_file(path, snapshot_of(device, format), device.to_string(), operation);
}

}  // namespace anyplace
