// SPDX-License-Identifier: Apache-2.0
//
// The entries of graphs. Of copies between arrays and of several planes there are none, as without graphs.
#include "../engine/runtime/graphs.h"

#include <algorithm>

#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

static_assert(static_cast<int>(UpdateResult::error) == CU_GRAPH_EXEC_UPDATE_ERROR &&
              static_cast<int>(UpdateResult::topology_changed) == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED &&
              static_cast<int>(UpdateResult::node_type_changed) == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED &&
              static_cast<int>(UpdateResult::parameters_changed) == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED &&
              static_cast<int>(UpdateResult::unsupported_function_change) ==
                  CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE &&
              code::graph_update_failure == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);

/// The context that a node is to run on.
int find_working(CUcontext handle, ContextRef& context) {
  const int result = find_context(handle, context);
  return result == CUDA_SUCCESS ? fault_of(*context) : result;
}

template <class Params>
int add_kernel(CUgraphNode* node, CUgraph graph, Nodes after, const Params& asked) {
  FunctionRef function;
  int result = find_function(asked.func, function);
  if (result != CUDA_SUCCESS) return result;
  const KernelShape shape{{asked.gridDimX, asked.gridDimY, asked.gridDimZ},
                          {asked.blockDimX, asked.blockDimY, asked.blockDimZ},
                          asked.sharedMemBytes};
  std::vector<const void*> values;
  result = check_launch(*function, shape, asked.kernelParams, asked.extra, values);
  NodeWork work;
  if (result == CUDA_SUCCESS) result = kernel_work(function, shape, values, work);
  return result == CUDA_SUCCESS ? add_node(node, graph, after, std::move(work)) : result;
}

