// SPDX-License-Identifier: Apache-2.0
//
// Graph: a CUgraphExec. The calls have the forms of CUDA 11.0, which every later driver has too; nodes that record
// events and wait for them came with 11.1.
#pragma once

#include "anyplace/backend/kit/graph.h"
#include "copy.h"
#include "kernel.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/graph.h for CUDA.
struct GraphCalls {
  using Device = cuda::Device;
  using Scope = DeviceScope;
  using End = EndScope;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using Kernel = cuda::Kernel;
  using Native = CUgraph;
  using Node = CUgraphNode;
  using Executable = CUgraphExec;
  using Place = backend::GraphPlace<CUgraph, CUgraphNode>;
  static constexpr const char* vendor = "CUDA";
  /// By the CUDA C++ Programming Guide, "Updating Instantiated Graphs", an update affects only future launches.
  static constexpr bool update_spares_launches = true;

  static bool is_supported() noexcept;
  static bool has_event_nodes() noexcept {
    return driver().GraphAddEventRecordNode != nullptr && driver().GraphAddEventWaitNode != nullptr;
  }

  static Called<CUresult> create(CUgraph& graph) noexcept { return {driver().GraphCreate(&graph, 0), "cuGraphCreate"}; }
  static Called<CUresult> destroy(CUgraph graph) noexcept { return {driver().GraphDestroy(graph), "cuGraphDestroy"}; }

  static Called<CUresult> add_empty(const Place& at) noexcept {
    return {driver().GraphAddEmptyNode(at.made, at.graph, at.after, at.count), "cuGraphAddEmptyNode"};
  }
  static void add_kernel(const Place& at, Kernel& kernel, const anyplace_launch& launch);
  static Called<CUresult> add_copy(const Place& at, Device& device, const anyplace_copy_2d& copy) noexcept;
  static std::uint64_t max_pitch(const Device& device) { return CopyCalls::max_pitch(device); }
  static bool refuses_copy(CUresult result, const anyplace_copy_2d& copy) noexcept {
    return copy.rows > 1 && CopyCalls::refuses_lines(result, copy);
  }
  static Called<CUresult> add_fill(const Place& at, Device& device, const anyplace_graph_node& fill) noexcept;
  static Called<CUresult> add_host(const Place& at, void (*function)(void*), void* user) noexcept;
  static Called<CUresult> add_record(const Place& at, CUevent event) noexcept {
    return {driver().GraphAddEventRecordNode(at.made, at.graph, at.after, at.count, event),
            "cuGraphAddEventRecordNode"};
  }
  static Called<CUresult> add_wait(const Place& at, CUevent event) noexcept {
    return {driver().GraphAddEventWaitNode(at.made, at.graph, at.after, at.count, event), "cuGraphAddEventWaitNode"};
  }

  static Called<CUresult> make(CUgraphExec& executable, CUgraph graph) noexcept {
    return {driver().GraphInstantiate(&executable, graph, nullptr, nullptr, 0), "cuGraphInstantiate"};
  }
  static Called<CUresult> update(CUgraphExec executable, CUgraph graph) noexcept;
  static bool refuses_update(CUresult result) noexcept {
    return result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE || result == CUDA_ERROR_NOT_SUPPORTED;
  }
  static Called<CUresult> launch(CUgraphExec executable, CUstream stream) noexcept {
    return {driver().GraphLaunch(executable, stream), "cuGraphLaunch"};
  }
  static Called<CUresult> end(CUgraphExec executable) noexcept {
    return {driver().GraphExecDestroy(executable), "cuGraphExecDestroy"};
  }
};

using Graph = backend::Graph<GraphCalls>;

}  // namespace anyplace::cuda
