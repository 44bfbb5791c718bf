// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <string>
#include <vector>

namespace newname_backend {
namespace {

using anyplace::backend::Failure;
using anyplace::backend::set_text;

/// The capabilities that this backend claims. `anyplace conformance` tries each of them, and what isn't here is
/// unsupported.
constexpr std::uint64_t capabilities = std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS |
                                       std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS |
                                       std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_GATES |
                                       std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY;

}  // namespace

// Texts and numbers that aren't set stay empty and 0, which means that they are unknown.
void Device::properties(anyplace_device_properties& out) const {
  out.compute_units = 1;
  out.capabilities = capabilities;
  out.total_memory = device_memory_.total_bytes();
  out.address_alignment = Heap::alignment;
  set_text(out.name, "Newname " + std::to_string(index_));
  set_text(out.vendor, "Newname");
}

Heap& Device::heap(std::uint32_t kind) {
  if (kind == ANYPLACE_MEMORY_DEVICE) return device_memory_;
  if (kind == ANYPLACE_MEMORY_PINNED) return pinned_memory_;
  throw Failure(ANYPLACE_STATUS_UNSUPPORTED, "newname has device and pinned memory only");
}

std::shared_ptr<Stream> Device::make_stream(const anyplace_stream_desc& desc) {
  return std::make_shared<Stream>(*this, host_, desc.cookie);
}

void Device::add(Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(&stream);
}

void Device::remove(Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  streams_.erase(&stream);
}

bool Device::synchronize(const Deadline& deadline) {
  std::vector<Point> points;
  {
    const std::lock_guard lock(mutex_);
    for (const Stream* const stream : streams_) points.push_back(stream->mark());
  }
  return std::all_of(points.begin(), points.end(), [&](const Point& point) { return point.wait(deadline); });
}

bool Device::shut_down(const Deadline& deadline) {
  if (!synchronize(deadline)) return false;
  {
    const std::lock_guard lock(mutex_);
    for (Stream* const stream : streams_) stream->close();
  }
  return workers_.wait_until_ended(deadline);
}

}  // namespace newname_backend
