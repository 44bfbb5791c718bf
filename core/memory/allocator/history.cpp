// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/history.h"

#include <chrono>
#include <exception>

namespace anyplace::detail {

void History::start(std::uint64_t max_entries) {
  max_entries_ = max_entries;
  oldest_ = 0;
  overflowed_ = false;
  ring_ = std::vector<TraceEntry>();
}

void History::add(TraceEntry entry) noexcept {
  entry.time_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  if (ring_.size() < max_entries_) {
    try {
      ring_.push_back(entry);
    } catch (const std::exception&) {
      start(0);  // a history with a gap would contradict itself
    }
    return;
  }
  overflowed_ = true;
  ring_[oldest_] = entry;
  oldest_ = (oldest_ + 1) % ring_.size();
}

std::vector<TraceEntry> History::entries() const {
  std::vector<TraceEntry> ordered;
  ordered.reserve(ring_.size());
  for (std::size_t i = 0; i < ring_.size(); ++i) ordered.push_back(ring_[(oldest_ + i) % ring_.size()]);
  return ordered;
}

}  // namespace anyplace::detail
