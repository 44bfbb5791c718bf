// SPDX-License-Identifier: Apache-2.0
//
// A trace: the allocations and frees of one run, in their order, ready to be replayed. trace_reader.h and synthetic.h
// make traces; both make sure that each free is of a live allocation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace anyplace::tool {

/// The largest index of a stream in a trace.
inline constexpr std::uint64_t max_stream_index = 1024;

struct TraceEvent {
  std::uint64_t bytes = 0;   ///< as requested; a free repeats the size
  std::uint32_t slot = 0;    ///< where the replay keeps the address; used again after the free
  std::uint16_t stream = 0;  ///< the stream; a free has its allocation's
  bool allocates = false;
};

struct Trace {
  std::vector<TraceEvent> events;
  std::uint32_t slots = 0;    ///< how many slots are used
  std::uint32_t streams = 0;  ///< all streams are below this number; not each of them need be used
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t left_out = 0;  ///< frees of memory that was allocated before the trace began
};

/// Builds a trace event by event, and keeps its figures.
class TraceBuilder {
 public:
  /// Returns the slot. has_room(bytes) must be true.
  std::uint32_t allocate(std::uint64_t bytes, std::uint16_t stream);
  void free(std::uint32_t slot);

  bool has_room(std::uint64_t bytes) const noexcept { return bytes <= UINT64_MAX - live_bytes_; }
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  std::size_t events() const noexcept { return trace_.events.size(); }
  /// The live allocation in the slot.
  const TraceEvent& allocation(std::uint32_t slot) const { return live_.at(slot); }
  void leave_out() noexcept { ++trace_.left_out; }
  Trace take() && { return std::move(trace_); }

 private:
  Trace trace_;
  std::vector<TraceEvent> live_;  ///< the allocations, by slot
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace anyplace::tool
