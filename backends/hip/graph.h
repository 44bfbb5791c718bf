// SPDX-License-Identifier: Apache-2.0
//
// Graph: a hipGraphExec_t. HIP has had these calls since 5.2, in forms that no later release changed.
#pragma once

#include "anyplace/backend/kit/graph.h"
#include "copy.h"
#include "kernel.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/graph.h for HIP.
struct GraphCalls {
  using Device = hip::Device;
  using Scope = DeviceScope;
  using End = EndScope;
  using Stream = hip::Stream;
  using Event = hip::Event;
  using Kernel = hip::Kernel;
  using Native = hipGraph_t;
  using Node = hipGraphNode_t;
  using Executable = hipGraphExec_t;
  using Place = backend::GraphPlace<hipGraph_t, hipGraphNode_t>;
  static constexpr const char* vendor = "HIP";
  /// HIP's reference doesn't say what an update does to pending launches.
  static constexpr bool update_spares_launches = false;

  /// Whether the library has graphs. It tries one, of which nothing remains. Throws on any other failure.
  static bool is_supported();
  static bool has_event_nodes() noexcept { return driver().GraphAddEventRecordNode && driver().GraphAddEventWaitNode; }

  static Called<hipError_t> create(hipGraph_t& graph) noexcept {
    return {driver().GraphCreate(&graph, 0), "hipGraphCreate"};
  }
  static Called<hipError_t> destroy(hipGraph_t graph) noexcept {
    return {driver().GraphDestroy(graph), "hipGraphDestroy"};
  }

  static Called<hipError_t> add_empty(const Place& at) noexcept {
    return {driver().GraphAddEmptyNode(at.made, at.graph, at.after, at.count), "hipGraphAddEmptyNode"};
  }
  static void add_kernel(const Place& at, Kernel& kernel, const anyplace_launch& launch);
  static Called<hipError_t> add_copy(const Place& at, Device& device, const anyplace_copy_2d& copy) noexcept;
  static std::uint64_t max_pitch(const Device& device) { return CopyCalls::max_pitch(device); }
  static bool refuses_copy(hipError_t, const anyplace_copy_2d&) noexcept { return false; }
  static Called<hipError_t> add_fill(const Place& at, Device& device, const anyplace_graph_node& fill) noexcept;
  static Called<hipError_t> add_host(const Place& at, void (*function)(void*), void* user) noexcept;
  static Called<hipError_t> add_record(const Place& at, hipEvent_t event) noexcept {
    return {driver().GraphAddEventRecordNode(at.made, at.graph, at.after, at.count, event),
            "hipGraphAddEventRecordNode"};
  }
  static Called<hipError_t> add_wait(const Place& at, hipEvent_t event) noexcept {
    return {driver().GraphAddEventWaitNode(at.made, at.graph, at.after, at.count, event), "hipGraphAddEventWaitNode"};
  }

  static Called<hipError_t> make(hipGraphExec_t& executable, hipGraph_t graph) noexcept {
    return {driver().GraphInstantiate(&executable, graph, nullptr, nullptr, 0), "hipGraphInstantiate"};
  }
  static Called<hipError_t> update(hipGraphExec_t executable, hipGraph_t graph) noexcept;
  static bool refuses_update(hipError_t result) noexcept {
    constexpr int update_failure = 910;  // hipErrorGraphExecUpdateFailure
    return static_cast<int>(result) == update_failure || is_unimplemented(result);
  }
  static Called<hipError_t> launch(hipGraphExec_t executable, hipStream_t stream) noexcept {
    return {driver().GraphLaunch(executable, stream), "hipGraphLaunch"};
  }
  static Called<hipError_t> end(hipGraphExec_t executable) noexcept {
    return {driver().GraphExecDestroy(executable), "hipGraphExecDestroy"};
  }
};

using Graph = backend::Graph<GraphCalls>;

}  // namespace anyplace::hip
