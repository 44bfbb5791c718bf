// SPDX-License-Identifier: Apache-2.0
//
// Replaying a trace on a device's caching allocator. No byte of what is allocated is touched.
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

/// Where a replay came to an end, and why.
struct ReplayStop {
  std::size_t event = 0;         ///< from 0
  std::uint64_t live_bytes = 0;  ///< as requested, without that event
  Error error;
};

/// One device, and what is live on it. The streams are the replay's own.
class Replay {
 public:
  Replay(const Device& device, std::uint32_t slots, std::uint32_t streams);
  Replay(const Replay&) = delete;  // it owns what is live
  Replay& operator=(const Replay&) = delete;
  ~Replay();

  /// Goes on from what is live. Nothing if all of it was done. The nanoseconds per event of each batch of 1000 (one
  /// shorter batch if there are fewer) are added to `ns_per_op`. What `progress` shows isn't part of them.
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
  std::vector<Stream> streams_;  ///< made when first used
  std::vector<Slot> slots_;
  std::uint64_t live_bytes_ = 0;
};

/// How a replay's allocator is configured, beyond what the environment says.
struct ReplayConfig {
  SegmentKind segments = SegmentKind::automatic;
  std::optional<std::uint64_t> limit_bytes;
};

/// Before the device's allocator is used. Throws Error, unsupported where the device lacks what is asked for.
void configure_replay(const Device& device, const ReplayConfig& config);
/// "vmm" or "classic": what the device's allocator works with.
const char* segments_in_use(const Device& device);

}  // namespace anyplace::tool
