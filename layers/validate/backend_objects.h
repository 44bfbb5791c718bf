// SPDX-License-Identifier: Apache-2.0
//
// BackendObjects: the handles of one backend. Guarded by the engine's mutex.
#pragma once

#include <anyplace/backend/abi.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine.h"
#include "graphs.h"

namespace anyplace::validate {

struct BackendObjects {
  std::unordered_map<anyplace_stream, StreamPointer> streams;
  std::unordered_map<std::uint64_t, StreamPointer>
      natives;  ///< by the vendor's handle, where it was asked for or given
  std::unordered_map<anyplace_event, Event> events;
  std::unordered_map<anyplace_kernel, std::string> kernels;
  std::unordered_map<anyplace_graph, Graph> graphs;
  std::unordered_map<anyplace_graph, GraphCalls> graph_calls;  ///< also those of before an update, which may still run
  std::unordered_map<anyplace_address, std::uint64_t> bytes;   ///< of what the backend allocated

  /// Null if there is none.
  StreamPointer stream(anyplace_stream handle) const {
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second;
  }
  Clock clock_of(anyplace_event handle) const {
    const auto found = events.find(handle);
    return found == events.end() ? Clock() : found->second.clock;
  }
  /// "kernel scale".
  std::string_view kernel_name(anyplace_kernel handle) const {
    const auto found = kernels.find(handle);
    return found == kernels.end() ? std::string_view("kernel callable") : found->second;
  }
};

}  // namespace anyplace::validate
