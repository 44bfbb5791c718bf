// SPDX-License-Identifier: Apache-2.0
//
// Memory of devices, of the host and shared, and addresses apart from memory.
//
// Stricter than the reference: memory that is freed while something queued uses it makes that fault, and is noted.
#include <iterator>

#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t small_page = 64 * 1024, large_page = 2 * 1024 * 1024;

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
void* pointer(uint64_t number) { return reinterpret_cast<void*>(number); }  // NOLINT: a number

bool is_relaxed(const void* next) {
  const auto* const desc = static_cast<const ze_relaxed_allocation_limits_exp_desc_t*>(next);
  return desc != nullptr && desc->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC &&
         (desc->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE) != 0;
}

ze_result_t allocate(const Block& model, size_t bytes, size_t alignment, void** out) {
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (bytes == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if ((alignment & (alignment - 1)) != 0 || alignment > page_bytes) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  const uint64_t start = state().memory.allocate(model, bytes);
  if (start == 0) {
    return model.kind == MemoryKind::device ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  *out = pointer(start);
  return ZE_RESULT_SUCCESS;
}

ze_result_t find_and_check(ze_device_handle_t handle, DeviceRef& device) {
  LEVELZERO_DOUBLE_TRY(find(state().device_table, handle, device, "device"));
  return health_of(*device);
}

}  // namespace

ze_result_t do_zeMemAllocDevice(ze_context_handle_t context_handle, const ze_device_mem_alloc_desc_t* desc,
                                size_t bytes, size_t alignment, ze_device_handle_t handle, void** out) {
  DeviceRef device;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find_and_check(handle, device));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "ze_device_mem_alloc_desc_t"));
  if (desc->flags > 7) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->ordinal != 0) return misuse("a device memory of an ordinal that isn't there");
  const uint64_t largest = state().config.largest_block;
  if (largest != 0 && bytes > largest && !is_relaxed(desc->pNext)) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  Block model;
  model.kind = MemoryKind::device;
  model.owner = context->id;
  model.device = device->index;
  return allocate(model, bytes, alignment, out);
}

ze_result_t do_zeMemAllocHost(ze_context_handle_t context_handle, const ze_host_mem_alloc_desc_t* desc, size_t bytes,
                              size_t alignment, void** out) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "ze_host_mem_alloc_desc_t"));
  if (desc->flags > 0xf) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  Block model;
  model.kind = MemoryKind::pinned;
  model.owner = context->id;
  return allocate(model, bytes, alignment, out);
}

ze_result_t do_zeMemAllocShared(ze_context_handle_t context_handle, const ze_device_mem_alloc_desc_t* desc,
                                const ze_host_mem_alloc_desc_t* host_desc, size_t bytes, size_t alignment,
                                ze_device_handle_t handle, void** out) {
  DeviceRef device;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (handle != nullptr) LEVELZERO_DOUBLE_TRY(find_and_check(handle, device));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, "ze_device_mem_alloc_desc_t"));
  LEVELZERO_DOUBLE_TRY(check_desc(host_desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, "ze_host_mem_alloc_desc_t"));
  if (desc->flags > 7 || host_desc->flags > 0xf) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (!state().config.managed) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  Block model;
  model.kind = MemoryKind::managed;
  model.owner = context->id;
  if (device != nullptr) model.device = device->index;
  if (device == nullptr) model.flags = of_no_device;
  return allocate(model, bytes, alignment, out);
}

