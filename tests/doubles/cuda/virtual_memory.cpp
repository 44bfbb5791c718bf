// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory apart: ranges of addresses are reserved, memory is created without an address, and mapped into
// them as often as is liked; what is mapped may be touched by a device only after access was set for it. Memory goes
// when its last handle was released and its last mapping undone, whichever comes last. Needs no current context, as in
// the reference.
//
// Stricter than the reference: reservations too are multiples of the granularity, and access is none or all (a driver
// may offer reading alone).
#include <algorithm>
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

using PhysicalTable = Table<CUmemGenericAllocationHandle, Physical, HandleKind::kPhysical>;

bool is_granular(uint64_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

uint64_t bit_of(int device) { return uint64_t{1} << static_cast<unsigned>(device); }

/// The device of a location; other places have no memory or access here.
CUresult check_location(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return check_device(location.id);
}

CUresult check_properties(const CUmemAllocationProp& properties) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_location(properties.location);
  if (result != CUDA_SUCCESS) return result;
  // Attribute 103 denies handles to share; nothing is created for tiles or other uses.
  const bool plain = properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE && properties.allocFlags.usage == 0;
  return plain ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/// The memory whose handle it is, as long as that isn't released.
PhysicalRef find_physical(const Locked&, CUmemGenericAllocationHandle handle) {
  PhysicalRef found = state().physicals.find(handle);
  return found == nullptr || found->handles == 0 ? nullptr : found;
}

/// The last reference to the memory gives it back.
void forget_if_done(const Locked&, const Physical& physical) {
  if (physical.handles != 0 || physical.mappings != 0) return;
  const CUmemGenericAllocationHandle handle = physical.handle;
  state().memory.destroy_memory(physical.device, physical.offset, physical.bytes);
  state().physicals.remove(handle);
}

/// The live mapping that holds the address.
std::optional<Block> mapping_of(CUdeviceptr address) {
  auto block = state().memory.block_of(address);
  if (!block || block->kind != MemoryKind::kMapped || block->state == MemoryState::kFreed) return std::nullopt;
  return block;
}

CUresult map_result(AddressSpace::Mapping mapping) {
  if (mapping == AddressSpace::Mapping::kDone) return CUDA_SUCCESS;
  return mapping == AddressSpace::Mapping::kFailed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

/// Something ran on the mapping that is gone: whoever is at work here has an address that faults.
void fault_of_unmapped() {
  misuses().add("memory was unmapped while something ran on it");
  ContextRef context;
  if (current_context(context) == CUDA_SUCCESS) state().engine.fail(context->fault, CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuMemGetAllocationGranularity)
(size_t* granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option) {
  const bool known = option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
  if (is_null(granularity, properties) || !known) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_properties(*properties);
  if (result == CUDA_SUCCESS) *granularity = kGranularity;
  return result;
}

// `wanted` is a hint, says the reference; it isn't followed.
CUDA_DOUBLE_ENTRY(cuMemAddressReserve)
(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
  const bool valid_alignment = (alignment & (alignment - 1)) == 0;
  if (address == nullptr || flags != 0 || !is_granular(size) || !valid_alignment) return CUDA_ERROR_INVALID_VALUE;
  if (wanted % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  const int devices = static_cast<int>(state().config.visible.size());
  for (int device = 0; device < devices; ++device) {
    const uint64_t start = state().memory.reserve(device, size, std::max<uint64_t>(alignment, kGranularity));
    if (start == 0) continue;
    *address = start;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_DOUBLE_ENTRY(cuMemAddressFree)(CUdeviceptr address, size_t size) {
  if (state().memory.release(address, size)) return CUDA_SUCCESS;
  misuses().add("cuMemAddressFree of what is no reservation, or no longer, or has a mapping in it");
  return CUDA_ERROR_INVALID_VALUE;
}

CUDA_DOUBLE_ENTRY(cuMemCreate)
(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties, unsigned long long flags) {
  if (is_null(handle, properties) || flags != 0 || !is_granular(size)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_properties(*properties);
  if (result != CUDA_SUCCESS) return result;
  auto made = std::make_shared<Physical>();
  made->device = properties->location.id;
  made->bytes = size;
  made->handles = 1;
  const Locked lock(state().mutex);
  const uint64_t total = state().memory.device_bytes();
  const auto lacks = [&] { return size > total || used_memory(lock, made->device) > total - size; };
  if (lacks()) trim_pools(lock);
  if (lacks()) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto offset = state().memory.create_memory(made->device, size);
  if (!offset) return CUDA_ERROR_OUT_OF_MEMORY;
  made->offset = *offset;
  made->handle = state().physicals.add(made);
  *handle = made->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr) {
    misuses().add("cuMemRelease of what is no memory, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  --found->handles;
  forget_if_done(lock, *found);
  return CUDA_SUCCESS;
}

// "offset must be zero currently", says the reference.
CUDA_DOUBLE_ENTRY(cuMemMap)
(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (flags != 0 || offset != 0 || !is_granular(size) || address % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr || size > found->bytes) return CUDA_ERROR_INVALID_VALUE;
  Block model;
  model.device = found->device;
  model.pool = PhysicalTable::to_value(handle);
  const CUresult result = map_result(state().memory.map(model, address, size, found->offset));
  if (result == CUDA_SUCCESS) ++found->mappings;
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemUnmap)(CUdeviceptr address, size_t size) {
  std::vector<Block> blocks;
  bool unused = true;
  {
    const Locked lock(state().mutex);
    if (is_granular(size)) blocks = state().memory.mappings(address, size);
    for (const Block& block : blocks) {
      unused = state().memory.unmap(block.start) && unused;
      const PhysicalRef physical = state().physicals.find(PhysicalTable::to_handle(block.pool));
      --physical->mappings;
      forget_if_done(lock, *physical);
    }
  }
  if (blocks.empty()) {
    misuses().add("cuMemUnmap of what isn't whole mappings, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!unused) fault_of_unmapped();
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemSetAccess)
(CUdeviceptr address, size_t size, const CUmemAccessDesc* accesses, size_t count) {
  if (accesses == nullptr || count == 0 || !is_granular(size)) return CUDA_ERROR_INVALID_VALUE;
  uint64_t given = 0;
  uint64_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = check_location(accesses[i].location);
    if (result != CUDA_SUCCESS) return result;
    const bool all = accesses[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!all && accesses[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    (all ? given : taken) |= bit_of(accesses[i].location.id);
  }
  const Locked lock(state().mutex);
  const std::vector<Block> blocks = state().memory.mappings(address, size);
  if (blocks.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const Block& block : blocks) {
    const bool foreign = (given & ~bit_of(block.device)) != 0;
    if (foreign && !state().config.peers) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (const Block& block : blocks) state().memory.set_access(block.start, (block.access & ~taken) | given);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemGetAccess)(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (is_null(flags, location)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_location(*location);
  if (result != CUDA_SUCCESS) return result;
  const auto block = mapping_of(address);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  const bool all = (block->access & bit_of(location->id)) != 0;
  *flags = all ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

// The handle is the one that was mapped, also if that was released; each retain needs a release of its own.
CUDA_DOUBLE_ENTRY(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* handle, void* address) {
  if (is_null(handle, address)) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  const auto block = mapping_of(reinterpret_cast<CUdeviceptr>(address));
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  const PhysicalRef found = state().physicals.find(PhysicalTable::to_handle(block->pool));
  ++found->handles;
  *handle = found->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemGetAllocationPropertiesFromHandle)
(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp told{};
  told.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  told.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  told.location.id = found->device;
  *properties = told;
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
