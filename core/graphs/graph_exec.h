// SPDX-License-Identifier: Apache-2.0
//
// GraphExecState: what a GraphExec owns, and the order of its launches.
//
// Invariant: `done` is recorded behind the most recent launch, and each launch waits for it, so when it is complete all
// of them are. Until then nothing goes that a launch may use: contents, backend's graphs, helper streams. What an
// update replaces is retired with the `done` of its own last launch; the next launch records another event.
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
  /// Whose faults those of the graph's host functions are: the stream of the launch that runs.
  const std::shared_ptr<std::atomic<std::uint64_t>> fault_stream = std::make_shared<std::atomic<std::uint64_t>>(0);

  std::mutex mutex;                             // guards what follows; streams and backends are called under it
  std::shared_ptr<const GraphContent> content;  ///< flat
  const bool may_be_native;
  std::shared_ptr<NativeGraph> native;  ///< null: it is replayed
  std::unique_ptr<Replay> replay;       ///< made when it is first needed
  std::shared_ptr<EventState> done;
  Pin<StreamState> last;  ///< of the most recent launch; empty before the first
  bool unmarked = false;  ///< recording `done` failed: the last stream has to be idle instead
  bool ended = false;     ///< a device that it used was reset, and nothing is left of it
  std::shared_ptr<RetiredWork> retirement = std::make_shared<RetiredWork>();  ///< when its owner lets it go

  GraphExecState(std::shared_ptr<const GraphContent> flat, bool native_if_possible, const char* operation);
};

/// On a stream that is being captured it becomes a node. Throws.
void launch(const std::shared_ptr<GraphExecState>& exec, const Pin<StreamState>& stream, const char* operation);
/// Throws invalid_argument if the graphs differ in more than their work.
void update(GraphExecState& exec, std::shared_ptr<const GraphContent> flat, const char* operation);
/// Whether that event of the core's own is complete; true for a lost device. Calls the backend.
bool is_past(EventState& event) noexcept;

}  // namespace anyplace::detail
