// SPDX-License-Identifier: Apache-2.0
//
// GraphExecState: the state of a GraphExec, and the order of its launches.
//
// Invariant: `done` is recorded behind the most recent launch, and each launch waits for it, so when it is complete all
// of them are. Until then nothing that a launch may use is released: contents, the backend's graphs, helper streams.
// What an update replaces is retired with the `done` of its own last launch; the next launch records another event.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "graphs/native.h"
#include "graphs/replay.h"
#include "graphs/retired_graphs.h"

namespace anyplace::detail {

struct GraphExecState {
  DeviceState* device = nullptr;
  /// The id of the stream that gets the faults of the graph's host functions: that of the launch that runs.
  const std::shared_ptr<std::atomic<std::uint64_t>> fault_stream = std::make_shared<std::atomic<std::uint64_t>>(0);

  std::mutex mutex;                             // guards what follows; streams and backends are called under it
  std::shared_ptr<const GraphContent> content;  ///< flat
  const bool may_be_native;
  std::shared_ptr<NativeGraph> native;  ///< the backend's graph; null: the graph is replayed
  std::unique_ptr<Replay> replay;       ///< made when it is first needed
  std::shared_ptr<EventState> done;
  Pin<StreamState> last;  ///< the stream of the most recent launch; empty before the first
  bool unmarked = false;  ///< recording `done` failed: the last stream has to be idle instead
  bool ended = false;     ///< a device that it used was reset, and everything in it was released
  std::shared_ptr<RetiredWork> retirement = std::make_shared<RetiredWork>();  ///< allocated beforehand for retire()

  GraphExecState(std::shared_ptr<const GraphContent> flat, bool native_if_possible, const char* operation);
};

/// Launches the graph. On a stream that is being captured the launch becomes a node. Throws.
void launch(const std::shared_ptr<GraphExecState>& exec, const Pin<StreamState>& stream, const char* operation);
/// Gives later launches other work. Throws invalid_argument if the graphs differ in more than that.
void update(GraphExecState& exec, std::shared_ptr<const GraphContent> flat, const char* operation);
/// Whether an event of the core's own is complete; true for a lost device. Calls the backend.
bool is_past(EventState& event) noexcept;

}  // namespace anyplace::detail
