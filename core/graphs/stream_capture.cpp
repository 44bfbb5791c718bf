// SPDX-License-Identifier: Apache-2.0
// The public calls of a capture, and GraphPool. streams/capture.h describes captures.
#include <utility>

#include "anyplace/graph.h"
#include "anyplace/stream.h"
#include "graphs/graph_state.h"
#include "runtime/call.h"
#include "streams/capture.h"
#include "streams/node_addresses.h"

namespace anyplace {

using detail::enter;
using detail::EventState;
using detail::Pin;
using detail::streams;
using detail::StreamState;

GraphPool::GraphPool(const Device& device) {
  constexpr const char* operation = "GraphPool";
  enter(operation);
  detail::require_usable(*device.state(), operation);
  state_ = std::make_shared<detail::GraphPoolState>(*device.state());
}

std::uint64_t GraphPool::reserved_bytes() const {
  constexpr const char* operation = "GraphPool::reserved_bytes";
  enter(operation);
  if (state_ == nullptr) detail::fail(ErrorCode::invalid_handle, "", operation, "the graph pool is null");
  const std::lock_guard lock(detail::captures().mutex);
  std::uint64_t bytes = 0;
  for (const auto& region : state_->regions) bytes += region->memory->bytes;
  return bytes;
}

void StreamView::begin_capture(CaptureMode mode) const {
  constexpr const char* operation = "Stream::begin_capture";
  enter(operation);
  static_cast<void>(detail::begin_capture(*streams().pin(id_, operation), mode, nullptr, operation));
}

void StreamView::begin_capture(CaptureMode mode, const GraphPool& pool) const {
  constexpr const char* operation = "Stream::begin_capture";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  if (pool.state_ == nullptr) {
    detail::fail(ErrorCode::invalid_handle, stream->device->place, operation,
                 "the graph pool is null\nmake it with GraphPool(device), or leave it out");
  }
  if (pool.state_->device != stream->device) {
    detail::fail(ErrorCode::invalid_argument, stream->device->place, operation,
                 "the graph pool is of " + pool.state_->device->place + ", the stream of " + stream->device->place +
                     "\nmake a pool for each device");
  }
  if (pool.state_->resets != stream->device->resets.load(std::memory_order_acquire)) {
    detail::fail(ErrorCode::invalid_handle, stream->device->place, operation,
                 "the graph pool's memory ended when its device was reset\nmake another pool\nsee docs/graphs.md");
  }
  static_cast<void>(detail::begin_capture(*stream, mode, pool.state_, operation));
}

Graph StreamView::end_capture() const {
  constexpr const char* operation = "Stream::end_capture";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  const std::shared_ptr<detail::Capture> capture = detail::end_capture(*stream, operation);
  Graph graph;
  graph.state_ = detail::GraphState::make(*stream->device);
  detail::GraphState& state = *graph.state_;
  // The nodes and pools are taken out of the capture, because recorded events keep it alive and need neither. The lock
  // is needed because another thread that allocates on the stream may still look at the pools.
  std::vector<std::pair<detail::DeviceState*, std::shared_ptr<detail::GraphPoolState>>> pools;
  {
    const std::lock_guard lock(detail::captures().mutex);
    state.nodes->list = std::move(capture->list);
    pools.swap(capture->pools);
  }
  for (auto& [device, pool] : pools) state.pools.push_back(std::move(pool));
  state.buffers =
      detail::hold_buffers(detail::addresses_of(state.nodes->list, 0), std::exchange(capture->freed, nullptr));
  return graph;
}

CaptureStatus StreamView::capture_status() const {
  constexpr const char* operation = "Stream::capture_status";
  enter(operation);
  return detail::capture_status(*streams().pin(id_, operation));
}

void StreamView::record_external_event(EventView event) const {
  constexpr const char* operation = "Stream::record_external_event";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  const Pin<EventState> pinned = detail::events().pin(event.id(), operation);
  if (pinned->device != stream->device) detail::refuse_stream(*pinned, *stream, operation);
  if (stream->captured.load(std::memory_order_acquire)) {
    const auto kept = std::make_shared<const Pin<EventState>>(detail::events().pin_again(pinned->id, operation));
    detail::Work work = detail::RecordWork{kept};
    if (detail::capture_work(*stream, work, operation)) return;
  }
  detail::record(*pinned, *stream, operation);
}

void StreamView::wait_external_event(EventView event) const {
  constexpr const char* operation = "Stream::wait_external_event";
  enter(operation);
  const Pin<StreamState> stream = streams().pin(id_, operation);
  const Pin<EventState> pinned = detail::events().pin(event.id(), operation);
  if (stream->captured.load(std::memory_order_acquire)) {
    const auto kept = std::make_shared<const Pin<EventState>>(detail::events().pin_again(pinned->id, operation));
    detail::Work work = detail::WaitWork{kept};
    if (detail::capture_work(*stream, work, operation)) return;
  }
  detail::wait(*stream, *pinned, operation);
}

}  // namespace anyplace
