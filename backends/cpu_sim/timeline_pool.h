// SPDX-License-Identifier: Apache-2.0
//
// TimelinePool has timelines of no stream, for the records of graphs. As with streams, a record holds no reference: the
// memory is never freed but reused, and a reused timeline goes on counting from where it was.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "timeline.h"

namespace anyplace::cpu_sim {

class TimelinePool {
 public:
  TimelinePool() = default;
  TimelinePool(const TimelinePool&) = delete;  // Records point to its timelines.
  TimelinePool& operator=(const TimelinePool&) = delete;
  ~TimelinePool() = default;  // Only an unused pool is destroyed (see Engine).

  /// Throws std::bad_alloc.
  Timeline& take();
  /// The caller gives a timeline back when every number that was handed out is reached.
  void give_back(Timeline& timeline) noexcept;

 private:
  std::mutex mutex_;
  std::vector<Timeline*> free_;  // mutex_ guards it; it has room for all.
  std::size_t made_ = 0;         // mutex_ guards it.
};

}  // namespace anyplace::cpu_sim
