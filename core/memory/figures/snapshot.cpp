// SPDX-License-Identifier: Apache-2.0
//
// The names and their meaning are those that torch.cuda.memory._snapshot() gives and that the viewer's source
// (torch/utils/viz/MemoryViz.js, torch/cuda/_memory_viz.py) looks for. What is our own is under "anyplace", which the
// viewer leaves alone.
#include "memory/figures/snapshot.h"

#include <algorithm>

#include "memory/figures/json_writer.h"
#include "memory/figures/pickle.h"
#include "memory/figures/stat_names.h"

namespace anyplace::detail {
namespace {

const char* name_of(SnapshotBlockState state) noexcept {
  switch (state) {
    case SnapshotBlockState::active_allocated:
      return "active_allocated";
    case SnapshotBlockState::active_pending_free:
      return "active_pending_free";
    case SnapshotBlockState::inactive:
      return "inactive";
  }
  return "inactive";
}

const char* name_of(TraceAction action) noexcept {
  switch (action) {
    case TraceAction::alloc:
      return "alloc";
    case TraceAction::free_requested:
      return "free_requested";
    case TraceAction::free_completed:
      return "free_completed";
    case TraceAction::segment_alloc:
      return "segment_alloc";
    case TraceAction::segment_free:
      return "segment_free";
    case TraceAction::segment_map:
      return "segment_map";
    case TraceAction::segment_unmap:
      return "segment_unmap";
    case TraceAction::snapshot:
      return "snapshot";
    case TraceAction::oom:
      return "oom";
  }
  return "unknown";
}

/// PyTorch's pair of numbers: the first is a captured graph's pool, the second a pool that a user made.
void write_pool(TreeWriter& to, std::uint64_t pool) {
  to.key("segment_pool_id");
  to.begin_list();
  to.number(0);
  to.unsigned_number(pool);
  to.end_list();
}

void write_block(TreeWriter& to, const SnapshotBlock& block) {
  to.begin_dict();
  to.unsigned_entry("address", block.address);
  to.unsigned_entry("size", block.bytes);
  to.unsigned_entry("requested_size", block.requested);
  to.text_entry("state", name_of(block.state));
  to.empty_list_entry("frames");
  to.end_dict();
}

void write_segment(TreeWriter& to, const SnapshotSegment& segment) {
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  for (const SnapshotBlock& block : segment.blocks) {
    if (block.state == SnapshotBlockState::inactive) continue;
    active += block.bytes;
    requested += block.requested;
    if (block.state == SnapshotBlockState::active_allocated) allocated += block.bytes;
  }
  to.begin_dict();
  to.number_entry("device", segment.device);
  to.unsigned_entry("address", segment.address);
  to.unsigned_entry("total_size", segment.total_bytes);
  to.unsigned_entry("allocated_size", allocated);
  to.unsigned_entry("active_size", active);
  to.unsigned_entry("requested_size", requested);
  to.unsigned_entry("stream", segment.stream);
  to.text_entry("segment_type", segment.small ? "small" : "large");
  write_pool(to, segment.pool);
  to.truth_entry("is_expandable", segment.expandable);
  to.empty_list_entry("frames");
  to.key("blocks");
  to.begin_list();
  for (const SnapshotBlock& block : segment.blocks) write_block(to, block);
  to.end_list();
  to.end_dict();
}

void write_event(TreeWriter& to, const TraceEntry& entry) {
  to.begin_dict();
  to.text_entry("action", name_of(entry.action));
  if (entry.action != TraceAction::oom) {
    to.unsigned_entry("addr", entry.address);
  } else if (entry.address != UINT64_MAX) {
    to.unsigned_entry("device_free", entry.address);
  } else {
    to.number_entry("device_free", -1);  // the viewer accepts only a number
  }
  to.unsigned_entry("size", entry.bytes);
  to.unsigned_entry("stream", entry.stream);
  to.unsigned_entry("time_us", entry.time_us);
  write_pool(to, entry.pool);
  to.empty_list_entry("frames");
  to.end_dict();
}

/// The index in the list is the device's number.
void write_traces(TreeWriter& to, const std::vector<Snapshot>& devices) {
  to.key("device_traces");
  to.begin_list();
  std::int32_t next = 0;
  for (const Snapshot& device : devices) {
    for (; next < device.device; ++next) {
      to.begin_list();
      to.end_list();
    }
    to.begin_list();
    for (const TraceEntry& entry : device.history) write_event(to, entry);
    to.end_list();
    ++next;
  }
  to.end_list();
}

void write_settings(TreeWriter& to, const std::vector<Snapshot>& devices) {
  const auto is_expandable = [](const Snapshot& device) {
    return std::any_of(device.segments.begin(), device.segments.end(), [](const auto& of) { return of.expandable; });
  };
  const auto overflowed = [](const Snapshot& device) { return device.history_overflowed; };
  to.key("allocator_settings");
  to.begin_dict();
  if (!devices.empty()) {
    std::uint64_t limit = 0;
    for (const Snapshot& device : devices) limit = std::max(limit, device.history_limit);
    to.text_entry("ANYPLACE_ALLOCATOR", devices.front().config);
    to.number_entry("max_split_size", devices.front().stats.max_split_size);
    to.truth_entry("expandable_segments", std::any_of(devices.begin(), devices.end(), is_expandable));
    to.unsigned_entry("trace_alloc_max_entries", limit);
    to.truth_entry("trace_alloc_overflowed", std::any_of(devices.begin(), devices.end(), overflowed));
  }
  to.end_dict();
}

void write_own(TreeWriter& to, const std::vector<Snapshot>& devices) {
  to.key("anyplace");
  to.begin_list();
  for (const Snapshot& device : devices) {
    to.begin_dict();
    to.number_entry("device", device.device);
    to.text_entry("place", device.place);
    to.text_entry("config", device.config);
    to.key("memory_stats");
    to.begin_dict();
    for (const auto& [name, value] : named_stats(device.stats)) to.number_entry(name, value);
    to.end_dict();
    to.end_dict();
  }
  to.end_list();
}

std::string write(TreeWriter&& to, const std::vector<Snapshot>& devices) {
  to.begin_dict();
  to.key("segments");
  to.begin_list();
  for (const Snapshot& device : devices) {
    for (const SnapshotSegment& segment : device.segments) write_segment(to, segment);
  }
  to.end_list();
  write_traces(to, devices);
  write_settings(to, devices);
  to.empty_list_entry("external_annotations");
  write_own(to, devices);
  to.end_dict();
  return to.take();
}

}  // namespace

std::string write_snapshot(const std::vector<Snapshot>& devices, SnapshotFormat format) {
  return format == SnapshotFormat::json ? write(JsonWriter(), devices) : write(PickleWriter(), devices);
}

}  // namespace anyplace::detail
