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

namespace anyplace::doubles::hip {
namespace {

using PhysicalTable = Table<hipMemGenericAllocationHandle_t, Physical, HandleKind::kPhysical>;

bool is_granular(uint64_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

uint64_t bit_of(int device) { return uint64_t{1} << static_cast<unsigned>(device); }

/// The device of a location; other places have no memory or access here.
hipError_t check_location(const hipMemLocation& location) {
  if (location.type != hipMemLocationTypeDevice) return hipErrorInvalidValue;
  return check_device(location.id);
}

hipError_t check_properties(const AllocationProperties& properties) {
  if (properties.type != hipMemAllocationTypePinned) return hipErrorInvalidValue;
  const hipError_t result = check_location(properties.location);
  if (result != hipSuccess) return result;
  // No handles to share; nothing is created for other uses.
  const bool plain = properties.requested_handle_types == hipMemHandleTypeNone && properties.usage == 0;
  return plain ? hipSuccess : hipErrorNotSupported;
}

/// The memory whose handle it is, as long as that isn't released.
PhysicalRef find_physical(const Locked&, hipMemGenericAllocationHandle_t handle) {
  PhysicalRef found = state().physicals.find(handle);
  return found == nullptr || found->handles == 0 ? nullptr : found;
}

/// The last reference to the memory gives it back.
void forget_if_done(const Locked&, const Physical& physical) {
  if (physical.handles != 0 || physical.mappings != 0) return;
  const hipMemGenericAllocationHandle_t handle = physical.handle;
  state().memory.destroy_memory(physical.device, physical.offset, physical.bytes);
  state().physicals.remove(handle);
}

hipError_t map_result(AddressSpace::Mapping mapping) {
  if (mapping == AddressSpace::Mapping::kDone) return hipSuccess;
  return mapping == AddressSpace::Mapping::kFailed ? hipErrorOutOfMemory : hipErrorInvalidValue;
}

/// Something ran on the mapping that is gone: whoever is at work here has an address that faults.
void fault_of_unmapped() {
  misuses().add("memory was unmapped while something ran on it");
  DeviceRef device;
  if (current_device(device) == hipSuccess) state().engine.fail(device->fault, hipErrorIllegalAddress);
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemGetAllocationGranularity)
(size_t* granularity, const AllocationProperties* properties, int option) {
  const bool known = option == hipMemAllocationGranularityMinimum || option == hipMemAllocationGranularityRecommended;
  if (is_null(granularity, properties) || !known) return hipErrorInvalidValue;
  const hipError_t result = check_properties(*properties);
  if (result == hipSuccess) *granularity = kGranularity;
  return result;
}

// `wanted` is a hint, says the reference; it isn't followed.
HIP_DOUBLE_ENTRY(hipMemAddressReserve)
(void** address, size_t size, size_t alignment, void* wanted, unsigned long long flags) {
  const bool valid_alignment = (alignment & (alignment - 1)) == 0;
  if (address == nullptr || flags != 0 || !is_granular(size) || !valid_alignment) return hipErrorInvalidValue;
  if (to_address(wanted) % kGranularity != 0) return hipErrorInvalidValue;
  const int devices = static_cast<int>(state().config.visible.size());
  for (int device = 0; device < devices; ++device) {
    const uint64_t start = state().memory.reserve(device, size, std::max<uint64_t>(alignment, kGranularity));
    if (start == 0) continue;
    *address = to_pointer(start);
    return hipSuccess;
  }
  return hipErrorOutOfMemory;
}

HIP_DOUBLE_ENTRY(hipMemAddressFree)(void* address, size_t size) {
  if (state().memory.release(to_address(address), size)) return hipSuccess;
  misuses().add("hipMemAddressFree of what is no reservation, or no longer, or has a mapping in it");
  return hipErrorInvalidValue;
}

HIP_DOUBLE_ENTRY(hipMemCreate)
(hipMemGenericAllocationHandle_t* handle, size_t size, const AllocationProperties* properties,
 unsigned long long flags) {
  if (is_null(handle, properties) || flags != 0 || !is_granular(size)) return hipErrorInvalidValue;
  const hipError_t result = check_properties(*properties);
  if (result != hipSuccess) return result;
  auto made = std::make_shared<Physical>();
  made->device = properties->location.id;
  made->bytes = size;
  made->handles = 1;
  const Locked lock(state().mutex);
  const uint64_t total = state().memory.device_bytes();
  const auto lacks = [&] { return size > total || used_memory(lock, made->device) > total - size; };
  if (lacks()) trim_pools(lock);
  if (lacks()) return hipErrorOutOfMemory;
  const auto offset = state().memory.create_memory(made->device, size);
  if (!offset) return hipErrorOutOfMemory;
  made->offset = *offset;
  made->handle = state().physicals.add(made);
  *handle = made->handle;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemRelease)(hipMemGenericAllocationHandle_t handle) {
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr) {
    misuses().add("hipMemRelease of what is no memory, or no longer");
    return hipErrorInvalidValue;
  }
  --found->handles;
  forget_if_done(lock, *found);
  return hipSuccess;
}

// "offset must be zero currently", says the reference.
HIP_DOUBLE_ENTRY(hipMemMap)
(void* address, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  if (flags != 0 || offset != 0 || !is_granular(size) || to_address(address) % kGranularity != 0)
    return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  const PhysicalRef found = find_physical(lock, handle);
  if (found == nullptr || size > found->bytes) return hipErrorInvalidValue;
  Block model;
  model.device = found->device;
  model.pool = PhysicalTable::to_value(handle);
  const hipError_t result = map_result(state().memory.map(model, to_address(address), size, found->offset));
  if (result == hipSuccess) ++found->mappings;
  return result;
}

HIP_DOUBLE_ENTRY(hipMemUnmap)(void* address, size_t size) {
  std::vector<Block> blocks;
  bool unused = true;
  {
    const Locked lock(state().mutex);
    if (is_granular(size)) blocks = state().memory.mappings(to_address(address), size);
    for (const Block& block : blocks) {
      unused = state().memory.unmap(block.start) && unused;
      const PhysicalRef physical = state().physicals.find(PhysicalTable::to_handle(block.pool));
      --physical->mappings;
      forget_if_done(lock, *physical);
    }
  }
  if (blocks.empty()) {
    misuses().add("hipMemUnmap of what isn't whole mappings, or no longer");
    return hipErrorInvalidValue;
  }
  if (!unused) fault_of_unmapped();
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemSetAccess)
(void* address, size_t size, const hipMemAccessDesc* accesses, size_t count) {
  if (accesses == nullptr || count == 0 || !is_granular(size)) return hipErrorInvalidValue;
  uint64_t given = 0;
  uint64_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const hipError_t result = check_location(accesses[i].location);
    if (result != hipSuccess) return result;
    const bool all = accesses[i].flags == hipMemAccessFlagsProtReadWrite;
    if (!all && accesses[i].flags != hipMemAccessFlagsProtNone) return hipErrorNotSupported;
    (all ? given : taken) |= bit_of(accesses[i].location.id);
  }
  const Locked lock(state().mutex);
  const std::vector<Block> blocks = state().memory.mappings(to_address(address), size);
  if (blocks.empty()) return hipErrorInvalidValue;
  for (const Block& block : blocks) {
    const bool foreign = (given & ~bit_of(block.device)) != 0;
    if (foreign && !state().config.peers) return hipErrorInvalidDevice;
  }
  for (const Block& block : blocks) state().memory.set_access(block.start, (block.access & ~taken) | given);
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemGetAccess)(unsigned long long* flags, const hipMemLocation* location, void* address) {
  if (is_null(flags, location)) return hipErrorInvalidValue;
  const hipError_t result = check_location(*location);
  if (result != hipSuccess) return result;
  const auto block = state().memory.block_of(to_address(address));
  if (!block || block->kind != MemoryKind::kMapped || block->state == MemoryState::kFreed) return hipErrorInvalidValue;
  const bool all = (block->access & bit_of(location->id)) != 0;
  *flags = all ? hipMemAccessFlagsProtReadWrite : hipMemAccessFlagsProtNone;
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
