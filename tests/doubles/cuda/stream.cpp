// SPDX-License-Identifier: Apache-2.0
//
// Streams: made, asked, waited for; what isn't a copy, a fill or a kernel but goes into them: waits on events, host
// functions, waits on and writes of values in memory.
#include <utility>

#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

CUresult create_stream(CUstream* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const StreamRef made = make_stream(lock, context, flags, priority);
  made->handle = state().streams.add(made);
  *stream = made->handle;
  return CUDA_SUCCESS;
}

template <class Word>
bool is_satisfied(Word found, Word value, unsigned condition) {
  using Signed = std::make_signed_t<Word>;
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(found - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return static_cast<Word>(~(found | value)) != 0;
  }
}

template <class Word>
Word* word_at(CUdeviceptr address) {
  return reinterpret_cast<Word*>(address);  // NOLINT: a device address is a host address here
}

template <class Word>
CUresult wait_value(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  const unsigned condition = flags & 3U;
  const unsigned known = 3U | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH);
  if ((flags & ~known) != 0 || address % sizeof(Word) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as attribute 98 says
  ContextRef current;
  CUresult result = current_context(current);
  if (result != CUDA_SUCCESS) return result;
  StreamRef stream;
  result = resolve_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  std::vector<Use> uses;
  result = check_range(*stream->context, address, sizeof(Word), Want::kAccess, uses);
  if (result != CUDA_SUCCESS) return result;
  const auto block = state().memory.block_of(address);
  if (block && block->kind == MemoryKind::kManaged) return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.work = Work::kPoll;
  operation.run = [uses = std::move(uses), address, value, condition] {
    return run_on(uses, "a wait on a value in memory", [&] {
      const Word found = __atomic_load_n(word_at<Word>(address), __ATOMIC_ACQUIRE);
      return is_satisfied(found, value, condition) ? 0 : kNotYet;
    });
  };
  return submit_and(false, stream, std::move(operation));
}

template <class Word>
CUresult write_value(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER || address % sizeof(Word) != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef current;
  CUresult result = current_context(current);
  if (result != CUDA_SUCCESS) return result;
  StreamRef stream;
  result = resolve_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  std::vector<Use> uses;
  result = check_range(*stream->context, address, sizeof(Word), Want::kAccess, uses);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.run = [uses = std::move(uses), address, value] {
    const int fault = run_on(uses, "a write of a value to memory", [&] {
      __atomic_store_n(word_at<Word>(address), value, __ATOMIC_RELEASE);
      return 0;
    });
    state().engine.poke();
    return fault;
  };
  return submit_and(false, stream, std::move(operation));
}

/// The first forms need a setting of the kernel driver that attributes 92 to 94 deny.
CUresult first_form() { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace

CUDA_DOUBLE_ENTRY(cuStreamCreate)(CUstream* stream, unsigned flags) { return create_stream(stream, flags, 0); }

CUDA_DOUBLE_ENTRY(cuStreamCreateWithPriority)(CUstream* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

CUDA_DOUBLE_ENTRY(cuStreamDestroy_v2)(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const Locked lock(state().mutex);
  const StreamRef found = state().streams.find(stream);
  if (found == nullptr) {
    misuses().add("cuStreamDestroy of what is no stream, or no longer");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  found->destroyed = true;
  state().streams.remove(stream);
  return fault_of(*found->context);
}

CUDA_DOUBLE_ENTRY(cuStreamQuery)(CUstream stream) {
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  for (const CompletionRef& completion : pending(lock, *found)) {
    if (!state().engine.is_done(completion)) return CUDA_ERROR_NOT_READY;
  }
  return fault_of(*found->context);
}

CUDA_DOUBLE_ENTRY(cuStreamSynchronize)(CUstream stream) {
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *found);
  }
  return wait_for(completions, *found->context);
}

CUDA_DOUBLE_ENTRY(cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  const EventRef waited = state().events.find(event);
  if (waited == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (waited->record == nullptr) return CUDA_SUCCESS;
  Operation operation;
  operation.work = Work::kPass;
  operation.after.push_back(waited->record);
  submit(lock, found, std::move(operation));
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuStreamGetPriority)(CUstream stream, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result == CUDA_SUCCESS) *priority = found->priority;
  return result;
}

CUDA_DOUBLE_ENTRY(cuStreamGetFlags)(CUstream stream, unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result == CUDA_SUCCESS) *flags = found->flags;
  return result;
}

CUDA_DOUBLE_ENTRY(cuStreamGetCtx)(CUstream stream, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result == CUDA_SUCCESS) *context = found->context->handle;
  return result;
}

CUDA_DOUBLE_ENTRY(cuStreamGetId)(CUstream stream, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result == CUDA_SUCCESS) *id = found->id;
  return result;
}

CUDA_DOUBLE_ENTRY(cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus* capturing) {
  if (capturing == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result == CUDA_SUCCESS) *capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  return result;
}

CUDA_DOUBLE_ENTRY(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
  if (mode == nullptr || static_cast<unsigned>(*mode) > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuStreamAddCallback)(CUstream stream, CUstreamCallback callback, void* user, unsigned flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.work = Work::kHost;
  operation.run = [=] {
    callback(stream, CUDA_SUCCESS, user);
    return 0;
  };
  operation.run_failed = [=](int fault) { callback(stream, static_cast<CUresult>(fault), user); };
  return submit_and(false, found, std::move(operation));
}

CUDA_DOUBLE_ENTRY(cuLaunchHostFunc)(CUstream stream, CUhostFn function, void* user) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamRef found;
  const CUresult result = resolve_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.work = Work::kHost;
  operation.run = [=] {
    function(user);
    return 0;
  };
  return submit_and(false, found, std::move(operation));
}

CUDA_DOUBLE_ENTRY(cuStreamWaitValue32)(CUstream, CUdeviceptr, cuuint32_t, unsigned) { return first_form(); }
CUDA_DOUBLE_ENTRY(cuStreamWaitValue64)(CUstream, CUdeviceptr, cuuint64_t, unsigned) { return first_form(); }
CUDA_DOUBLE_ENTRY(cuStreamWriteValue32)(CUstream, CUdeviceptr, cuuint32_t, unsigned) { return first_form(); }
CUDA_DOUBLE_ENTRY(cuStreamWriteValue64)(CUstream, CUdeviceptr, cuuint64_t, unsigned) { return first_form(); }

CUDA_DOUBLE_ENTRY(cuStreamWaitValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait_value<uint32_t>(stream, address, value, flags);
}
CUDA_DOUBLE_ENTRY(cuStreamWaitValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait_value<uint64_t>(stream, address, value, flags);
}
CUDA_DOUBLE_ENTRY(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return write_value<uint32_t>(stream, address, value, flags);
}
CUDA_DOUBLE_ENTRY(cuStreamWriteValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return write_value<uint64_t>(stream, address, value, flags);
}

}  // namespace anyplace::doubles::cuda
