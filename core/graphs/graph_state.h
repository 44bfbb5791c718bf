// SPDX-License-Identifier: Apache-2.0
//
// GraphState: the state of a Graph. Its nodes are in a Capture without an origin. Streams of the graph's own (builders)
// make nodes in it, so that a built graph has the same nodes as a captured one and refuses the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "anyplace/graph.h"
#include "graphs/content.h"
#include "streams/helper_streams.h"

namespace anyplace::detail {

struct GraphState {
  DeviceState* device = nullptr;
  std::uint64_t number = 0;  ///< the graph's number, never used again; a GraphNode has it
  /// A device that it used was reset, and everything in it was released. Written under the mutex.
  std::atomic<bool> ended{false};

  std::mutex mutex;  // guards what follows; streams, buffers and backends are called under it
  std::shared_ptr<Capture> nodes;
  std::vector<HelperStream> builders;  ///< streams that make nodes, one for each device that was needed
  std::vector<std::shared_ptr<HeldBuffer>> buffers;
  std::vector<std::shared_ptr<GraphPoolState>> pools;

  explicit GraphState(DeviceState& of);
  GraphState(const GraphState&) = delete;  // it owns its builders
  GraphState& operator=(const GraphState&) = delete;
  ~GraphState();

  /// Makes a GraphState that end_graphs_of() (live_graphs.h) knows.
  static std::shared_ptr<GraphState> make(DeviceState& of);
  StreamState& builder_for(DeviceState& on, const char* operation);
  /// A copy of the nodes and what they use. Called under the mutex.
  GraphContent content() const;
};

/// Keeps the state for ever. In a forked or exiting process nothing is destroyed, because locks may be held for good
/// there and backends mustn't be called.
template <class State>
void leak(std::shared_ptr<State> state) noexcept {
  alignas(std::shared_ptr<State>) std::byte room[sizeof(std::shared_ptr<State>)];
  new (room) std::shared_ptr<State>(std::move(state));
}

/// The state of a graph. Throws invalid_handle for a null graph, and for one whose device was reset.
GraphState& state_of(const std::shared_ptr<GraphState>& state, const char* operation);

}  // namespace anyplace::detail
