// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/stream_work.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "memory/event_pool.h"
#include "runtime/layer_notes.h"

namespace anyplace::detail {
namespace {

constexpr const char* operation = "the allocator";

}  // namespace

void StreamWork::add(StreamState& stream) {
  if (find(stream.id) == nullptr) streams_[stream.id].state = &stream;
}

/// A program seldom changes its stream from one request to the next, so the last one found is tried first.
StreamWork::Stream* StreamWork::find(std::uint64_t id) noexcept {
  if (last_ != nullptr && last_id_ == id) return last_;
  const auto found = streams_.find(id);
  if (found == streams_.end()) return nullptr;
  last_id_ = id;
  return last_ = &found->second;
}

void StreamWork::given(std::uint64_t id) noexcept {
  Stream* const stream = find(id);
  if (stream != nullptr && stream->state != nullptr) stream->given = true;
}

bool StreamWork::is_complete(EventState& event) noexcept {
  const CoreCalls scope;
  const DropsErrors drops;
  try {
    return device_.lost.load(std::memory_order_relaxed) || query(event, operation);
  } catch (const std::exception&) {
    return device_.lost.load(std::memory_order_relaxed);
  }
}

bool StreamWork::record_behind(Stream& stream) noexcept {
  const DropsErrors drops;
  try {
    if (stream.behind == nullptr) stream.behind = take_event(device_);
    record_behind_work(*stream.behind, *stream.state, operation);
    stream.given = false;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool StreamWork::idle(std::uint64_t id) noexcept {
  Stream* const found = find(id);
  if (found == nullptr || device_.lost.load(std::memory_order_relaxed)) return true;
  Stream& stream = *found;
  if (!stream.given && stream.idle) return true;
  if (stream.state == nullptr) {
    if (stream.unmarked) return false;
    stream.idle = stream.behind == nullptr || is_complete(*stream.behind);
    return stream.idle;
  }
  // Most streams have nothing to do at all, which can be found out without an event.
  if (is_surely_idle(*stream.state, operation)) {
    stream.given = false;
    return stream.idle = true;
  }
  if (stream.given) {
    stream.idle = false;
    static_cast<void>(!stream.state->held.load(std::memory_order_acquire) && record_behind(stream));
    return false;
  }
  stream.idle = stream.behind != nullptr && is_complete(*stream.behind);
  return stream.idle;
}

bool StreamWork::all_idle(bool synchronized) noexcept {
  return std::all_of(streams_.begin(), streams_.end(), [&](const auto& known) {
    // Nothing can be submitted to a stream that was destroyed, so waiting for the device has waited for all of its
    // work.
    return idle(known.first) || (synchronized && known.second.state == nullptr);
  });
}

std::unique_ptr<EventState> StreamWork::mark(std::uint64_t id) noexcept {
  Stream* const found = find(id);
  if (found == nullptr) return nullptr;
  StreamState* const stream = found->state;
  if (stream == nullptr || stream->held.load(std::memory_order_acquire)) return nullptr;
  const DropsErrors drops;
  try {
    std::unique_ptr<EventState> event = take_event(device_);
    record_behind_work(*event, *stream, operation);
    return event;
  } catch (const std::exception&) {
    return nullptr;
  }
}

bool StreamWork::make_wait(StreamState& user, std::uint64_t id) noexcept {
  if (user.held.load(std::memory_order_acquire)) return false;
  std::unique_ptr<EventState> event = mark(id);
  if (event == nullptr) return false;
  const CoreCalls scope;
  // wait() of event_state.h isn't used: it may have to make streams, which isn't done under this lock.
  const anyplace_status status = device_.table->stream_wait_event(device_.self, user.handle, event->handle);
  note_quietly(status, device_, operation);
  give_event(std::move(event));
  return status == ANYPLACE_STATUS_OK;
}

void StreamWork::ends(StreamState& state) noexcept {
  Stream* const found = find(state.id);
  if (found == nullptr || found->state == nullptr) return;
  Stream& stream = *found;
  ++ended_;
  if (is_surely_idle(state, operation)) {
    stream.idle = true;
    if (stream.behind != nullptr) give_event(std::move(stream.behind));
  } else {
    stream.idle = false;
    stream.unmarked = !record_behind(stream);
  }
  stream.given = false;
  stream.state = nullptr;
}

std::vector<std::uint64_t> StreamWork::take_over() {
  std::vector<std::uint64_t> over;
  if (ended_ == 0) return over;
  for (auto& [id, stream] : streams_) {
    if (stream.state == nullptr && idle(id)) over.push_back(id);
  }
  for (const std::uint64_t id : over) {
    const auto found = streams_.find(id);
    if (found->second.behind != nullptr) give_event(std::move(found->second.behind));
    last_ = nullptr;
    streams_.erase(found);
    --ended_;
  }
  return over;
}

std::vector<std::unique_ptr<EventState>> StreamWork::busy() {
  std::vector<std::unique_ptr<EventState>> marks;
  for (auto& [id, stream] : streams_) {
    if (stream.state == nullptr || idle(id)) continue;
    if (std::unique_ptr<EventState> event = mark(id)) marks.push_back(std::move(event));
  }
  return marks;
}

std::vector<std::uint64_t> StreamWork::busy_ended() {
  std::vector<std::uint64_t> ids;
  for (auto& [id, stream] : streams_) {
    if (stream.state == nullptr && !idle(id)) ids.push_back(id);
  }
  return ids;
}

void StreamWork::were_idle(const std::vector<std::uint64_t>& ids) noexcept {
  for (const std::uint64_t id : ids) {
    Stream* const found = find(id);
    if (found == nullptr) continue;
    found->unmarked = false;
    found->idle = true;
  }
}

void StreamWork::drop_events() noexcept {
  for (auto& [id, stream] : streams_) {
    if (stream.behind != nullptr) give_event(std::move(stream.behind));
    stream.given = true;
  }
}

}  // namespace anyplace::detail
