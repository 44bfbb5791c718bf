// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <algorithm>
#include <utility>

#include "device.h"
#include "stream.h"

namespace anyplace::cuda {

namespace {

bool null_stream_is_idle(Device& device) {
  const DeviceScope scope(device);
  const CUresult result = driver().StreamQuery(CU_STREAM_LEGACY);
  if (result == CUDA_ERROR_NOT_READY) return false;
  device.check(result, "cuStreamQuery");
  return true;
}

/// What can't be asked because the device is lost isn't waited for either.
bool is_over_or_lost(const Marker& marker, const Device& device) noexcept {
  try {
    return marker.is_over();
  } catch (...) {
    return device.lost();
  }
}

}  // namespace

bool PendingWork::is_over() const {
  if (null_stream_of_ != nullptr && !null_stream_is_idle(*null_stream_of_)) return false;
  return std::all_of(markers_.begin(), markers_.end(), [](const auto& marker) { return marker->is_over(); });
}

void Work::add(Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (stream.is_null()) {
    null_stream_used_ = true;
    return;
  }
  stream.links.next = first_;
  if (first_ != nullptr) first_->links.previous = &stream;
  first_ = &stream;
}

void Work::remove(Stream& stream) {
  if (stream.is_null()) return;
  const std::lock_guard lock(mutex_);
  const StreamLinks links = std::exchange(stream.links, {});
  (links.previous != nullptr ? links.previous->links.next : first_) = links.next;
  if (links.next != nullptr) links.next->links.previous = links.previous;
  if (device_.lost()) return;
  forget_what_is_over();
  if (std::shared_ptr<Marker> marker = mark(stream)) left_behind_.push_back(std::move(marker));
}

PendingWork Work::pending() {
  PendingWork pending;
  const std::lock_guard lock(mutex_);
  forget_what_is_over();
  pending.markers_ = left_behind_;
  for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
    if (std::shared_ptr<Marker> marker = mark(*stream)) pending.markers_.push_back(std::move(marker));
  }
  if (null_stream_used_ && !null_stream_is_idle(device_)) pending.null_stream_of_ = &device_;
  return pending;
}

bool Work::is_idle() {
  const std::lock_guard lock(mutex_);
  forget_what_is_over();
  if (!left_behind_.empty() || (null_stream_used_ && !null_stream_is_idle(device_))) return false;
  for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
    if (!stream->query()) return false;
  }
  return true;
}

std::shared_ptr<Marker> Work::mark(const Stream& stream) {
  if (stream.query()) return nullptr;
  EventPool& pool = device_.event_pool();
  CUevent const event = pool.take();
  std::shared_ptr<Marker> marker;
  try {
    marker = std::make_shared<Marker>(device_, pool, event);
  } catch (...) {
    pool.give(event);
    throw;
  }
  stream.record(event);
  return marker;
}

void Work::forget_what_is_over() {
  left_behind_.erase(std::remove_if(left_behind_.begin(), left_behind_.end(),
                                    [this](const auto& marker) { return is_over_or_lost(*marker, device_); }),
                     left_behind_.end());
}

void Work::close() noexcept {
  const std::lock_guard lock(mutex_);
  left_behind_.clear();
}

}  // namespace anyplace::cuda
