// SPDX-License-Identifier: Apache-2.0
//
// Contexts: the primary ones and others, which is current in a thread, what they synchronise and whose memory they may
// use.
#include <algorithm>
#include <utility>

#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr unsigned kKnownFlags = 0xff;

/// The scheduling flags say one of four things, and nothing unknown is set.
bool flags_are_valid(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  const bool known = schedule == 0 || schedule == 1 || schedule == 2 || schedule == 4;
  return known && (flags & ~kKnownFlags) == 0;
}

CUresult create_context(CUcontext* context, unsigned flags, CUdevice device) {
  if (context == nullptr || !flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  auto made = std::make_shared<Context>();
  made->device = device;
  made->flags = flags;
  {
    const Locked lock(state().mutex);
    made->handle = state().contexts.add(made);
    begin_context(lock, *made);
  }
  context_stack().push_back(made);
  *context = made->handle;
  return CUDA_SUCCESS;
}

CUresult synchronize(const ContextRef& context) {
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *context);
  }
  return wait_for(completions, *context);
}

}  // namespace

CUresult find_context(CUcontext handle, ContextRef& context) {
  const Locked lock(state().mutex);
  ContextRef found = state().contexts.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!found->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  context = std::move(found);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxRetain)(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  Context& primary = *state().devices[static_cast<std::size_t>(device)].primary;
  if (!primary.alive) begin_context(lock, primary);
  ++primary.retained;
  *context = primary.handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  ContextRef primary;
  {
    const Locked lock(state().mutex);
    primary = state().devices[static_cast<std::size_t>(device)].primary;
    if (primary->retained == 0) {
      misuses().add("a primary context was released more often than it was retained");
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--primary->retained != 0 || !primary->alive) return CUDA_SUCCESS;
  }
  end_context(primary);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  if (is_null(flags, active)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const Context& primary = *state().devices[static_cast<std::size_t>(device)].primary;
  *flags = primary.flags;
  *active = primary.alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxSetFlags_v2)(CUdevice device, unsigned flags) {
  if (!flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  state().devices[static_cast<std::size_t>(device)].primary->flags = flags;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  ContextRef primary;
  {
    const Locked lock(state().mutex);
    primary = state().devices[static_cast<std::size_t>(device)].primary;
    if (!primary->alive) return CUDA_SUCCESS;
  }
  end_context(primary);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxCreate_v2)(CUcontext* context, unsigned flags, CUdevice device) {
  return create_context(context, flags, device);
}

CUDA_DOUBLE_ENTRY(cuCtxCreate_v3)
(CUcontext* context, CUexecAffinityParam* affinities, int affinity_count, unsigned flags, CUdevice device) {
  if (affinities != nullptr && affinity_count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create_context(context, flags, device);
}

CUDA_DOUBLE_ENTRY(cuCtxCreate_v4)(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return create_context(context, flags, device);
}

CUDA_DOUBLE_ENTRY(cuCtxDestroy_v2)(CUcontext context) {
  ContextRef found;
  const CUresult result = find_context(context, found);
  if (result != CUDA_SUCCESS) return result;
  if (found->primary) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult fault = fault_of(*found);
  end_context(found);
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == found) stack.pop_back();
  const Locked lock(state().mutex);
  state().contexts.remove(context);
  return fault;
}

CUDA_DOUBLE_ENTRY(cuCtxGetCurrent)(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = context_stack();
  *context = stack.empty() ? nullptr : stack.back()->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxSetCurrent)(CUcontext context) {
  auto& stack = context_stack();
  if (context == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  ContextRef found;
  const CUresult result = find_context(context, found);
  if (result != CUDA_SUCCESS) return result;
  if (!stack.empty()) stack.pop_back();
  stack.push_back(std::move(found));
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxPushCurrent_v2)(CUcontext context) {
  ContextRef found;
  const CUresult result = find_context(context, found);
  if (result == CUDA_SUCCESS) context_stack().push_back(std::move(found));
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxPopCurrent_v2)(CUcontext* context) {
  auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = stack.back()->handle;
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxGetDevice)(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result == CUDA_SUCCESS) *device = context->device;
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxGetDevice_v2)(CUdevice* device, CUcontext context) {
  if (context == nullptr) return do_cuCtxGetDevice(device);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef found;
  const CUresult result = find_context(context, found);
  if (result == CUDA_SUCCESS) *device = found->device;
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxGetFlags)(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxGetId)(CUcontext context, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef found;
  const CUresult result = context == nullptr ? current_context(found) : find_context(context, found);
  if (result == CUDA_SUCCESS) *id = found->id;
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxSynchronize)() {
  ContextRef context;
  const CUresult result = current_context(context);
  return result == CUDA_SUCCESS ? synchronize(context) : result;
}

CUDA_DOUBLE_ENTRY(cuCtxSynchronize_v2)(CUcontext context) {
  if (context == nullptr) return do_cuCtxSynchronize();
  ContextRef found;
  const CUresult result = find_context(context, found);
  return result == CUDA_SUCCESS ? synchronize(found) : result;
}

CUDA_DOUBLE_ENTRY(cuCtxGetStreamPriorityRange)(int* least, int* greatest) {
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxGetApiVersion)(CUcontext context, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef found;
  const CUresult result = context == nullptr ? current_context(found) : find_context(context, found);
  if (result == CUDA_SUCCESS) *version = 3020;
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxGetLimit)(size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<unsigned>(limit) > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const auto found = context->limits.find(limit);
  *value = found == context->limits.end() ? 1024 : found->second;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxSetLimit)(CUlimit limit, size_t value) {
  if (static_cast<unsigned>(limit) > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  ContextRef other;
  CUresult result = current_context(context);
  if (result == CUDA_SUCCESS) result = find_context(peer, other);
  if (result != CUDA_SUCCESS) return result;
  if (context == other) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->device == other->device || !state().config.peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const Locked lock(state().mutex);
  return context->peers.insert(other->device).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUDA_DOUBLE_ENTRY(cuCtxDisablePeerAccess)(CUcontext peer) {
  ContextRef context;
  ContextRef other;
  CUresult result = current_context(context);
  if (result == CUDA_SUCCESS) result = find_context(peer, other);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  return context->peers.erase(other->device) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace anyplace::doubles::cuda