int read_copy(const CUDA_MEMCPY3D& asked, Copy& copy) {
  if (asked.reserved0 != nullptr || asked.reserved1 != nullptr || asked.srcLOD != 0 || asked.dstLOD != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (asked.srcMemoryType == CU_MEMORYTYPE_ARRAY || asked.dstMemoryType == CU_MEMORYTYPE_ARRAY || asked.Depth > 1 ||
      asked.srcZ != 0 || asked.dstZ != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (asked.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  copy.width = asked.WidthInBytes;
  copy.height = asked.Height;
  const int result = end_of(asked.srcMemoryType, asked.srcHost, asked.srcDevice, asked.srcXInBytes, asked.srcY,
                            asked.srcPitch, copy.width, copy.source);
  if (result != CUDA_SUCCESS) return result;
  return end_of(asked.dstMemoryType, asked.dstHost, asked.dstDevice, asked.dstXInBytes, asked.dstY, asked.dstPitch,
                copy.width, copy.destination);
}

int work_of(const CUDA_MEMSET_NODE_PARAMS& asked, const ContextRef& context, NodeWork& work) {
  const Fill fill{asked.dst, asked.pitch, asked.width, asked.height};
  switch (asked.elementSize) {
    case 1:
      return fill_work(context, fill, static_cast<uint8_t>(asked.value), work);
    case 2:
      return fill_work(context, fill, static_cast<uint16_t>(asked.value), work);
    case 4:
      return fill_work(context, fill, static_cast<uint32_t>(asked.value), work);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

int add_event_node(CUgraphNode* node, CUgraph graph, Nodes after, NodeKind kind, CUevent event) {
  NodeWork work;
  const int result = event_work(kind, event, work);
  return result == CUDA_SUCCESS ? add_node(node, graph, after, std::move(work)) : result;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuGraphCreate)(CUgraph* graph, unsigned flags) { return create_graph(graph, flags); }
CUDA_DOUBLE_ENTRY(cuGraphDestroy)(CUgraph graph) { return destroy_graph(graph); }

CUDA_DOUBLE_ENTRY(cuGraphAddEmptyNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  return add_node(node, graph, {after, count}, {});
}

CUDA_DOUBLE_ENTRY(cuGraphAddKernelNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* asked) {
  return asked == nullptr ? CUDA_ERROR_INVALID_VALUE : add_kernel(node, graph, {after, count}, *asked);
}
CUDA_DOUBLE_ENTRY(cuGraphAddKernelNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* asked) {
  if (asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (asked->func == nullptr && asked->kern != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // there are no libraries
  return add_kernel(node, graph, {after, count}, *asked);
}

CUDA_DOUBLE_ENTRY(cuGraphAddMemcpyNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMCPY3D* asked,
 CUcontext handle) {
  if (asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  int result = find_working(handle, context);
  Copy copy;
  if (result == CUDA_SUCCESS) result = read_copy(*asked, copy);
  NodeWork work;
  if (result == CUDA_SUCCESS) result = copy_work(context, copy, work);
  return result == CUDA_SUCCESS ? add_node(node, graph, {after, count}, std::move(work)) : result;
}

CUDA_DOUBLE_ENTRY(cuGraphAddMemsetNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMSET_NODE_PARAMS* asked,
 CUcontext handle) {
  if (asked == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  int result = find_working(handle, context);
  NodeWork work;
  if (result == CUDA_SUCCESS) result = work_of(*asked, context, work);
  return result == CUDA_SUCCESS ? add_node(node, graph, {after, count}, std::move(work)) : result;
}

CUDA_DOUBLE_ENTRY(cuGraphAddHostNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_HOST_NODE_PARAMS* asked) {
  if (asked == nullptr || asked->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeWork work;
  host_work([function = asked->fn, user = asked->userData] { function(user); }, work);
  return add_node(node, graph, {after, count}, std::move(work));
}

CUDA_DOUBLE_ENTRY(cuGraphAddEventRecordNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_event_node(node, graph, {after, count}, NodeKind::record, event);
}
CUDA_DOUBLE_ENTRY(cuGraphAddEventWaitNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event) {
  return add_event_node(node, graph, {after, count}, NodeKind::wait, event);
}

CUDA_DOUBLE_ENTRY(cuGraphAddDependencies)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return add_dependencies(graph, {from, count}, {to, count});
}
CUDA_DOUBLE_ENTRY(cuGraphAddDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges, size_t count) {
  for (size_t i = 0; edges != nullptr && i < count; ++i) {
    // Edges of other kinds are for launches by a device, or that begin early.
    if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return add_dependencies(graph, {from, count}, {to, count});
}
CUDA_DOUBLE_ENTRY(cuGraphDestroyNode)(CUgraphNode node) { return destroy_node(node); }

CUDA_DOUBLE_ENTRY(cuGraphGetNodes)(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return get_nodes(graph, nodes, count);
}

// -- Executable graphs.

CUDA_DOUBLE_ENTRY(cuGraphInstantiate_v2)
(CUgraphExec* executable, CUgraph graph, CUgraphNode* wrong, char* log, size_t bytes) {
  const int result = make_executable(executable, graph);
  if (result != CUDA_SUCCESS) {
    if (wrong != nullptr) *wrong = nullptr;
    if (log != nullptr && bytes != 0) *log = '\0';
  }
  return result;
}

CUDA_DOUBLE_ENTRY(cuGraphInstantiateWithFlags)(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  constexpr unsigned long long known = 1 | 2 | 4 | 8;  // of CUgraphInstantiate_flags; 4: to be launched by a device
  if ((flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  return (flags & 4) != 0 ? CUDA_ERROR_NOT_SUPPORTED : make_executable(executable, graph);
}

CUDA_DOUBLE_ENTRY(cuGraphExecUpdate)
(CUgraphExec executable, CUgraph graph, CUgraphNode* wrong, CUgraphExecUpdateResult* why) {
  if (is_null(wrong, why)) return CUDA_ERROR_INVALID_VALUE;
  UpdateOutcome outcome;
  const int result = update_executable(executable, graph, outcome);
  *why = static_cast<CUgraphExecUpdateResult>(outcome.result);
  WordOut(wrong).write(outcome.node);
  return result;
}

CUDA_DOUBLE_ENTRY(cuGraphExecUpdate_v2)
(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* why) {
  if (why == nullptr) return CUDA_ERROR_INVALID_VALUE;
  UpdateOutcome outcome;
  const int result = update_executable(executable, graph, outcome);
  why->result = static_cast<CUgraphExecUpdateResult>(outcome.result);
  WordOut(&why->errorNode).write(outcome.node);
  WordOut(&why->errorFromNode).write(outcome.from);
  return result;
}

CUDA_DOUBLE_ENTRY(cuGraphLaunch)(CUgraphExec executable, CUstream stream) { return launch_graph(executable, stream); }
CUDA_DOUBLE_ENTRY(cuGraphExecDestroy)(CUgraphExec executable) { return destroy_executable(executable); }

}  // namespace anyplace::doubles::cuda
