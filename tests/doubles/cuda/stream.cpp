// SPDX-License-Identifier: Apache-2.0
//
// The entries of streams, and the driver's waits on and writes of values in memory.
#include <type_traits>
#include <utility>

#include "../engine/runtime/captures.h"
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

constinit thread_local bool per_thread_default __attribute__((tls_model("initial-exec"))) = false;  // see life.cpp

static_assert(CU_STREAM_WAIT_VALUE_GEQ == 0 && CU_STREAM_WAIT_VALUE_EQ == 1 && CU_STREAM_WAIT_VALUE_AND == 2);

template <class Value>
int wait_value(CUstream handle, CUdeviceptr address, Value value, unsigned flags) {
  const unsigned condition = flags & 3U;
  const unsigned known = 3U | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH);
  if ((flags & ~known) != 0 || address % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as attribute 98 says
  StreamRef stream;
  int result = resolve_stream_for_work(Word(handle), stream);
  if (result != CUDA_SUCCESS) return result;
  Uses uses;
  result = check_range(*stream->context, address, sizeof(Value), Want::access, uses);
  if (result != CUDA_SUCCESS) return result;
  const auto block = state().memory.block_of(address);
  if (block && block->kind == MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  return wait_until(stream, std::move(uses), [address, value, condition] {
    const Value found = __atomic_load_n(static_cast<Value*>(to_pointer(address)), __ATOMIC_ACQUIRE);
    // It is cyclic.
    return is_satisfied(condition, found, value, [](Value now, Value least) {
      return static_cast<std::make_signed_t<Value>>(static_cast<Value>(now - least)) >= 0;
    });
  });
}

template <class Value>
int write_value(CUstream handle, CUdeviceptr address, Value value, unsigned flags) {
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER || address % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef stream;
  int result = resolve_stream_for_work(Word(handle), stream);
  if (result != CUDA_SUCCESS) return result;
  Uses uses;
  result = check_range(*stream->context, address, sizeof(Value), Want::access, uses);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.run = [uses = std::move(uses), address, value] {
    const int fault = run_on(uses, "a write of a value to memory", [&] {
      __atomic_store_n(static_cast<Value*>(to_pointer(address)), value, __ATOMIC_RELEASE);
      return 0;
    });
    state().engine.poke();
    return fault;
  };
  return submit_and(false, stream, std::move(operation));
}

/// The first forms need a setting of the kernel driver that attributes 92 to 94 deny.
int first_form() { return CUDA_ERROR_NOT_SUPPORTED; }

bool is_special(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/// Writes what `member` says of the stream.
template <class Value, class Member>
int tell(CUstream stream, Value* value, Member member) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const int result = resolve_stream(Word(stream), found);
  if (result == CUDA_SUCCESS) *value = member(*found);
  return result;
}

}  // namespace

PerThreadDefault::PerThreadDefault() noexcept { per_thread_default = true; }
PerThreadDefault::~PerThreadDefault() { per_thread_default = false; }

SpecialStream meaning_of(CUstream stream) noexcept {
  if (!is_special(stream)) return SpecialStream::none;
  const bool per_thread = stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread_default);
  return per_thread ? SpecialStream::per_thread : SpecialStream::legacy;
}

CUDA_DOUBLE_ENTRY(cuStreamCreate)(CUstream* stream, unsigned flags) { return create_stream(stream, flags, 0); }

CUDA_DOUBLE_ENTRY(cuStreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

CUDA_DOUBLE_ENTRY(cuStreamDestroy_v2)(CUstream stream) {
  StreamRef taken;
  return is_special(stream) ? CUDA_ERROR_INVALID_HANDLE : take_stream(stream, taken);
}

CUDA_DOUBLE_ENTRY(cuStreamQuery)(CUstream stream) { return query_stream(stream); }

CUDA_DOUBLE_ENTRY(cuStreamSynchronize)(CUstream stream) { return synchronize_stream(stream); }

CUDA_DOUBLE_ENTRY(cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags) {
  return wait_for_event(stream, event, flags);
}

CUDA_DOUBLE_ENTRY(cuStreamGetPriority)(CUstream stream, int* priority) { return stream_priority(stream, priority); }

CUDA_DOUBLE_ENTRY(cuStreamGetFlags)(CUstream stream, unsigned* flags) { return stream_flags(stream, flags); }

CUDA_DOUBLE_ENTRY(cuStreamGetCtx)(CUstream stream, CUcontext* context) {
  return tell(stream, context, [](const Stream& of) { return static_cast<CUcontext>(to_pointer(of.context->handle)); });
}

CUDA_DOUBLE_ENTRY(cuStreamGetId)(CUstream stream, unsigned long long* id) {
  return tell(stream, id, [](const Stream& of) { return of.id; });
}

CUDA_DOUBLE_ENTRY(cuStreamAddCallback)(CUstream stream, CUstreamCallback callback, void* user, unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  if (const int result = resolve_stream(Word(stream), found); result != CUDA_SUCCESS) return result;
  {
    const Locked lock(state().mutex);
    if (const int refused = refuse_captured(lock, *found); refused != CUDA_SUCCESS) return refused;
  }
  const auto call = [=](int fault) { callback(stream, static_cast<CUresult>(fault), user); };
  return call_host(
      stream, [call] { call(CUDA_SUCCESS); }, call);
}

CUDA_DOUBLE_ENTRY(cuLaunchHostFunc)(CUstream stream, CUhostFn function, void* user) {
  return function == nullptr ? CUDA_ERROR_INVALID_VALUE : call_host(stream, [=] { function(user); });
}

CUDA_DOUBLE_ENTRY(cuStreamWaitValue32)(CUstream, CUdeviceptr, cuuint32_t, unsigned) { return first_form(); }
CUDA_DOUBLE_ENTRY(cuStreamWaitValue64)(CUstream, CUdeviceptr, cuuint64_t, unsigned) { return first_form(); }
CUDA_DOUBLE_ENTRY(cuStreamWriteValue32)(CUstream, CUdeviceptr, cuuint32_t, unsigned) { return first_form(); }

CUDA_DOUBLE_ENTRY(cuStreamWaitValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait_value<uint32_t>(stream, address, value, flags);
}
CUDA_DOUBLE_ENTRY(cuStreamWaitValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait_value<uint64_t>(stream, address, value, flags);
}
CUDA_DOUBLE_ENTRY(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return write_value<uint32_t>(stream, address, value, flags);
}

}  // namespace anyplace::doubles::cuda
