// SPDX-License-Identifier: Apache-2.0
//
// The entries of graphs. Of copies between arrays and of several planes there are none, as without graphs.
#include "../engine/runtime/graphs.h"

#include "runtime.h"

namespace anyplace::doubles::hip {
namespace {

static_assert(static_cast<int>(UpdateResult::error) == hipGraphExecUpdateError &&
              static_cast<int>(UpdateResult::topology_changed) == hipGraphExecUpdateErrorTopologyChanged &&
              static_cast<int>(UpdateResult::node_type_changed) == hipGraphExecUpdateErrorNodeTypeChanged &&
              static_cast<int>(UpdateResult::parameters_changed) == hipGraphExecUpdateErrorParametersChanged &&
              static_cast<int>(UpdateResult::unsupported_function_change) ==
                  hipGraphExecUpdateErrorUnsupportedFunctionChange);

/// A copy on the current device.
int add_copy(hipGraphNode_t* node, hipGraph_t graph, Nodes after, Copy copy, int kind) {
  if (!ends_of(kind, copy.destination.want, copy.source.want)) return hipErrorInvalidMemcpyDirection;
  ContextRef device;
  int result = current_context(device);
  NodeWork work;
  if (result == hipSuccess) result = copy_work(device, copy, work);
  return result == hipSuccess ? add_node(node, graph, after, std::move(work)) : result;
}

int work_of(const hipMemsetParams& asked, const ContextRef& device, NodeWork& work) {
  const Fill fill{Word(asked.dst), asked.pitch, asked.width, asked.height};
  switch (asked.elementSize) {
    case 1:
      return fill_work(device, fill, static_cast<uint8_t>(asked.value), work);
    case 2:
      return fill_work(device, fill, static_cast<uint16_t>(asked.value), work);
    case 4:
      return fill_work(device, fill, static_cast<uint32_t>(asked.value), work);
    default:
      return hipErrorInvalidValue;
  }
}

int add_event_node(hipGraphNode_t* node, hipGraph_t graph, Nodes after, NodeKind kind, hipEvent_t event) {
  NodeWork work;
  const int result = event_work(kind, event, work);
  return result == hipSuccess ? add_node(node, graph, after, std::move(work)) : result;
}

bool is_plain(const hipMemcpy3DParms& asked) {
  const auto is_origin = [](const hipPos& at) { return at.x == 0 && at.y == 0 && at.z == 0; };
  return asked.srcArray == nullptr && asked.dstArray == nullptr && is_origin(asked.srcPos) && is_origin(asked.dstPos);
}

}  // namespace

HIP_DOUBLE_ENTRY(hipGraphCreate)(hipGraph_t* graph, unsigned flags) { return create_graph(graph, flags); }
HIP_DOUBLE_ENTRY(hipGraphDestroy)(hipGraph_t graph) { return destroy_graph(graph); }

HIP_DOUBLE_ENTRY(hipGraphAddEmptyNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count) {
  return add_node(node, graph, {after, count}, {});
}

HIP_DOUBLE_ENTRY(hipGraphAddKernelNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, const hipKernelNodeParams* asked) {
  if (asked == nullptr) return hipErrorInvalidValue;
  // HIP 5.2 takes functions of the program's own alone (ROCm/hip, issue 2450), of which the double has none.
  if (config().version < 50'300'000) return hipErrorInvalidValue;
  FunctionRef function;
  int result = find_function(asked->func, function);
  if (result == hipErrorInvalidHandle) return hipErrorInvalidDeviceFunction;
  if (result != hipSuccess) return result;
  if (asked->extra != nullptr) return hipErrorNotSupported;
  const KernelShape shape{{asked->gridDim.x, asked->gridDim.y, asked->gridDim.z},
                          {asked->blockDim.x, asked->blockDim.y, asked->blockDim.z},
                          asked->sharedMemBytes};
  result = check_shape(shape);
  std::vector<const void*> values;
  if (result == hipSuccess) result = collect_values(*function, asked->kernelParams, values);
  NodeWork work;
  if (result == hipSuccess) result = kernel_work(function, shape, values, work);
  return result == hipSuccess ? add_node(node, graph, {after, count}, std::move(work)) : result;
}

HIP_DOUBLE_ENTRY(hipGraphAddMemcpyNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, const hipMemcpy3DParms* asked) {
  if (asked == nullptr) return hipErrorInvalidValue;
  if (!is_plain(*asked) || asked->extent.depth > 1) return hipErrorNotSupported;
  if (asked->extent.depth == 0) return hipErrorInvalidValue;
  const Copy copy{{Word(asked->dstPtr.ptr), asked->dstPtr.pitch},
                  {Word(asked->srcPtr.ptr), asked->srcPtr.pitch},
                  asked->extent.width,
                  asked->extent.height};
  const size_t most = static_cast<size_t>(max_pitch);
  for (const hipPitchedPtr& end : {asked->dstPtr, asked->srcPtr}) {
    if (end.pitch < copy.width || end.pitch > most) return hipErrorInvalidPitchValue;
  }
  return add_copy(node, graph, {after, count}, copy, asked->kind);
}

HIP_DOUBLE_ENTRY(hipGraphAddMemcpyNode1D)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, void* destination,
 const void* source, size_t bytes, int kind) {
  return add_copy(node, graph, {after, count}, {{Word(destination), bytes}, {Word(source), bytes}, bytes, 1}, kind);
}

