// SPDX-License-Identifier: Apache-2.0
//
// Replays a trace on a device's caching allocator. It touches no byte of the memory that it allocates.
#pragma once

#include <anyplace/allocator.h>
#include <anyplace/anyplace.h>
#include <anyplace/memory_stats.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "progress.h"
#include "trace.h"

namespace anyplace::tool {

/// The event at which a replay stopped, and why.
struct ReplayStop {
  std::size_t event = 0;         ///< counts from 0
  std::uint64_t live_bytes = 0;  ///< as requested, without that event
  Error error;
};

/// Replays events on one device and keeps track of live allocations. It makes streams of its own.
class Replay {
 public:
  Replay(const Device& device, std::uint32_t slots, std::uint32_t streams);
  Replay(const Replay&) = delete;  // it owns the live allocations
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  /// Replays the events, beginning with the allocations that are live. Returns nothing if all of them were replayed.
  /// Adds the nanoseconds per event of each batch of 1000 to `ns_per_op` (of one shorter batch if there are fewer);
  /// showing `progress` doesn't count.
  std::optional<ReplayStop> run(const std::vector<TraceEvent>& events, std::vector<double>& ns_per_op,
                                Progress& progress);
  void free_all();
  std::uint64_t live_bytes() const noexcept { return live_bytes_; }

  static constexpr std::size_t batch = 1000;

 private:
  struct Slot {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint16_t stream = 0;
    bool live = false;
  };

  void play(const TraceEvent& event);

  Device device_;
  std::shared_ptr<Allocator> allocator_;
  std::vector<Stream> streams_;  ///< each made when it is first used
  std::vector<Slot> slots_;
  std::uint64_t live_bytes_ = 0;
};

/// The configuration of a replay's allocator, beyond what the environment says.
struct ReplayConfig {
  SegmentKind segments = SegmentKind::automatic;
  std::optional<std::uint64_t> limit_bytes;
};

/// Configures the device's allocator; must be called before its first use. Throws Error, and unsupported where the
/// device lacks what is asked for.
void configure_replay(const Device& device, const ReplayConfig& config);
/// The segments that the device's allocator works with: "vmm" or "classic".
const char* segments_in_use(const Device& device);

}  // namespace anyplace::tool
