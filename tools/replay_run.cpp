// SPDX-License-Identifier: Apache-2.0
#include "replay_run.h"

#include <algorithm>
#include <chrono>

namespace anyplace::tool {

Replay::Replay(const Device& device, std::uint32_t slots, std::uint32_t streams)
    : device_(device), allocator_(caching_allocator(device)), streams_(streams), slots_(slots) {}

Replay::~Replay() {
  try {
    free_all();
  } catch (const Error&) {  // the device was lost, and its memory with it
  }
}

void Replay::play(const TraceEvent& event) {
  Slot& slot = slots_[event.slot];
  const StreamView stream = streams_[event.stream];
  if (event.allocates) {
    slot = {allocator_->allocate(stream, event.bytes), event.bytes, event.stream, true};
    live_bytes_ += event.bytes;
  } else {
    slot.live = false;
    live_bytes_ -= event.bytes;
    allocator_->deallocate(stream, slot.address, event.bytes);
  }
}

std::optional<ReplayStop> Replay::run(const std::vector<TraceEvent>& events, std::vector<double>& ns_per_op,
                                      Progress& progress) {
  using Clock = std::chrono::steady_clock;
  std::size_t at = 0;
  try {
    for (const TraceEvent& event : events) {
      if (!streams_[event.stream]) streams_[event.stream] = Stream(device_);
    }
    while (at < events.size()) {
      const std::size_t count = std::min(batch, events.size() - at);
      const Clock::time_point start = Clock::now();
      for (const std::size_t end = at + count; at < end; ++at) play(events[at]);
      const std::chrono::duration<double, std::nano> took = Clock::now() - start;
      if (count == batch || events.size() < batch) ns_per_op.push_back(took.count() / static_cast<double>(count));
      progress.at(at, events.size());
    }
  } catch (const Error& error) {
    return ReplayStop{at, live_bytes_, error};
  }
  return std::nullopt;
}

void Replay::free_all() {
  for (Slot& slot : slots_) {
    if (!slot.live) continue;
    slot.live = false;
    live_bytes_ -= slot.bytes;
    allocator_->deallocate(streams_[slot.stream], slot.address, slot.bytes);
  }
}

void configure_replay(const Device& device, const ReplayConfig& config) {
  AllocatorConfig made = allocator_config(device);
  if (config.segments == SegmentKind::virtual_memory && !device.has(Capability::virtual_memory)) {
    ErrorDetails details;
    details.code = ErrorCode::unsupported;
    details.place = device.to_string();
    details.operation = "replay";
    details.text = "the device has no virtual memory";
    details.remedy = "--segments classic works everywhere";
    throw Error(details);
  }
  if (config.segments != SegmentKind::automatic) made.segments = config.segments;
  if (config.limit_bytes) made.limit_bytes = config.limit_bytes;
  configure_allocator(device, made);
}

const char* segments_in_use(const Device& device) {
  const bool virtual_memory =
      allocator_config(device).segments != SegmentKind::classic && device.has(Capability::virtual_memory);
  return virtual_memory ? "vmm" : "classic";
}

}  // namespace anyplace::tool
