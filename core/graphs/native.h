// SPDX-License-Identifier: Apache-2.0
//
// NativeGraph: a graph that the backend launches as one (Capability::graphs).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/content.h"

namespace anyplace::detail {

class NativeGraph {
 public:
  /// Null if the device has no graphs, or can't have this one. `content` is flat, and outlives the result. Throws what
  /// the backend fails with.
  static std::unique_ptr<NativeGraph> make(std::shared_ptr<const GraphContent> content, const char* operation);

  NativeGraph(const NativeGraph&) = delete;  // it owns the backend's graph
  NativeGraph& operator=(const NativeGraph&) = delete;
  /// No launch is pending.
  ~NativeGraph();

  /// Other work for later launches. False if the backend can't: then nothing has changed. Throws.
  bool update(std::shared_ptr<const GraphContent> content, const char* operation);

  /// The stream is neither captured nor held. The caller orders it behind the launch before. Throws.
  void launch(StreamState& stream, const char* operation);
  /// What a held stream submits later. The graph lives until then.
  anyplace_status launch_later(const StreamState& stream) noexcept;

 private:
  /// What a node with a host function points to.
  struct HostCall {
    std::shared_ptr<const std::function<void()>> function;
    NativeGraph* graph = nullptr;
  };
  struct Description;

  explicit NativeGraph(std::shared_ptr<const GraphContent> content);
  static bool may_have(const GraphContent& content) noexcept;
  static void run_host_call(void* user, anyplace_status status) noexcept;

  DeviceState* const device_;
  anyplace_graph handle_ = 0;
  /// Those of earlier contents too: launches that were made before an update call them.
  std::vector<std::shared_ptr<const GraphContent>> contents_;
  std::vector<std::unique_ptr<HostCall>> calls_;
  std::atomic<std::uint64_t> stream_id_{0};  ///< of the most recent launch: whose faults its host functions' are
};

}  // namespace anyplace::detail
