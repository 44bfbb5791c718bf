// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

namespace anyplace::cuda {

bool GraphCalls::is_supported() noexcept {
  const Driver& d = driver();
  return d.GraphCreate != nullptr && d.GraphDestroy != nullptr && d.GraphAddEmptyNode != nullptr &&
         d.GraphAddKernelNode != nullptr && d.GraphAddMemcpyNode != nullptr && d.GraphAddMemsetNode != nullptr &&
         d.GraphAddHostNode != nullptr && d.GraphInstantiate != nullptr && d.GraphExecUpdate != nullptr &&
         d.GraphLaunch != nullptr && d.GraphExecDestroy != nullptr;
}

void GraphCalls::add_kernel(const Place& at, Kernel& kernel, const anyplace_launch& launch) {
  void* arguments[Kernel::max_arguments];
  kernel.prepare(launch, arguments);
  CUDA_KERNEL_NODE_PARAMS_v1 made{};
  made.func = kernel.native();
  made.gridDimX = launch.grid[0];
  made.gridDimY = launch.grid[1];
  made.gridDimZ = launch.grid[2];
  made.blockDimX = launch.block[0];
  made.blockDimY = launch.block[1];
  made.blockDimZ = launch.block[2];
  made.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  made.kernelParams = arguments;
  kernel.check_launch(
      {driver().GraphAddKernelNode(at.made, at.graph, at.after, at.count, &made), "cuGraphAddKernelNode"}, launch);
}

Called<CUresult> GraphCalls::add_copy(const Place& at, Device& device, const anyplace_copy_2d& copy) noexcept {
  auto made = lines_of<CUDA_MEMCPY3D>(copy);
  made.Depth = 1;
  return {driver().GraphAddMemcpyNode(at.made, at.graph, at.after, at.count, &made, device.handle()),
          "cuGraphAddMemcpyNode"};
}

Called<CUresult> GraphCalls::add_fill(const Place& at, Device& device, const anyplace_graph_node& fill) noexcept {
  CUDA_MEMSET_NODE_PARAMS made{};
  made.dst = fill.address;
  // A stream's fill uses only the value's low bytes, so the other bytes are cleared here for the graph's fill.
  made.value = fill.width == 4 ? fill.value : fill.value & ((1U << (fill.width * 8)) - 1);
  made.elementSize = fill.width;
  made.width = fill.count;
  made.height = 1;
  return {driver().GraphAddMemsetNode(at.made, at.graph, at.after, at.count, &made, device.handle()),
          "cuGraphAddMemsetNode"};
}

Called<CUresult> GraphCalls::add_host(const Place& at, void (*function)(void*), void* user) noexcept {
  CUDA_HOST_NODE_PARAMS made{};
  made.fn = function;
  made.userData = user;
  return {driver().GraphAddHostNode(at.made, at.graph, at.after, at.count, &made), "cuGraphAddHostNode"};
}

Called<CUresult> GraphCalls::update(CUgraphExec executable, CUgraph graph) noexcept {
  CUgraphNode wrong = nullptr;
  CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return {driver().GraphExecUpdate(executable, graph, &wrong, &why), "cuGraphExecUpdate"};
}

}  // namespace anyplace::cuda
