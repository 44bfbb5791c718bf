// SPDX-License-Identifier: Apache-2.0
//
// Contexts: the primary ones and others, which is current in a thread, what they synchronise and whose memory they may
// use.
#include <utility>

#include "../engine/runtime/captures.h"
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr unsigned known_flags = 0xff;

/// The scheduling flags say one of four things, and nothing unknown is set.
bool flags_are_valid(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  const bool known = schedule == 0 || schedule == 1 || schedule == 2 || schedule == 4;
  return known && (flags & ~known_flags) == 0;
}

CUcontext handle_of(const Context& context) { return static_cast<CUcontext>(to_pointer(context.handle)); }

int create_context(CUcontext* context, unsigned flags, CUdevice device) {
  if (context == nullptr || !flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  auto made = std::make_shared<Context>();
  made->device = device;
  made->flags = flags;
  {
    const Locked lock(state().mutex);
    made->handle = state().contexts.add(made);
    begin_context(lock, made);
  }
  context_stack().push_back(made);
  *context = handle_of(*made);
  return CUDA_SUCCESS;
}

/// Waits for its work and gives back all that is in it.
void end_context(const ContextRef& context) {
  wait_for_all(*context);
  State& all = state();
  const Locked lock(all.mutex);
  const bool failed = fault_of(*context) != CUDA_SUCCESS;
  context->alive = false;
  const auto belongs = [&context](const auto& object) { return object.context == context; };
  all.left_behind += all.streams.remove_if(belongs) + all.events.remove_if(belongs);
  all.functions.remove_if([&context](const Function& function) { return function.module->context == context; });
  all.left_behind += all.modules.remove_if([&](Module& module) {
    if (module.context == context) module.unloaded = true;
    return module.context == context;
  });
  for (const Block& block : all.memory.live()) {
    if (block.owner != context->id || block.pool != 0) continue;
    all.memory.free(block.start, block.id, failed);
    ++all.left_behind;
  }
  context->streams.clear();
  context->legacy.reset();
}

/// The context that a call names, or the current one.
int named_or_current(CUcontext handle, ContextRef& context) {
  return handle == nullptr ? current_context(context) : find_context(handle, context);
}

}  // namespace

int find_context(CUcontext handle, ContextRef& context) {
  const Locked lock(state().mutex);
  ContextRef found = state().contexts.find(Word(handle));
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!found->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  context = std::move(found);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxRetain)(CUcontext* context, CUdevice device) {
  return retain_primary(context, device);
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  ContextRef ended;
  const int result = release_primary(device, ended);
  if (ended != nullptr) end_context(ended);
  return result;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  if (is_null(flags, active)) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const Context& primary = *primary_of(device);
  *flags = primary.flags;
  *active = primary.alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxSetFlags_v2)(CUdevice device, unsigned flags) {
  if (!flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  primary_of(device)->flags = flags;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const ContextRef primary = primary_of(device);
  {
    const Locked lock(state().mutex);
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
  const int result = find_context(context, found);
  if (result != CUDA_SUCCESS) return result;
  if (found->primary) return CUDA_ERROR_INVALID_CONTEXT;
  const int fault = fault_of(*found);
  end_context(found);
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == found) stack.pop_back();
  const Locked lock(state().mutex);
  state().contexts.remove(Word(context));
  return fault;
}

CUDA_DOUBLE_ENTRY(cuCtxGetCurrent)(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = context_stack();
  *context = stack.empty() ? nullptr : handle_of(*stack.back());
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxSetCurrent)(CUcontext context) {
  auto& stack = context_stack();
  if (context == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  ContextRef found;
  const int result = find_context(context, found);
  if (result != CUDA_SUCCESS) return result;
  if (!stack.empty()) stack.pop_back();
  stack.push_back(std::move(found));
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxPushCurrent_v2)(CUcontext context) {
  ContextRef found;
  const int result = find_context(context, found);
  if (result == CUDA_SUCCESS) context_stack().push_back(std::move(found));
  return result;
}

CUDA_DOUBLE_ENTRY(cuCtxPopCurrent_v2)(CUcontext* context) {
  auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = handle_of(*stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuCtxSynchronize)() { return do_cuCtxSynchronize_v2(nullptr); }

CUDA_DOUBLE_ENTRY(cuCtxSynchronize_v2)(CUcontext context) {
  ContextRef found;
  const int result = named_or_current(context, found);
  if (result != CUDA_SUCCESS) return result;
  {
    const Locked lock(state().mutex);
    if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
  }
  return wait_for_all(*found);
}

CUDA_DOUBLE_ENTRY(cuCtxGetStreamPriorityRange)(int* least, int* greatest) {
  ContextRef context;
  const int result = current_context(context);
  return result == CUDA_SUCCESS ? priority_range(least, greatest) : result;
}

CUDA_DOUBLE_ENTRY(cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  ContextRef other;
  int result = current_context(context);
  if (result == CUDA_SUCCESS) result = find_context(peer, other);
  if (result != CUDA_SUCCESS) return result;
  if (context == other) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->device == other->device || !state().settings.peers) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return add_peer(*context, other->device);
}

CUDA_DOUBLE_ENTRY(cuCtxDisablePeerAccess)(CUcontext peer) {
  ContextRef context;
  ContextRef other;
  int result = current_context(context);
  if (result == CUDA_SUCCESS) result = find_context(peer, other);
  return result == CUDA_SUCCESS ? remove_peer(*context, other->device) : result;
}

}  // namespace anyplace::doubles::cuda
