// SPDX-License-Identifier: Apache-2.0
//
// The allocator statistics: figures with torch's names and meaning, a summary to read, a snapshot for a viewer.
//
// Any thread may call every function here. All throw forked and shut_down, and not_permitted inside a host function or
// kernel. Functions that ask the device throw device_lost too; the statistics, the summary and the snapshot don't: they
// are this process's own, and readable after the device was lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device.h"
#include "export.h"

namespace anyplace {

/// The figures under the keys of torch.cuda.memory_stats() ("allocated_bytes.all.peak"), 122 of them, whether or not
/// the device was used. docs/memory-statistics.md explains them.
class MemoryStats : public std::map<std::string, std::int64_t> {
 public:
  /// The figure of that name. Throws invalid_argument for an unknown name, with the nearest one that there is.
  ANYPLACE_API const std::int64_t& at(const std::string& name) const;
  /// As at(): a figure that there isn't is an error, and isn't made.
  const std::int64_t& operator[](const std::string& name) const { return at(name); }
};

/// Single figures, without the map that memory_stats makes: the bytes of Buffers (allocated), and the bytes got from
/// the device for them and for those to come (reserved); now, and at most since the start or reset_peak_memory_stats
/// (max_). They are as exact as memory_stats and, unlike it, leave every thread's bins as they are.
ANYPLACE_API std::uint64_t memory_allocated(const Device& device);
/// The most bytes that Buffers had at once.
ANYPLACE_API std::uint64_t max_memory_allocated(const Device& device);
/// The bytes that the device gave for Buffers that are there, and for those to come.
ANYPLACE_API std::uint64_t memory_reserved(const Device& device);
/// The most bytes that the device had given at once.
ANYPLACE_API std::uint64_t max_memory_reserved(const Device& device);

/// All figures, exact at the moment of the call. With several threads a peak may read high, by at most what their bins
/// hold.
ANYPLACE_API MemoryStats memory_stats(const Device& device);
/// The figures as a table for people.
ANYPLACE_API std::string memory_summary(const Device& device, bool abbreviated = false);
/// Sets every peak to the current figure.
ANYPLACE_API void reset_peak_memory_stats(const Device& device);
/// Sets every sum (".allocated", ".freed", "num_...") to 0.
ANYPLACE_API void reset_accumulated_memory_stats(const Device& device);

/// The device's own figures for free and total memory (Device::memory_info); empty where the vendor can't tell.
ANYPLACE_API MemoryInfo mem_get_info(const Device& device);
/// From now on at most this part of the device's memory is reserved; an allocation beyond it throws out_of_memory. The
/// fraction is 0 to 1, else invalid_argument; 1 lifts the limit. Throws unsupported where the vendor doesn't tell the
/// total, or caching is off.
ANYPLACE_API void set_per_process_memory_fraction(const Device& device, double fraction);
/// Gives all cached memory that no work uses any more back to the device, pinned host memory too. It doesn't wait for
/// work, unless the vendor's own free does.
ANYPLACE_API void empty_cache(const Device& device);

/// Figures of pinned host memory, that is of the HostBuffers of a device. Memory that they give up is kept, by size,
/// for the next ones until empty_cache, or until an allocation needs it. The resets above reset these figures too.
struct HostMemoryStats {
  std::uint64_t allocated_bytes = 0;       ///< the bytes of existing HostBuffers, as asked for
  std::uint64_t peak_allocated_bytes = 0;  ///< the most bytes that HostBuffers had at once
  std::uint64_t reserved_bytes = 0;        ///< the bytes that the device gave for them, and for those to come
  std::uint64_t peak_reserved_bytes = 0;   ///< the most bytes that the device had given at once
  std::uint64_t cached_bytes = 0;          ///< the part of reserved_bytes that the next HostBuffer may have at once
  /// The part of it that HostBuffers gave up and that pending copies or graphs still use.
  std::uint64_t pending_bytes = 0;
  std::uint64_t allocations = 0;         ///< how many HostBuffers there are
  std::uint64_t total_allocations = 0;   ///< how many there have been
  std::uint64_t device_allocations = 0;  ///< calls of the vendor's allocation
  std::uint64_t device_frees = 0;        ///< calls of the vendor's free
};
/// The figures of the device's pinned memory now.
ANYPLACE_API HostMemoryStats host_memory_stats(const Device& device);

/// A process that uses the device.
struct MemoryProcess {
  std::uint64_t process_id = 0;        ///< its number in this process's PID namespace
  std::optional<std::uint64_t> bytes;  ///< empty where the vendor can't tell
};
/// Processes that use the device. Device::processes() tells more of each. Empty where the device lacks
/// Capability::list_processes.
ANYPLACE_API std::optional<std::vector<MemoryProcess>> list_processes(const Device& device);
/// The processes as text: a line for each, or that they are unknown.
ANYPLACE_API std::string describe_processes(const Device& device);

/// How the memory history, which a snapshot contains, is recorded. It is off by default, and costs nothing then.
struct MemoryHistoryOptions {
  bool enabled = true;                  ///< whether it is recorded from now on
  std::uint64_t max_entries = 100'000;  ///< the oldest are dropped; 0 is invalid_argument
};
/// Starts a new history, which is empty, or ends the recording.
ANYPLACE_API void record_memory_history(const Device& device, MemoryHistoryOptions options = {});

/// A part of a segment, allocated or free.
struct MemoryBlock {
  /// Whether somebody has it.
  enum class State {
    allocated,     ///< in use
    pending_free,  ///< given up, and work may still use it
    free,          ///< for the next allocation that it fits
  };
  std::uint64_t address = 0;          ///< where it begins
  std::uint64_t size_bytes = 0;       ///< its size, which may be more than what was asked for
  std::uint64_t requested_bytes = 0;  ///< 0 where it is free
  State state = State::free;          ///< whether somebody has it
};

/// Memory got from the device in one piece.
struct MemorySegment {
  std::uint64_t address = 0;        ///< where it begins
  std::uint64_t size_bytes = 0;     ///< all of its bytes, used or not
  std::uint64_t stream_id = 0;      ///< StreamView::id(); 0: the device's null stream
  std::uint64_t pool_id = 0;        ///< MemoryPool::id(); 0: the common pool
  bool small = false;               ///< for small allocations
  bool expandable = false;          ///< its pages were mapped one by one
  std::vector<MemoryBlock> blocks;  ///< by address; they tile the segment
};

/// Something that happened to memory. The actions are torch's.
struct MemoryEvent {
  /// What happened.
  enum class Action {
    alloc,           ///< a block was given out
    free_requested,  ///< a block was given up
    free_completed,  ///< no work uses it any more
    segment_alloc,   ///< a segment was got from the device
    segment_free,    ///< a segment was given back
    segment_map,     ///< a segment grew
    segment_unmap,   ///< a segment shrank
    snapshot,        ///< a snapshot was taken
    oom,             ///< an allocation failed
  };
  Action action = Action::alloc;                   ///< what happened
  std::uint64_t address = 0;                       ///< 0 for oom
  std::uint64_t size_bytes = 0;                    ///< the bytes that it was about
  std::uint64_t stream_id = 0;                     ///< as in MemorySegment
  std::uint64_t pool_id = 0;                       ///< as in MemorySegment
  std::optional<std::uint64_t> device_free_bytes;  ///< how much the device has free at an oom, where it can tell
  std::chrono::system_clock::time_point time;      ///< when it happened
};

/// "alloc", "free_requested" and so on. Never null, never throws.
ANYPLACE_API const char* to_string(MemoryEvent::Action action) noexcept;
/// "allocated", "pending_free", "free". Never null, never throws.
ANYPLACE_API const char* to_string(MemoryBlock::State state) noexcept;

/// All segments of one device's allocator at one moment, and the recorded history before.
struct MemorySnapshot {
  std::vector<MemorySegment> segments;    ///< by address
  std::vector<MemoryEvent> history;       ///< the oldest first; empty while none is recorded
  std::uint64_t max_history_entries = 0;  ///< 0 while none is recorded
  bool history_overflowed = false;        ///< older entries were dropped
};
/// The device's segments and history now, as a value.
ANYPLACE_API MemorySnapshot memory_snapshot(const Device& device);

/// The form of a snapshot's text.
enum class SnapshotFormat {
  pickle,  ///< for PyTorch's memory viewer
  json,    ///< for other programs
};
/// The snapshot as text, of all devices of the device's backend: as a pickle (protocol 4, plain containers only) that
/// PyTorch's memory viewer (pytorch.org/memory_viz) opens, or as JSON.
ANYPLACE_API std::string memory_snapshot(const Device& device, SnapshotFormat format);
/// Writes the text into a file, whole or not at all: if it fails, the former file stays. Throws invalid_argument with
/// the path and the system's reason.
ANYPLACE_API void write_memory_snapshot(const Device& device, const std::string& path,
                                        SnapshotFormat format = SnapshotFormat::pickle);

}  // namespace anyplace
