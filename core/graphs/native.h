// SPDX-License-Identifier: Apache-2.0
//
// NativeGraph: a graph that the backend launches as one (Capability::graphs).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "graphs/content.h"

namespace anyplace::detail {

class NativeGraph {
 public:
  /// Null if the device has no graphs, or can't have this one. `content` is flat, and outlives the result. Throws what
  /// the backend fails with.
  /// `fault_stream` is the stream whose faults those of the host functions are, when they are called.
  static std::unique_ptr<NativeGraph> make(std::shared_ptr<const GraphContent> content,
                                           std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream,
                                           const char* operation);

  NativeGraph(const NativeGraph&) = delete;  // it owns the backend's graph
  NativeGraph& operator=(const NativeGraph&) = delete;
  /// No launch is pending.
  ~NativeGraph();

  /// Other work for later launches. Returns what launches that were made before may still use. Null if the backend
  /// can't, or if launches are held back, which would have the new work: then nothing has changed. Throws.
  std::shared_ptr<const void> update(std::shared_ptr<const GraphContent> content, const char* operation);

  /// The stream is neither captured nor held. The caller orders it behind the launch before. Throws.
  void launch(StreamState& stream, const char* operation);
  /// What a held stream submits later. The graph lives until then.
  anyplace_status launch_later(const StreamState& stream) noexcept;
  /// What a held submission keeps until it was made.
  std::shared_ptr<const int> held_back() const noexcept { return held_; }

 private:
  /// What a node with a host function points to.
  struct HostCall {
    std::shared_ptr<const std::function<void()>> function;
    const DeviceState* device = nullptr;
    std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream;
  };
  /// A content, and what its host functions' nodes point to.
  struct Used {
    std::shared_ptr<const GraphContent> content;
    std::vector<std::unique_ptr<HostCall>> calls;
  };
  struct Description;

  NativeGraph(DeviceState& device, std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream)
      : device_(&device), fault_stream_(std::move(fault_stream)) {}
  static bool may_have(const GraphContent& content) noexcept;
  static void run_host_call(void* user, anyplace_status status) noexcept;

  DeviceState* const device_;
  anyplace_graph handle_ = 0;
  const std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream_;
  std::shared_ptr<const Used> used_;
  const std::shared_ptr<const int> held_ = std::make_shared<const int>(0);
};

}  // namespace anyplace::detail
