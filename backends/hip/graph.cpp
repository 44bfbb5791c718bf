// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

namespace anyplace::hip {

bool GraphCalls::is_supported() {
  const Driver& d = driver();
  if (!d.GraphCreate || !d.GraphDestroy || !d.GraphAddEmptyNode || !d.GraphAddKernelNode || !d.GraphAddMemcpyNode ||
      !d.GraphAddMemcpyNode1D || !d.GraphAddMemsetNode || !d.GraphAddHostNode || !d.GraphInstantiate ||
      !d.GraphExecUpdate || !d.GraphLaunch || !d.GraphExecDestroy) {
    return false;
  }
  hipGraph_t tried = nullptr;
  const Called<hipError_t> made = create(tried);
  if (is_unimplemented(made.result)) return false;
  Results::check(made.result, made.call);
  const Called<hipError_t> ended = destroy(tried);
  if (is_unimplemented(ended.result)) return false;
  Results::check(ended.result, ended.call);
  return true;
}

void GraphCalls::add_kernel(const Place& at, Kernel& kernel, const anyplace_launch& launch) {
  void* arguments[Kernel::max_arguments];
  kernel.prepare(launch, arguments);
  hipKernelNodeParams made{};
  made.func = kernel.native();
  made.gridDim = dim3{launch.grid[0], launch.grid[1], launch.grid[2]};
  made.blockDim = dim3{launch.block[0], launch.block[1], launch.block[2]};
  made.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  made.kernelParams = arguments;
  const hipError_t result = driver().GraphAddKernelNode(at.made, at.graph, at.after, at.count, &made);
  // The member `func` is meant for functions of the program's own. HIP up to 5.2 takes no others (ROCm/hip, issue
  // 2450), and returns one of these results for them.
  if (result == hipErrorInvalidValue || result == hipErrorInvalidDeviceFunction) {
    Results::fail(result, "hipGraphAddKernelNode", ANYPLACE_STATUS_UNSUPPORTED,
                  "this release may not take a module's kernels in a graph");
  }
  kernel.device().check(result, "hipGraphAddKernelNode");
}

Called<hipError_t> GraphCalls::add_copy(const Place& at, Device&, const anyplace_copy_2d& copy) noexcept {
  hipMemcpyKind kind = CopyCalls::kind_of(copy);
  void* const destination = backend::from_handle<void>(copy.destination);
  void* const source = backend::from_handle<void>(copy.source);
  if (copy.rows == 1) {
    return {driver().GraphAddMemcpyNode1D(at.made, at.graph, at.after, at.count, destination, source, copy.width, kind),
            "hipGraphAddMemcpyNode1D"};
  }
  hipMemcpy3DParms made{};
  made.srcPtr = {source, copy.source_pitch, copy.source_pitch, copy.rows};
  made.dstPtr = {destination, copy.destination_pitch, copy.destination_pitch, copy.rows};
  made.extent = {copy.width, copy.rows, 1};
  made.kind = kind;
  return {driver().GraphAddMemcpyNode(at.made, at.graph, at.after, at.count, &made), "hipGraphAddMemcpyNode"};
}

Called<hipError_t> GraphCalls::add_fill(const Place& at, Device&, const anyplace_graph_node& fill) noexcept {
  hipMemsetParams made{};
  made.dst = backend::from_handle<void>(fill.address);
  // A stream's fill uses only the value's low bytes, so the other bytes are cleared here for the graph's fill.
  made.value = fill.width == 4 ? fill.value : fill.value & ((1U << (fill.width * 8)) - 1);
  made.elementSize = fill.width;
  made.width = fill.count;
  made.height = 1;
  return {driver().GraphAddMemsetNode(at.made, at.graph, at.after, at.count, &made), "hipGraphAddMemsetNode"};
}

Called<hipError_t> GraphCalls::add_host(const Place& at, void (*function)(void*), void* user) noexcept {
  hipHostNodeParams made{};
  made.fn = function;
  made.userData = user;
  return {driver().GraphAddHostNode(at.made, at.graph, at.after, at.count, &made), "hipGraphAddHostNode"};
}

Called<hipError_t> GraphCalls::update(hipGraphExec_t executable, hipGraph_t graph) noexcept {
  hipGraphNode_t wrong = nullptr;
  hipGraphExecUpdateResult why = hipGraphExecUpdateSuccess;
  return {driver().GraphExecUpdate(executable, graph, &wrong, &why), "hipGraphExecUpdate"};
}

}  // namespace anyplace::hip
