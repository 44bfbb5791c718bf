// SPDX-License-Identifier: Apache-2.0
//
// BackendObjects: the handles of one backend. Guarded by the engine's mutex.
#pragma once

#include <anyplace/backend/abi.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine.h"
#include "graphs.h"

namespace anyplace::validate {

/// A backend's graph. An update leaves the one before to its launches that are pending.
struct BackendGraph {
  std::unique_ptr<Graph> now;
  std::vector<std::unique_ptr<Graph>> before;

  void replace(std::unique_ptr<Graph> by) {
    before.push_back(std::exchange(now, std::move(by)));
    std::erase_if(before, [](const auto& one) { return one->is_idle(); });
  }
};

struct BackendObjects {
  std::unordered_map<anyplace_stream, StreamPointer> streams;
  std::unordered_map<std::uint64_t, StreamPointer>
      natives;  ///< by the vendor's handle, where it was asked for or given
  std::unordered_map<anyplace_event, std::shared_ptr<Event>> events;
  std::unordered_map<std::uint64_t, std::weak_ptr<Event>> native_events;  ///< as `natives`
  std::unordered_map<anyplace_kernel, std::string> kernels;
  std::unordered_map<anyplace_graph, BackendGraph> graphs;
  std::unordered_map<anyplace_address, std::uint64_t> bytes;  ///< of what the backend allocated

  /// Null if there is none.
  StreamPointer stream(anyplace_stream handle) const {
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second;
  }
  /// Null if there is none.
  std::shared_ptr<Event> event(anyplace_event handle) const {
    const auto found = events.find(handle);
    return found == events.end() ? nullptr : found->second;
  }
  /// "kernel scale".
  std::string_view kernel_name(anyplace_kernel handle) const {
    const auto found = kernels.find(handle);
    return found == kernels.end() ? std::string_view("kernel callable") : found->second;
  }
};

/// Reports of the streams and events that nobody destroyed. The library keeps a stream as long as memory that was had
/// in its order, so a stream is no leak beside memory that is one.
inline std::vector<Report> leaks_of(const BackendObjects& objects, Engine& engine) {
  std::vector<Report> found;
  for (const auto& [handle, stream] : objects.streams) {
    if (stream->made == 0 || engine.has_memory_of(*stream)) continue;
    found.push_back(engine.leak_of_handle(*stream->device, stream->name, stream->made));
  }
  for (const auto& [handle, event] : objects.events) {
    // One that another process has open is kept for it.
    if (event->made != 0 && !event->is_shared)
      found.push_back(engine.leak_of_handle(*event->device, "an event", event->made));
  }
  return found;
}

}  // namespace anyplace::validate
