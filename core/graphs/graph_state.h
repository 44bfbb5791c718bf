// SPDX-License-Identifier: Apache-2.0
//
// GraphState: what a Graph owns. Its nodes are in a Capture without an origin, into which streams of the graph's own
// make nodes (builders): so what a node is, and what is refused, is what it is for a stream.
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
  std::uint64_t number = 0;  ///< of the graph, never used again: a GraphNode has it
  /// A device that it used was reset, and nothing is left of it. Written under the mutex.
  std::atomic<bool> ended{false};

  std::mutex mutex;  // guards what follows; streams, buffers and backends are called under it
  std::shared_ptr<Capture> nodes;
  std::vector<HelperStream> builders;  ///< one for each device that was needed; attached to `nodes`
  std::vector<std::shared_ptr<HeldBuffer>> buffers;
  std::vector<std::shared_ptr<GraphPoolState>> pools;

  explicit GraphState(DeviceState& of);
  GraphState(const GraphState&) = delete;  // it owns its builders
  GraphState& operator=(const GraphState&) = delete;
  ~GraphState();

  /// Known to end_graphs_of() (live_graphs.h).
  static std::shared_ptr<GraphState> make(DeviceState& of);
  StreamState& builder_for(DeviceState& on, const char* operation);
  /// Under the mutex.
  GraphContent content() const;
};

/// In a forked or exiting process nothing is destroyed: locks may be held there, and backends aren't called.
template <class State>
void leak(std::shared_ptr<State> state) noexcept {
  alignas(std::shared_ptr<State>) std::byte room[sizeof(std::shared_ptr<State>)];
  new (room) std::shared_ptr<State>(std::move(state));
}

/// Throws invalid_handle for a null one, and for one whose device was reset.
GraphState& state_of(const std::shared_ptr<GraphState>& state, const char* operation);

}  // namespace anyplace::detail
