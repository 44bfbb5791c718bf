// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device and of the host, registered memory, signal memory. Memory of pools is in pool.cpp, addresses and
// memory apart in virtual_memory.cpp.
//
// hipFree and hipHostFree wait for all work of the device, whatever kind of memory it is, as AMD's implementation does.
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

constexpr unsigned kHostMallocFlags =
    hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined | hipHostMallocCoherent;
constexpr unsigned kRegisterFlags = hipHostRegisterPortable | hipHostRegisterMapped;

hipError_t allocate(MemoryKind kind, uint64_t bytes, uint32_t flags, void** memory) {
  if (memory == nullptr) return hipErrorInvalidValue;
  if (bytes == 0) {
    *memory = nullptr;  // documented: success
    return hipSuccess;
  }
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  Block model;
  model.kind = kind;
  model.device = device->index;
  model.owner = device->id;
  model.flags = flags;
  const uint64_t total = state().memory.device_bytes();
  const auto lacks = [&] {
    return kind == MemoryKind::kDevice && (bytes > total || used_memory(lock, device->index) > total - bytes);
  };
  if (lacks()) trim_pools(lock);  // what pools keep without need makes place first
  if (lacks()) return hipErrorOutOfMemory;
  const uint64_t made = state().memory.allocate(model, bytes);
  if (made == 0) return hipErrorOutOfMemory;
  *memory = to_pointer(made);
  return hipSuccess;
}

hipError_t wait_for_all(int index) {
  const DeviceRef device = state().devices[static_cast<std::size_t>(index)];
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *device);
  }
  return wait_for(completions, *device);
}

/// Frees the block; what still runs on it makes its device fail.
hipError_t free_block(const Block& block) {
  const DeviceRef device = state().devices[static_cast<std::size_t>(block.device)];
  const hipError_t fault = fault_of(*device);
  if (state().memory.free(block.start, block.id, fault != hipSuccess)) return fault;
  misuses().add("memory was freed while something ran on it");
  state().engine.fail(device->fault, hipErrorIllegalAddress);
  return hipSuccess;
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemGetInfo)(size_t* free, size_t* total) {
  if (is_null(free, total)) return hipErrorInvalidValue;
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  *total = state().memory.device_bytes();
  *free = *total - used_memory(lock, device->index);
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMalloc)(void** memory, size_t bytes) { return allocate(MemoryKind::kDevice, bytes, 0, memory); }

HIP_DOUBLE_ENTRY(hipExtMallocWithFlags)(void** memory, size_t bytes, unsigned flags) {
  constexpr unsigned kDefault = 0, kFineGrained = 1, kSignal = 2;
  if (flags == kDefault || flags == kFineGrained) return allocate(MemoryKind::kDevice, bytes, 0, memory);
  if (flags != kSignal || bytes != kSignalBytes) return hipErrorInvalidValue;
  return allocate(MemoryKind::kManaged, bytes, kSignalMemory, memory);
}

HIP_DOUBLE_ENTRY(hipFree)(void* memory) {
  if (memory == nullptr) return hipSuccess;
  const auto block = state().memory.block_at(to_address(memory));
  const bool freeable = block && block->state != MemoryState::kFreeQueued &&
                        (block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kManaged);
  if (!freeable) {
    misuses().add("hipFree of what is no allocation, or no longer");
    return hipErrorInvalidValue;
  }
  if (wait_for_all(block->device) == hipErrorDeinitialized) return hipErrorDeinitialized;
  if (block->pool != 0) {
    const Locked lock(state().mutex);
    const PoolRef pool = state().pools.find(decltype(state().pools)::to_handle(block->pool));
    if (pool != nullptr) account(lock, *pool, -static_cast<int64_t>(block->bytes));
  }
  return free_block(*block);
}

HIP_DOUBLE_ENTRY(hipHostMalloc)(void** memory, size_t bytes, unsigned flags) {
  if ((flags & ~kHostMallocFlags) != 0) return hipErrorInvalidValue;
  return allocate(MemoryKind::kPinned, bytes, 0, memory);
}

HIP_DOUBLE_ENTRY(hipHostFree)(void* memory) {
  if (memory == nullptr) return hipSuccess;
  const auto block = state().memory.block_at(to_address(memory));
  if (!block || block->kind != MemoryKind::kPinned) {
    misuses().add("hipHostFree of what is no allocation, or no longer");
    return hipErrorInvalidValue;
  }
  if (wait_for_all(block->device) == hipErrorDeinitialized) return hipErrorDeinitialized;
  return free_block(*block);
}

HIP_DOUBLE_ENTRY(hipHostGetDevicePointer)(void** address, void* memory, unsigned flags) {
  if (is_null(address, memory) || flags != 0) return hipErrorInvalidValue;
  const auto block = state().memory.block_of(to_address(memory));
  const bool mapped = block && block->state == MemoryState::kLive &&
                      (block->kind == MemoryKind::kPinned || block->kind == MemoryKind::kRegistered);
  if (!mapped) return hipErrorInvalidValue;
  *address = memory;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipHostRegister)(void* memory, size_t bytes, unsigned flags) {
  if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) return hipErrorInvalidValue;
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  const auto inside = state().memory.block_of(to_address(memory));
  if (inside && inside->kind != MemoryKind::kRegistered && inside->state != MemoryState::kFreed) {
    return hipErrorInvalidValue;  // HIP's own memory
  }
  Block model;
  model.device = device->index;
  model.owner = device->id;
  model.flags = flags;
  return state().memory.add_registered(model, to_address(memory), bytes) ? hipSuccess
                                                                         : hipErrorHostMemoryAlreadyRegistered;
}

HIP_DOUBLE_ENTRY(hipHostUnregister)(void* memory) {
  if (memory == nullptr) return hipErrorInvalidValue;
  const auto block = state().memory.block_at(to_address(memory));
  if (!block || block->kind != MemoryKind::kRegistered) return hipErrorHostMemoryNotRegistered;
  return free_block(*block);
}

HIP_DOUBLE_ENTRY(hipMallocManaged)(void** memory, size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return hipErrorInvalidValue;
  if (!state().config.managed) return hipErrorNotSupported;
  return allocate(MemoryKind::kManaged, bytes, 0, memory);
}

}  // namespace anyplace::doubles::hip
