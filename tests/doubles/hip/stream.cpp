// SPDX-License-Identifier: Apache-2.0
//
// Streams: made, asked, waited for; what isn't a copy, a fill or a kernel but goes into them: waits on events, host
// functions, waits on values in memory.
//
// hipStreamDestroy waits for the stream's work, as AMD's implementation does.
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

hipError_t create_stream(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~static_cast<unsigned>(hipStreamNonBlocking)) != 0) return hipErrorInvalidValue;
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  const StreamRef made = make_stream(lock, device, flags, priority);
  made->handle = state().streams.add(made);
  *stream = made->handle;
  return hipSuccess;
}

/// As the reference says of the flags: of the value under the mask, and not cyclic.
bool is_satisfied(uint64_t found, uint64_t value, unsigned condition) {
  switch (condition) {
    case hipStreamWaitValueGte:
      return found >= value;
    case hipStreamWaitValueEq:
      return found == value;
    case hipStreamWaitValueAnd:
      return (found & value) != 0;
    default:
      return ~(found | value) != 0;
  }
}

}  // namespace

HIP_DOUBLE_ENTRY(hipStreamCreate)(hipStream_t* stream) { return create_stream(stream, hipStreamDefault, 0); }
HIP_DOUBLE_ENTRY(hipStreamCreateWithFlags)(hipStream_t* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}
HIP_DOUBLE_ENTRY(hipStreamCreateWithPriority)(hipStream_t* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

HIP_DOUBLE_ENTRY(hipStreamDestroy)(hipStream_t stream) {
  if (stream == nullptr || stream == kPerThreadStream) return hipErrorInvalidHandle;
  StreamRef found;
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    found = state().streams.find(stream);
    if (found == nullptr) {
      misuses().add("hipStreamDestroy of what is no stream, or no longer");
      return hipErrorContextIsDestroyed;
    }
    found->destroyed = true;
    state().streams.remove(stream);
    completions = pending(lock, *found);
  }
  const hipError_t result = wait_for(completions, *found->device);
  return result == hipErrorDeinitialized ? hipSuccess : result;
}

HIP_DOUBLE_ENTRY(hipStreamQuery)(hipStream_t stream) {
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  for (const CompletionRef& completion : pending(lock, *found)) {
    if (!state().engine.is_done(completion)) return hipErrorNotReady;
  }
  return fault_of(*found->device);
}

HIP_DOUBLE_ENTRY(hipStreamSynchronize)(hipStream_t stream) {
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result != hipSuccess) return result;
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *found);
  }
  return wait_for(completions, *found->device);
}

HIP_DOUBLE_ENTRY(hipStreamWaitEvent)(hipStream_t stream, hipEvent_t event, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  const EventRef waited = state().events.find(event);
  if (waited == nullptr) return hipErrorInvalidHandle;
  if (waited->record == nullptr) return hipSuccess;
  Operation operation;
  operation.work = Work::kPass;
  operation.after.push_back(waited->record);
  submit(lock, found, std::move(operation));
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipStreamGetPriority)(hipStream_t stream, int* priority) {
  if (priority == nullptr) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result == hipSuccess) *priority = found->priority;
  return result;
}

HIP_DOUBLE_ENTRY(hipStreamGetFlags)(hipStream_t stream, unsigned* flags) {
  if (flags == nullptr) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result == hipSuccess) *flags = found->flags;
  return result;
}

HIP_DOUBLE_ENTRY(hipStreamGetDevice)(hipStream_t stream, hipDevice_t* device) {
  if (device == nullptr) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result == hipSuccess) *device = found->device->index;
  return result;
}

HIP_DOUBLE_ENTRY(hipStreamAddCallback)(hipStream_t stream, StreamCallback callback, void* user, unsigned flags) {
  if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result != hipSuccess) return result;
  Operation operation;
  operation.work = Work::kHost;
  operation.run = [=] {
    callback(stream, hipSuccess, user);
    return 0;
  };
  return submit_and(false, found, std::move(operation));
}

HIP_DOUBLE_ENTRY(hipLaunchHostFunc)(hipStream_t stream, HostFunction function, void* user) {
  if (function == nullptr) return hipErrorInvalidValue;
  StreamRef found;
  const hipError_t result = resolve_stream(stream, found);
  if (result != hipSuccess) return result;
  Operation operation;
  operation.work = Work::kHost;
  operation.run = [=] {
    function(user);
    return 0;
  };
  return submit_and(false, found, std::move(operation));
}

HIP_DOUBLE_ENTRY(hipStreamWaitValue64)
(hipStream_t handle, void* address, uint64_t value, unsigned flags, uint64_t mask) {
  if (!state().config.wait_value) return hipErrorNotSupported;
  if (address == nullptr || flags > hipStreamWaitValueNor) return hipErrorInvalidValue;
  StreamRef stream;
  hipError_t result = resolve_stream(handle, stream);
  if (result != hipSuccess) return result;
  std::vector<Use> uses;
  result = check_range(*stream->device, to_address(address), kSignalBytes, Want::kAccess, uses);
  if (result != hipSuccess) return result;
  const auto block = state().memory.block_of(to_address(address));
  if (!block || (block->flags & kSignalMemory) == 0) return hipErrorInvalidValue;
  Operation operation;
  operation.work = Work::kPoll;
  operation.run = [uses = std::move(uses), address, value, flags, mask] {
    return run_on(uses, "a wait on a value in memory", [&] {
      const uint64_t found = __atomic_load_n(static_cast<uint64_t*>(address), __ATOMIC_ACQUIRE);
      return is_satisfied(found & mask, value & mask, flags) ? 0 : kNotYet;
    });
  };
  return submit_and(false, stream, std::move(operation));
}

}  // namespace anyplace::doubles::hip
