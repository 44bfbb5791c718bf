// SPDX-License-Identifier: Apache-2.0
//
// The entries of streams, and HIP's wait on a value in memory.
//
// hipStreamDestroy waits for the stream's work, as AMD's implementation does.
#include <functional>
#include <utility>

#include "runtime.h"

namespace anyplace::doubles::hip {
static_assert(hipStreamWaitValueGte == 0 && hipStreamWaitValueEq == 1 && hipStreamWaitValueAnd == 2);

HIP_DOUBLE_ENTRY(hipStreamCreate)(hipStream_t* stream) { return create_stream(stream, hipStreamDefault, 0); }
HIP_DOUBLE_ENTRY(hipStreamCreateWithFlags)(hipStream_t* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}
HIP_DOUBLE_ENTRY(hipStreamCreateWithPriority)(hipStream_t* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

HIP_DOUBLE_ENTRY(hipStreamDestroy)(hipStream_t stream) {
  if (stream == nullptr || stream == per_thread_stream) return hipErrorInvalidHandle;
  StreamRef taken;
  const int unknown = take_stream(stream, taken);
  if (taken == nullptr) return unknown;
  const int waited = wait_for_all(*taken);
  return waited == hipErrorDeinitialized ? hipSuccess : waited;
}

HIP_DOUBLE_ENTRY(hipStreamQuery)(hipStream_t stream) { return query_stream(stream); }
HIP_DOUBLE_ENTRY(hipStreamSynchronize)(hipStream_t stream) { return synchronize_stream(stream); }
HIP_DOUBLE_ENTRY(hipStreamWaitEvent)(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return wait_for_event(stream, event, flags);
}
HIP_DOUBLE_ENTRY(hipStreamGetPriority)(hipStream_t stream, int* priority) { return stream_priority(stream, priority); }
HIP_DOUBLE_ENTRY(hipStreamGetFlags)(hipStream_t stream, unsigned* flags) { return stream_flags(stream, flags); }

HIP_DOUBLE_ENTRY(hipStreamGetDevice)(hipStream_t stream, hipDevice_t* device) {
  if (device == nullptr) return hipErrorInvalidValue;
  StreamRef named;
  if (const int result = resolve_stream(Word(stream), named); result != hipSuccess) return result;
  *device = named->context->device;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipStreamAddCallback)(hipStream_t stream, StreamCallback callback, void* user, unsigned flags) {
  if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
  return call_host(stream, [=] { callback(stream, hipSuccess, user); });
}

HIP_DOUBLE_ENTRY(hipLaunchHostFunc)(hipStream_t stream, HostFunction function, void* user) {
  return function == nullptr ? hipErrorInvalidValue : call_host(stream, [=] { function(user); });
}

HIP_DOUBLE_ENTRY(hipStreamWaitValue64)
(hipStream_t stream, void* address, uint64_t value, unsigned flags, uint64_t mask) {
  if (!config().wait_value) return hipErrorNotSupported;
  if (address == nullptr || flags > hipStreamWaitValueNor) return hipErrorInvalidValue;
  StreamRef waiting;
  if (const int result = resolve_stream(Word(stream), waiting); result != hipSuccess) return result;
  Uses word;
  const int reached = check_range(*waiting->context, Word(address), signal_bytes, Want::access, word);
  if (reached != hipSuccess) return reached;
  const auto memory = state().memory.block_of(Word(address));
  if (!memory || (memory->flags & signal_memory) == 0) return hipErrorInvalidValue;
  return wait_until(waiting, std::move(word), [address, value, flags, mask] {
    const uint64_t there = __atomic_load_n(static_cast<uint64_t*>(address), __ATOMIC_ACQUIRE);
    // As the reference says of the flags: of the value under the mask, and not cyclic.
    return is_satisfied(flags, there & mask, value & mask, std::greater_equal<uint64_t>());
  });
}

}  // namespace anyplace::doubles::hip
