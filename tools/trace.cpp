// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <algorithm>

namespace anyplace::tool {

std::uint32_t TraceBuilder::allocate(std::uint64_t bytes, std::uint16_t stream) {
  std::uint32_t slot = trace_.slots;
  if (free_slots_.empty()) {
    ++trace_.slots;
    live_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  live_[slot] = {bytes, slot, stream, true};
  trace_.events.push_back(live_[slot]);
  trace_.streams = std::max(trace_.streams, static_cast<std::uint32_t>(stream) + 1);
  live_bytes_ += bytes;
  trace_.peak_live_bytes = std::max(trace_.peak_live_bytes, live_bytes_);
  return slot;
}

void TraceBuilder::free(std::uint32_t slot) {
  TraceEvent event = live_.at(slot);
  event.allocates = false;
  trace_.events.push_back(event);
  free_slots_.push_back(slot);
  live_bytes_ -= event.bytes;
}

}  // namespace anyplace::tool
