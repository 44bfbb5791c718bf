// SPDX-License-Identifier: Apache-2.0
//
// The entries of memory, and signal memory.
//
// hipFree and hipHostFree wait for all work of the device, whatever kind of memory it is, as AMD's implementation does.
#include "runtime.h"

namespace anyplace::doubles::hip {
namespace {

constexpr unsigned host_malloc_flags =
    hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined | hipHostMallocCoherent;
constexpr unsigned register_flags = hipHostRegisterPortable | hipHostRegisterMapped;

/// No bytes are null and success, as documented.
int allocate_any(MemoryKind kind, size_t bytes, unsigned flags, void** memory) {
  if (memory == nullptr || bytes != 0) return allocate(kind, bytes, flags, memory);
  *memory = nullptr;
  return hipSuccess;
}

int free_any(void* memory, std::initializer_list<MemoryKind> kinds) {
  if (memory == nullptr) return hipSuccess;
  const auto found = block_to_free(Word(memory), kinds);
  if (!found) return hipErrorInvalidValue;
  const ContextRef of_device = primary_of(found->device);
  if (wait_for_all(*of_device) == hipErrorDeinitialized) return hipErrorDeinitialized;
  leave_pool(*found);
  return free_block(*of_device, *found);
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemGetInfo)(size_t* free, size_t* total) { return memory_info(free, total); }

HIP_DOUBLE_ENTRY(hipMalloc)(void** memory, size_t bytes) { return allocate_any(MemoryKind::device, bytes, 0, memory); }

HIP_DOUBLE_ENTRY(hipExtMallocWithFlags)(void** memory, size_t bytes, unsigned flags) {
  constexpr unsigned standard = 0, fine_grained = 1, signal = 2;
  if (flags == standard || flags == fine_grained) return allocate_any(MemoryKind::device, bytes, 0, memory);
  if (flags != signal || bytes != signal_bytes) return hipErrorInvalidValue;
  return allocate_any(MemoryKind::managed, bytes, signal_memory, memory);
}

HIP_DOUBLE_ENTRY(hipFree)(void* memory) { return free_any(memory, {MemoryKind::device, MemoryKind::managed}); }

static_assert(sizeof(hipIpcMemHandle_t) == SharedRecords::handle_bytes);

HIP_DOUBLE_ENTRY(hipIpcGetMemHandle)(hipIpcMemHandle_t* handle, void* memory) {
  return share_memory(handle, Word(memory));
}
HIP_DOUBLE_ENTRY(hipIpcOpenMemHandle)(void** memory, hipIpcMemHandle_t handle, unsigned flags) {
  return open_memory(memory, &handle, flags);
}
HIP_DOUBLE_ENTRY(hipIpcCloseMemHandle)(void* memory) { return close_memory(Word(memory)); }

HIP_DOUBLE_ENTRY(hipMemGetAddressRange)(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t memory) {
  const auto block = state().memory.block_of(Word(memory));
  if (!block || block->state != MemoryState::live) return hipErrorNotFound;
  if (base != nullptr) *base = reinterpret_cast<hipDeviceptr_t>(block->start);
  if (bytes != nullptr) *bytes = block->bytes;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipHostMalloc)(void** memory, size_t bytes, unsigned flags) {
  if ((flags & ~host_malloc_flags) != 0) return hipErrorInvalidValue;
  return allocate_any(MemoryKind::pinned, bytes, 0, memory);
}

HIP_DOUBLE_ENTRY(hipHostFree)(void* memory) { return free_any(memory, {MemoryKind::pinned}); }

HIP_DOUBLE_ENTRY(hipHostGetDevicePointer)(void** address, void* memory, unsigned flags) {
  return is_null(address, memory) || flags != 0 ? hipErrorInvalidValue : device_address(address, memory);
}

HIP_DOUBLE_ENTRY(hipHostRegister)(void* memory, size_t bytes, unsigned flags) {
  return register_host(memory, bytes, flags, register_flags);
}

HIP_DOUBLE_ENTRY(hipHostUnregister)(void* memory) {
  if (memory == nullptr) return hipErrorInvalidValue;
  const auto found = registered_block(memory);
  return found ? free_block(*primary_of(found->device), *found) : hipErrorHostMemoryNotRegistered;
}

HIP_DOUBLE_ENTRY(hipMallocManaged)(void** memory, size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return hipErrorInvalidValue;
  if (!state().settings.managed) return hipErrorNotSupported;
  return allocate_any(MemoryKind::managed, bytes, 0, memory);
}

}  // namespace anyplace::doubles::hip