ze_result_t do_zeMemFree(ze_context_handle_t context_handle, void* address) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (address == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto block = state().memory.block_at(number(address));
  if (!block || block->kind == MemoryKind::mapped)
    return misuse("an address was freed that isn't one that was allocated");
  if (block->owner != context->id) return misuse("memory was freed on another context than its own");
  if ((block->flags & opened) != 0) return misuse("another process's memory was freed instead of closed");
  end_exports(block->start);
  // What a lost device was at can't be waited for.
  if (!state().memory.free(block->start, block->id) && !any_device_lost()) {
    misuse("memory was freed while a command ran on it");
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeMemGetAllocProperties(ze_context_handle_t context_handle, const void* address,
                                       ze_memory_allocation_properties_t* properties, ze_device_handle_t* device) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (address == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  LEVELZERO_DOUBLE_TRY(
      check_desc(properties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, "ze_memory_allocation_properties_t"));
  properties->type = ZE_MEMORY_TYPE_UNKNOWN;
  properties->id = 0;
  properties->pageSize = 0;
  if (device != nullptr) *device = nullptr;
  const auto block = state().memory.block_of(number(address));
  if (!block || block->state == MemoryState::freed || block->owner != context->id) return ZE_RESULT_SUCCESS;
  properties->type = block->kind == MemoryKind::pinned    ? ZE_MEMORY_TYPE_HOST
                     : block->kind == MemoryKind::managed ? ZE_MEMORY_TYPE_SHARED
                                                          : ZE_MEMORY_TYPE_DEVICE;
  properties->id = block->id;
  properties->pageSize = page_bytes;
  if (device != nullptr && block->kind != MemoryKind::pinned && (block->flags & of_no_device) == 0) {
    *device = state().devices[static_cast<std::size_t>(block->device)]->handle;
  }
  return ZE_RESULT_SUCCESS;
}

// ---- Addresses and memory apart
// --------------------------------------------------------------------------------------

namespace {

uint64_t page_for(uint64_t bytes) { return bytes >= large_page ? large_page : small_page; }

/// A range of addresses, as all but the first reservation take it.
ze_result_t check_pages(const void* address, uint64_t bytes) {
  if (address == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (bytes == 0 || bytes % page_for(bytes) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  return number(address) % page_for(bytes) == 0 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
}

/// State::mutex is held.
void unmap(const Block& block) {
  // Of a lost device nothing tells when a command is over, so nobody can wait for it.
  const bool lost = health_of(*state().devices[static_cast<std::size_t>(block.device)]) != ZE_RESULT_SUCCESS;
  if (!state().memory.unmap(block.start) && !lost) misuse("memory was unmapped while a command ran on it");
  const auto mapped = state().mapped.find(block.start);
  if (mapped == state().mapped.end()) return;
  --mapped->second->mappings;
  state().mapped.erase(mapped);
  state().moved_away.erase(block.start);
}

}  // namespace

ze_result_t do_zeVirtualMemQueryPageSize(ze_context_handle_t context_handle, ze_device_handle_t handle, size_t bytes,
                                         size_t* out) {
  DeviceRef device;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find_and_check(handle, device));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (bytes == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  *out = page_for(bytes);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeVirtualMemReserve(ze_context_handle_t context_handle, const void* start, size_t bytes, void** out) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (bytes == 0 || bytes % page_for(bytes) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  // Where the range should start is a wish, and never fulfilled here.
  if (number(start) % page_for(bytes) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  const uint64_t made = state().memory.reserve(0, bytes, large_page);
  if (made == 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  const Locked lock(state().mutex);
  state().reserved[made] = Reservation{context, bytes};
  *out = pointer(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeVirtualMemFree(ze_context_handle_t context_handle, const void* address, size_t bytes) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(check_pages(address, bytes));
  const Locked lock(state().mutex);
  const auto range = state().reserved.find(number(address));
  if (range == state().reserved.end() || range->second.bytes != bytes)
    return misuse("a range of addresses was freed that isn't a whole one that was reserved");
  if (range->second.context != context) return misuse("a range of addresses was freed on another context than its own");
  // What is mapped in it is unmapped with it.
  for (const Block& block : state().memory.live()) {
    if (block.kind == MemoryKind::mapped && block.start - number(address) < bytes) unmap(block);
  }
  state().memory.release(number(address), bytes);
  state().reserved.erase(range);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zePhysicalMemCreate(ze_context_handle_t context_handle, ze_device_handle_t handle,
                                   ze_physical_mem_desc_t* desc, ze_physical_mem_handle_t* out) {
  DeviceRef device;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find_and_check(handle, device));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, "ze_physical_mem_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->flags > 1) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->size == 0 || desc->size % page_for(desc->size) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  const auto offset = state().memory.create_memory(device->index, desc->size);
  if (!offset) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  auto physical = std::make_shared<Physical>();
  physical->context = context;
  physical->device = device->index;
  physical->bytes = desc->size;
  physical->offset = *offset;
  const Locked lock(state().mutex);
  *out = state().physicals.add(std::move(physical));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zePhysicalMemDestroy(ze_context_handle_t context_handle, ze_physical_mem_handle_t handle) {
  PhysicalRef physical;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find(state().physicals, handle, physical, "physical memory"));
  if (physical->context != context) return misuse("physical memory was destroyed on another context than its own");
  const Locked lock(state().mutex);
  if (physical->mappings != 0)
    return misuse("physical memory was destroyed while it is mapped", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  state().physicals.remove(handle);
  state().memory.destroy_memory(physical->device, physical->offset, physical->bytes);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeVirtualMemMap(ze_context_handle_t context_handle, const void* address, size_t bytes,
                               ze_physical_mem_handle_t handle, size_t offset, ze_memory_access_attribute_t access) {
  PhysicalRef physical;
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(find(state().physicals, handle, physical, "physical memory"));
  if (access > ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  LEVELZERO_DOUBLE_TRY(check_pages(address, bytes));
  if (offset % page_for(bytes) != 0) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  if (physical->context != context) return misuse("physical memory was mapped on another context than its own");
  if (offset > physical->bytes || bytes > physical->bytes - offset)
    return misuse("a mapping reaches behind its memory");
  Block model;
  model.device = physical->device;
  model.owner = context->id;
  if (access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY) model.flags = read_only;
  const Locked lock(state().mutex);
  auto range = state().reserved.upper_bound(number(address));
  if (range != state().reserved.begin() && std::prev(range)->second.context != context)
    return misuse("memory was mapped in a range of another context");
  const auto mapping = state().memory.map(model, number(address), bytes, physical->offset + offset);
  if (mapping == AddressSpace::Mapping::failed) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (mapping != AddressSpace::Mapping::done)
    return misuse("memory was mapped where nothing is reserved, or over other memory");
  state().memory.set_access(number(address), access == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE ? 0 : ~uint64_t{0});
  if (state().config.one_address) {
    for (const auto& [earlier, memory] : state().mapped) {
      if (memory == physical) state().moved_away.insert(earlier);
    }
  }
  ++physical->mappings;
  state().mapped[number(address)] = physical;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeVirtualMemUnmap(ze_context_handle_t context_handle, const void* address, size_t bytes) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find_context(context_handle, context));
  LEVELZERO_DOUBLE_TRY(check_pages(address, bytes));
  const auto blocks = state().memory.mappings(number(address), bytes);
  if (blocks.empty()) return misuse("a range was unmapped that isn't whole mappings");
  const Locked lock(state().mutex);
  if (blocks.front().owner != context->id) return misuse("a range was unmapped on another context than its own");
  for (const Block& block : blocks) unmap(block);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyplace::doubles::levelzero
