// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <algorithm>
#include <memory>

#include "device.h"
#include "stream.h"

namespace anyplace::levelzero {

bool PendingWork::is_over() const {
  return std::all_of(signals_.begin(), signals_.end(), [](const SignalRef& signal) { return signal->is_complete(); });
}

// ---- Work ----------------------------------------------------------------------------------------------------------

void Work::add(Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  link(stream);
}

void Work::link(Stream& stream) noexcept {
  stream.next = first_;
  if (first_ != nullptr) first_->previous = &stream;
  first_ = &stream;
  if (stream.kind() == StreamKind::null) null_stream_.store(&stream, std::memory_order_release);
  if (stream.kind() == StreamKind::blocking) has_blocking_.store(true, std::memory_order_release);
}

void Work::unlink(Stream& stream) noexcept {
  (stream.previous != nullptr ? stream.previous->next : first_) = stream.next;
  if (stream.next != nullptr) stream.next->previous = stream.previous;
}

Stream* Work::share(ze_command_list_handle_t list) noexcept {
  const std::lock_guard lock(mutex_);
  return find_and_share(list);
}

Stream* Work::add_or_share(std::unique_ptr<Stream> stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (Stream* const known = find_and_share(stream->native())) return known;
  link(*stream);
  return stream.release();
}

Stream* Work::find_and_share(ze_command_list_handle_t list) noexcept {
  for (Stream* stream = first_; stream != nullptr; stream = stream->next) {
    if (stream->native() != list || stream->retired) continue;
    ++stream->handles;
    return stream;
  }
  return nullptr;
}

/// Whether the stream's work is done. If that can't be queried, it counts as done only if the device is lost.
bool Work::is_over(Stream& stream) noexcept {
  if (device_.lost()) return true;
  try {
    // The user may have destroyed the list once its last handle here is gone, so nothing is appended to it any more.
    if (stream.retired && stream.is_adopted()) return stream.is_seen_over();
    const SignalRef marker = stream.own_marker();
    return !marker || marker->is_complete();
  } catch (...) {
    return device_.lost();
  }
}

void Work::remove(Stream& stream) {
  std::unique_ptr<Stream> ended;
  {
    const std::lock_guard lock(mutex_);
    if (--stream.handles != 0) return;
    if (is_over(stream)) {
      unlink(stream);
      ended.reset(&stream);
    } else {
      stream.retired = true;
    }
  }
  if (ended) device_.ending().check(ended->end(), "zeMemFree");
}

void Work::sweep() {
  std::vector<std::unique_ptr<Stream>> over;
  {
    const std::lock_guard lock(mutex_);
    for (Stream* stream = first_; stream != nullptr;) {
      Stream* const next = stream->next;
      if (stream->retired && is_over(*stream)) {
        over.reserve(over.size() + 1);
        unlink(*stream);
        over.emplace_back(stream);
      }
      stream = next;
    }
  }
  const Ending ending = device_.ending();
  ze_result_t first = ZE_RESULT_SUCCESS;
  for (const auto& stream : over) {
    const ze_result_t result = stream->end();
    if (first == ZE_RESULT_SUCCESS) first = result;
  }
  ending.check(first, "zeMemFree");
}

PendingWork Work::pending() {
  PendingWork pending;
  const std::lock_guard lock(mutex_);
  for (Stream* stream = first_; stream != nullptr; stream = stream->next) {
    const bool closed = stream->retired && stream->is_adopted();
    if (SignalRef marker = closed ? stream->last_marker() : stream->own_marker()) {
      if (!marker->is_complete()) pending.signals_.push_back(std::move(marker));
    }
  }
  return pending;
}

std::vector<SignalRef> Work::blocking_markers() {
  std::vector<SignalRef> markers;
  const std::lock_guard lock(mutex_);
  for (Stream* stream = first_; stream != nullptr; stream = stream->next) {
    if (stream->kind() != StreamKind::blocking) continue;
    if (SignalRef marker = stream->own_marker()) markers.push_back(std::move(marker));
  }
  return markers;
}

void Work::keep_list(const IdleList& list) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    idle_lists_.push_back(list);
  } catch (...) {  // there is no memory to keep the list for reuse
    api().CommandListDestroy(list.list);
  }
}

IdleList Work::take_list(StreamOrder order, std::int32_t priority) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(idle_lists_.begin(), idle_lists_.end(),
                                  [&](const IdleList& one) { return one.order == order && one.priority == priority; });
  if (found == idle_lists_.end()) return {};
  const IdleList taken = *found;
  idle_lists_.erase(found);
  return taken;
}

void Work::close(FirstFailure& failure) noexcept {
  null_stream_.store(nullptr);
  while (true) {
    std::unique_ptr<Stream> ended;
    {
      const std::lock_guard lock(mutex_);
      if (first_ == nullptr) break;
      ended.reset(first_);
      unlink(*ended);
    }
    failure.add(ended->end(), "zeMemFree");
  }
  const std::lock_guard lock(mutex_);
  for (const IdleList& one : idle_lists_) failure.add(api().CommandListDestroy(one.list), "zeCommandListDestroy");
  idle_lists_.clear();
}

// ---- LegacyTurn ----------------------------------------------------------------------------------------------------

LegacyTurn::LegacyTurn(Stream& stream) {
  if (stream.kind() == StreamKind::plain) return;
  Work& work = stream.device().work();
  if (!work.is_legacy_used()) return;
  lock_ = std::unique_lock(work.legacy_mutex_);
  if (stream.kind() == StreamKind::null) {
    join_null(stream);
  } else {
    join_blocking(stream, *work.null_stream_.load(std::memory_order_acquire));
  }
}

/// Makes the null stream wait for the blocking streams' work.
void LegacyTurn::join_null(Stream& null) {
  Work& work = null.device().work();
  std::vector<SignalRef> markers;
  std::vector<Stream*> streams;
  const std::lock_guard lock(work.mutex_);
  for (Stream* stream = work.first_; stream != nullptr; stream = stream->next) {
    if (stream->kind() != StreamKind::blocking) continue;
    SignalRef marker = stream->own_marker();
    if (!marker || marker == stream->joined || marker->is_complete()) continue;
    streams.push_back(stream);
    markers.push_back(std::move(marker));
  }
  null.wait_own(markers);
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->joined = markers[i];
}

/// Makes a blocking stream wait for the null stream's work.
void LegacyTurn::join_blocking(Stream& stream, Stream& null) {
  SignalRef marker = null.own_marker();
  if (!marker || marker == stream.waited_for_null || marker->is_complete()) return;
  stream.wait_own({marker});
  stream.waited_for_null = std::move(marker);
}

}  // namespace anyplace::levelzero
