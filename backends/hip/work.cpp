// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <algorithm>
#include <utility>

#include "anyplace/backend/kit/watcher.h"
#include "device.h"
#include "stream.h"

namespace anyplace::hip {

namespace {

bool null_stream_is_idle(Device& device) {
  const DeviceScope scope(device);
  const hipError_t result = driver().StreamQuery(nullptr);
  if (result == hipErrorNotReady) return false;
  device.check(result, "hipStreamQuery");
  return true;
}

/// False also if it can't be asked; throws only if the device is lost.
template <class Question>
bool surely(const Device& device, Question&& question) {
  try {
    return question();
  } catch (const Failure&) {
    if (device.lost()) throw;
    return false;
  }
}

/// What can't be asked because the device is lost isn't waited for either.
template <class Pending>
bool is_over_or_lost(const Pending& pending, const Device& device) noexcept {
  try {
    return pending.is_over();
  } catch (...) {
    return device.lost();
  }
}

}  // namespace

// ---- RetiredStream and PendingWork ---------------------------------------------------------------------------------

RetiredStream::~RetiredStream() {
  if (!device_.lost()) device_.work().note_failure(driver().StreamDestroy(native_));
}

bool RetiredStream::is_over() const {
  const hipError_t result = driver().StreamQuery(native_);
  if (result == hipErrorNotReady) return false;
  device_.check(result, "hipStreamQuery");
  return true;
}

bool PendingWork::is_over() const {
  try {
    const bool over = ask();
    failures_ = 0;
    return over;
  } catch (const Failure& failure) {
    // A question that failed says nothing of the work, whose end frees what would be left behind otherwise.
    if (failure.status() == ANYPLACE_STATUS_DEVICE_LOST || ++failures_ > patience) throw;
    return false;
  }
}

bool PendingWork::ask() const {
  if (null_stream_of_ != nullptr && !null_stream_is_idle(*null_stream_of_)) return false;
  const auto over = [](const auto& pending) { return pending->is_over(); };
  return std::all_of(markers_.begin(), markers_.end(), over) && std::all_of(retired_.begin(), retired_.end(), over);
}

// ---- Work ----------------------------------------------------------------------------------------------------------

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

bool Work::remove(Stream& stream) {
  if (stream.is_null()) return false;
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  const StreamLinks links = std::exchange(stream.links, {});
  (links.previous != nullptr ? links.previous->links.next : first_) = links.next;
  if (links.next != nullptr) links.next->links.previous = links.previous;
  if (device_.lost()) return false;
  over = take_what_is_over();
  if (!stream.is_ours()) {
    if (std::shared_ptr<Marker> marker = mark(stream)) left_behind_.push_back(std::move(marker));
    return false;
  }
  if (stream.query()) return false;
  retired_.reserve(retired_.size() + 1);
  retired_.push_back(std::make_shared<RetiredStream>(device_, stream.native()));
  retired_count_.store(retired_.size(), std::memory_order_release);
  return true;
}

PendingWork Work::pending() {
  PendingWork pending;
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  over = take_what_is_over();
  pending.markers_ = left_behind_;
  pending.retired_ = retired_;
  for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
    if (std::shared_ptr<Marker> marker = mark(*stream)) pending.markers_.push_back(std::move(marker));
  }
  const bool idle = !null_stream_used_ || surely(device_, [this] { return null_stream_is_idle(device_); });
  if (!idle) pending.null_stream_of_ = &device_;
  return pending;
}

bool Work::is_idle() {
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  over = take_what_is_over();
  if (!left_behind_.empty() || !retired_.empty()) return false;
  const auto idle = [this] {
    if (null_stream_used_ && !null_stream_is_idle(device_)) return false;
    for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
      if (!stream->query()) return false;
    }
    return true;
  };
  return surely(device_, idle);
}

std::shared_ptr<Marker> Work::mark(const Stream& stream) {
  if (surely(device_, [&] { return stream.query(); })) return nullptr;
  EventPool& pool = device_.event_pool();
  hipEvent_t const event = pool.take();
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

Work::RetiredStreams Work::take_what_is_over() {
  RetiredStreams over;
  over.reserve(retired_.size());
  const auto is_over = [this](const auto& pending) { return is_over_or_lost(*pending, device_); };
  left_behind_.erase(std::remove_if(left_behind_.begin(), left_behind_.end(), is_over), left_behind_.end());
  const auto first_over =
      std::stable_partition(retired_.begin(), retired_.end(), [&](const auto& each) { return !is_over(each); });
  over.assign(std::make_move_iterator(first_over), std::make_move_iterator(retired_.end()));
  retired_.erase(first_over, retired_.end());
  retired_count_.store(retired_.size(), std::memory_order_release);
  return over;
}

void Work::sweep() noexcept {
  if (!any_retired()) return;
  try {
    RetiredStreams over;
    const std::lock_guard lock(mutex_);
    over = take_what_is_over();
  } catch (...) {
    return;  // no memory: later
  }
}

void Work::note_failure(hipError_t result) noexcept {
  if (result == hipSuccess) return;
  hipError_t none = hipSuccess;
  failed_.compare_exchange_strong(none, result, std::memory_order_acq_rel);
  if (is_sticky(result)) device_.lose(result);
}

hipError_t Work::close() noexcept {
  const std::lock_guard lock(mutex_);
  left_behind_.clear();
  // Whose handles nobody will destroy any more; with CUDA they go with the context.
  for (const Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
    if (stream->is_ours()) note_failure(driver().StreamDestroy(stream->native()));
  }
  retired_.clear();
  retired_count_.store(0, std::memory_order_release);
  return failure();
}

}  // namespace anyplace::hip
