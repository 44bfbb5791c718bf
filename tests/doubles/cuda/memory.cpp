// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device and of the host, registered memory, and what is known of an address. Memory of pools is in
// pool.cpp, addresses and memory apart in virtual_memory.cpp.
//
// cuMemFree waits for all work of the context, as drivers do; of memory from a pool, which the reference excepts, it
// doesn't. What frees host memory doesn't wait: nothing says that it would.
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

constexpr unsigned host_alloc_flags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned register_flags = 0xf;
constexpr uint64_t pitch_alignment = 512;

int allocate_host(void** memory, size_t bytes, unsigned flags) {
  return (flags & ~host_alloc_flags) != 0 ? CUDA_ERROR_INVALID_VALUE
                                          : allocate(MemoryKind::pinned, bytes, flags, memory);
}

/// The live block that holds the address.
std::optional<Block> known_block(CUdeviceptr address) {
  auto block = state().memory.block_of(address);
  if (block && (block->state == MemoryState::freed || block->state == MemoryState::free_queued)) {
    misuses().add("the attributes of a freed address were asked for");
    return std::nullopt;
  }
  return block;
}

/// The context that the block belongs to; null if that is gone.
ContextRef owner_of(const Block& block) {
  const Locked lock(state().mutex);
  for (const auto& [value, context] : state().contexts.all()) {
    if (context->id == block.owner && context->alive) return context;
  }
  return nullptr;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuMemGetInfo_v2)(size_t* free, size_t* total) { return memory_info(free, total); }

CUDA_DOUBLE_ENTRY(cuMemAlloc_v2)(CUdeviceptr* address, size_t bytes) {
  return allocate(MemoryKind::device, bytes, 0, address);
}

CUDA_DOUBLE_ENTRY(cuMemAllocPitch_v2)
(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
  const bool valid_element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (is_null(address, pitch) || width == 0 || height == 0 || !valid_element) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  if (row > static_cast<uint64_t>(max_pitch) || height > UINT64_MAX / row) return CUDA_ERROR_INVALID_VALUE;
  const int result = do_cuMemAlloc_v2(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemFree_v2)(CUdeviceptr address) {
  ContextRef context;
  const int result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const auto block = block_to_free(address, {MemoryKind::device, MemoryKind::managed});
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  if (block->pool == 0) {
    const ContextRef owner = owner_of(*block);
    if (owner != nullptr) wait_for_all(*owner);
  }
  leave_pool(*block);
  return free_block(*context, *block);
}

static_assert(sizeof(CUipcMemHandle) == SharedRecords::handle_bytes);

CUDA_DOUBLE_ENTRY(cuIpcGetMemHandle)(CUipcMemHandle* handle, CUdeviceptr address) {
  return share_memory(handle, address);
}

CUDA_DOUBLE_ENTRY(cuIpcOpenMemHandle_v2)(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return open_memory(address, &handle, flags);
}

CUDA_DOUBLE_ENTRY(cuIpcCloseMemHandle)(CUdeviceptr address) { return close_memory(address); }

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
  const int result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  const auto block = block_to_free(Word(memory), {MemoryKind::pinned});
  return block ? free_block(*context, *block) : CUDA_ERROR_INVALID_VALUE;
}

CUDA_DOUBLE_ENTRY(cuMemHostGetDevicePointer_v2)(CUdeviceptr* address, void* memory, unsigned flags) {
  if (is_null(address, memory) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const int result = current_context(context);
  return result == CUDA_SUCCESS ? device_address(address, memory) : result;
}

CUDA_DOUBLE_ENTRY(cuMemAllocManaged)(CUdeviceptr* address, size_t bytes, unsigned flags) {
  const bool valid_flags = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST;
  if (address == nullptr || !valid_flags) return CUDA_ERROR_INVALID_VALUE;
  if (!state().settings.managed) return CUDA_ERROR_NOT_SUPPORTED;
  return allocate(MemoryKind::managed, bytes, flags, address);
}

CUDA_DOUBLE_ENTRY(cuMemHostRegister_v2)(void* memory, size_t bytes, unsigned flags) {
  return register_host(memory, bytes, flags, register_flags);
}

CUDA_DOUBLE_ENTRY(cuMemHostUnregister)(void* memory) {
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ContextRef context;
  const int result = current_context_to_release(context);
  if (result != CUDA_SUCCESS) return result;
  const auto block = registered_block(memory);
  return block ? free_block(*context, *block) : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

}  // namespace anyplace::doubles::cuda
