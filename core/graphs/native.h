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
  /// Makes the backend's graph. Null if the device has no graphs, or can't have this one. `content` is flat.
  /// `fault_stream` is the id of the stream that gets faults of host functions, and is read when they are called.
  /// Throws the backend's error.
  static std::unique_ptr<NativeGraph> make(std::shared_ptr<const GraphContent> content,
                                           std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream,
                                           const char* operation);

  NativeGraph(const NativeGraph&) = delete;  // it owns the backend's graph
  NativeGraph& operator=(const NativeGraph&) = delete;
  /// Destroys the backend's graph. No launch is pending.
  ~NativeGraph();

  /// Gives later launches other work. Returns the content that earlier launches may still use. Returns null, and has
  /// changed nothing, if the backend can't update the graph, or if launches are held back: those would get the new
  /// work. Throws.
  std::shared_ptr<const void> update(std::shared_ptr<const GraphContent> content, const char* operation);

  /// Launches the graph. The stream is neither captured nor held, and the caller has ordered it behind the launch
  /// before. Throws.
  void launch(StreamState& stream, const char* operation);
  /// Launches the graph on a held stream when its turn comes. The graph lives until then.
  anyplace_status launch_later(const StreamState& stream) noexcept;
  /// A token that a held launch keeps until it is submitted; update() counts them.
  std::shared_ptr<const int> held_back() const noexcept { return held_; }

 private:
  /// The user data of a node with a host function.
  struct HostCall {
    std::shared_ptr<const std::function<void()>> function;
    const DeviceState* device = nullptr;
    std::shared_ptr<const std::atomic<std::uint64_t>> fault_stream;
  };
  /// A content, and the user data of its host functions' nodes.
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
