// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device and of the host, registered memory, and what is known of an address. Memory of pools is in
// pool.cpp, addresses and memory apart in virtual_memory.cpp.
//
// cuMemFree waits for all work of the context, as drivers do; of memory from a pool, which the reference excepts, it
// doesn't. What frees host memory doesn't wait: nothing says that it would.
#include <algorithm>
#include <cstring>
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr unsigned kHostAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = 0xf;
constexpr uint64_t kPitchAlignment = 512;

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }            // NOLINT: one address space
uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }  // NOLINT

CUresult allocate(MemoryKind kind, uint64_t bytes, unsigned flags, uint64_t& address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  Block model;
  model.kind = kind;
  model.device = context->device;
  model.owner = context->id;
  model.flags = flags;
  const bool on_device = kind == MemoryKind::kDevice;
  const uint64_t total = state().memory.device_bytes();
  // What pools keep without need makes place first.
  if (on_device && (bytes > total || used_memory(lock, context->device) > total - bytes)) trim_pools(lock);
  if (on_device && (bytes > total || used_memory(lock, context->device) > total - bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const uint64_t made = state().memory.allocate(model, bytes);
  if (made == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  address = made;
  return CUDA_SUCCESS;
}

CUresult allocate_host(void** memory, size_t bytes, unsigned flags) {
  if (memory == nullptr || (flags & ~kHostAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = 0;
  const CUresult result = allocate(MemoryKind::kPinned, bytes, flags, address);
  if (result == CUDA_SUCCESS) *memory = pointer(address);
  return result;
}

/// Frees the block; what still runs on it makes its context fail.
CUresult free_block(const Context& current, const Block& block) {
  const CUresult fault = fault_of(current);
  if (state().memory.free(block.start, block.id, fault != CUDA_SUCCESS)) return fault;
  misuses().add("memory was freed while something ran on it");
  state().engine.fail(current.fault, CUDA_ERROR_ILLEGAL_ADDRESS);
  return CUDA_SUCCESS;
}

/// The context that the block belongs to; null if that is gone.
ContextRef owner_of(const Block& block) {
  const Locked lock(state().mutex);
  for (const auto& [value, context] : state().contexts.all()) {
    if (context->id == block.owner && context->alive) return context;
  }
  return nullptr;
}

CUresult wait_for_all(const ContextRef& context) {
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *context);
  }
  return wait_for(completions, *context);
}

/// Writes the attribute of the block, or of memory that the driver doesn't know where `block` is null. False: unknown.
bool write_attribute(CUpointer_attribute attribute, const Block* block, CUdeviceptr address, void* data) {
  const auto put = [data](auto value) { std::memcpy(data, &value, sizeof(value)); };
  const bool on_device = block != nullptr && (block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kMapped);
  const bool device_first = on_device || (block != nullptr && block->kind == MemoryKind::kManaged);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      const ContextRef owner = block == nullptr || block->pool != 0 ? nullptr : owner_of(*block);
      put(owner == nullptr ? CUcontext{nullptr} : owner->handle);
      return true;
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put(static_cast<unsigned>(block == nullptr ? 0 : device_first ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put(block == nullptr ? CUdeviceptr{0} : address);
      return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(block == nullptr || on_device ? nullptr : pointer(address));
      return true;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      put(0U);
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      put(static_cast<unsigned long long>(block == nullptr ? 0 : block->id));
      return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put(block != nullptr && block->kind == MemoryKind::kManaged);
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put(block == nullptr ? -2 : block->device);  // -2: documented of memory that isn't known
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put(block == nullptr ? CUdeviceptr{0} : block->start);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put(static_cast<size_t>(block == nullptr ? 0 : block->bytes));
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put(block != nullptr);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      put(false);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      put(block == nullptr ? CUmemoryPool{nullptr}
                           : Table<CUmemoryPool, Pool, HandleKind::kPool>::to_handle(
                                 block->kind == MemoryKind::kDevice ? block->pool : 0));
      return true;
    default:
      return false;
  }
}

/// The live block that holds the address.
std::optional<Block> known_block(CUdeviceptr address) {
  auto block = state().memory.block_of(address);
  if (block && (block->state == MemoryState::kFreed || block->state == MemoryState::kFreeQueued)) {
    misuses().add("the attributes of a freed address were asked for");
    return std::nullopt;
  }
  return block;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuMemGetInfo_v2)(size_t* free, size_t* total) {
  if (is_null(free, total)) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  *total = state().memory.device_bytes();
  *free = *total - used_memory(lock, context->device);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemAlloc_v2)(CUdeviceptr* address, size_t bytes) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  uint64_t made = 0;
  const CUresult result = allocate(MemoryKind::kDevice, bytes, 0, made);
  if (result == CUDA_SUCCESS) *address = made;
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemAllocPitch_v2)
(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
  const bool valid_element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (is_null(address, pitch) || width == 0 || height == 0 || !valid_element) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (row > static_cast<uint64_t>(kMaxPitch) || height > UINT64_MAX / row) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = do_cuMemAlloc_v2(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemFree_v2)(CUdeviceptr address) {
  ContextRef context;
  const CUresult result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const auto block = state().memory.block_at(address);
  const bool freeable = block && block->state != MemoryState::kFreeQueued &&
                        (block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kManaged);
  if (!freeable) {
    misuses().add("cuMemFree of what is no allocation, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (block->pool == 0) {
    const ContextRef owner = owner_of(*block);
    if (owner != nullptr) wait_for_all(owner);
  } else {
    const Locked lock(state().mutex);
    const PoolRef pool = state().pools.find(Table<CUmemoryPool, Pool, HandleKind::kPool>::to_handle(block->pool));
    if (pool != nullptr) account(lock, *pool, -static_cast<int64_t>(block->bytes));
  }
  return free_block(*context, *block);
}

CUDA_DOUBLE_ENTRY(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const auto block = known_block(address);
  if (!block) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block->start;
  if (size != nullptr) *size = block->bytes;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemAllocHost_v2)(void** memory, size_t bytes) { return allocate_host(memory, bytes, 0); }

CUDA_DOUBLE_ENTRY(cuMemHostAlloc)(void** memory, size_t bytes, unsigned flags) {
  return allocate_host(memory, bytes, flags);
}

CUDA_DOUBLE_ENTRY(cuMemFreeHost)(void* memory) {
  ContextRef context;
  const CUresult result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  const auto block = state().memory.block_at(address_of(memory));
  if (!block || block->kind != MemoryKind::kPinned) {
    misuses().add("cuMemFreeHost of what is no allocation, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return free_block(*context, *block);
}

CUDA_DOUBLE_ENTRY(cuMemHostGetDevicePointer_v2)(CUdeviceptr* address, void* memory, unsigned flags) {
  if (is_null(address, memory) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const auto block = state().memory.block_of(address_of(memory));
  const bool mapped = block && block->state == MemoryState::kLive &&
                      (block->kind == MemoryKind::kPinned || block->kind == MemoryKind::kRegistered);
  if (!mapped) return CUDA_ERROR_INVALID_VALUE;
  *address = address_of(memory);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemHostGetFlags)(unsigned* flags, void* memory) {
  if (is_null(flags, memory)) return CUDA_ERROR_INVALID_VALUE;
  const auto block = state().memory.block_of(address_of(memory));
  if (!block || block->kind != MemoryKind::kPinned) return CUDA_ERROR_INVALID_VALUE;
  *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;  // with unified addressing all is mapped
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemAllocManaged)(CUdeviceptr* address, size_t bytes, unsigned flags) {
  const bool valid_flags = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST;
  if (address == nullptr || !valid_flags) return CUDA_ERROR_INVALID_VALUE;
  if (!state().config.managed) return CUDA_ERROR_NOT_SUPPORTED;
  uint64_t made = 0;
  const CUresult result = allocate(MemoryKind::kManaged, bytes, flags, made);
  if (result == CUDA_SUCCESS) *address = made;
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemHostRegister_v2)(void* memory, size_t bytes, unsigned flags) {
  if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context(context);
  if (result != CUDA_SUCCESS) return result;
  const uint64_t start = address_of(memory);
  const auto inside = state().memory.block_of(start);
  if (inside && inside->kind != MemoryKind::kRegistered && inside->state != MemoryState::kFreed) {
    return CUDA_ERROR_INVALID_VALUE;  // the driver's own memory
  }
  Block model;
  model.device = context->device;
  model.owner = context->id;
  model.flags = flags;
  return state().memory.add_registered(model, start, bytes) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUDA_DOUBLE_ENTRY(cuMemHostUnregister)(void* memory) {
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const CUresult result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  const auto block = state().memory.block_at(address_of(memory));
  if (!block || block->kind != MemoryKind::kRegistered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  return free_block(*context, *block);
}

CUDA_DOUBLE_ENTRY(cuPointerGetAttribute)(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto block = known_block(address);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = block->kind == MemoryKind::kDevice || block->kind == MemoryKind::kMapped;
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && on_device) return CUDA_ERROR_INVALID_VALUE;
  return write_attribute(attribute, &*block, address, data) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUDA_DOUBLE_ENTRY(cuPointerGetAttributes)
(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  if (count == 0 || is_null(attributes, data)) return CUDA_ERROR_INVALID_VALUE;
  const auto block = known_block(address);
  for (unsigned i = 0; i < count; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!write_attribute(attributes[i], block ? &*block : nullptr, address, data[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