HIP_DOUBLE_ENTRY(hipGraphAddMemsetNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, const hipMemsetParams* asked) {
  if (asked == nullptr) return hipErrorInvalidValue;
  ContextRef device;
  int result = current_context(device);
  NodeWork work;
  if (result == hipSuccess) result = work_of(*asked, device, work);
  return result == hipSuccess ? add_node(node, graph, {after, count}, std::move(work)) : result;
}

HIP_DOUBLE_ENTRY(hipGraphAddHostNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, const hipHostNodeParams* asked) {
  if (asked == nullptr || asked->fn == nullptr) return hipErrorInvalidValue;
  NodeWork work;
  host_work([function = asked->fn, user = asked->userData] { function(user); }, work);
  return add_node(node, graph, {after, count}, std::move(work));
}

HIP_DOUBLE_ENTRY(hipGraphAddEventRecordNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, hipEvent_t event) {
  return add_event_node(node, graph, {after, count}, NodeKind::record, event);
}
HIP_DOUBLE_ENTRY(hipGraphAddEventWaitNode)
(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, hipEvent_t event) {
  return add_event_node(node, graph, {after, count}, NodeKind::wait, event);
}

HIP_DOUBLE_ENTRY(hipGraphAddDependencies)
(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return add_dependencies(graph, {from, count}, {to, count});
}

// -- Executable graphs.

HIP_DOUBLE_ENTRY(hipGraphInstantiate)
(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* wrong, char* log, size_t bytes) {
  const int result = make_executable(executable, graph);
  if (result != hipSuccess) {
    if (wrong != nullptr) *wrong = nullptr;
    if (log != nullptr && bytes != 0) *log = '\0';
  }
  return result;
}

HIP_DOUBLE_ENTRY(hipGraphExecUpdate)
(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t* wrong, hipGraphExecUpdateResult* why) {
  if (is_null(wrong, why)) return hipErrorInvalidValue;
  UpdateOutcome outcome;
  const int result = update_executable(executable, graph, outcome);
  *why = static_cast<hipGraphExecUpdateResult>(outcome.result);
  WordOut(wrong).write(outcome.node);
  return result;
}

HIP_DOUBLE_ENTRY(hipGraphLaunch)(hipGraphExec_t executable, hipStream_t stream) {
  return launch_graph(executable, stream);
}
HIP_DOUBLE_ENTRY(hipGraphExecDestroy)(hipGraphExec_t executable) { return destroy_executable(executable); }

}  // namespace anyplace::doubles::hip
