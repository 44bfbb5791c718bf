// SPDX-License-Identifier: Apache-2.0
//
// The entries of virtual memory.
#include "runtime.h"

namespace anyplace::doubles::hip {
namespace {

/// No handles to share; nothing is created for other uses.
PhysicalProperties read(const AllocationProperties& properties) {
  const bool plain = properties.requested_handle_types == hipMemHandleTypeNone && properties.usage == 0;
  return {properties.type, {properties.location.type, properties.location.id}, plain};
}

}  // namespace

HIP_DOUBLE_ENTRY(hipMemGetAllocationGranularity)
(size_t* granularity, const AllocationProperties* properties, int option) {
  return properties == nullptr ? hipErrorInvalidValue : allocation_granularity(granularity, read(*properties), option);
}

HIP_DOUBLE_ENTRY(hipMemAddressReserve)
(void** address, size_t size, size_t alignment, void* wanted, unsigned long long flags) {
  return reserve_addresses(address, size, alignment, wanted, flags);
}

HIP_DOUBLE_ENTRY(hipMemAddressFree)(void* address, size_t size) { return free_addresses(address, size); }

HIP_DOUBLE_ENTRY(hipMemCreate)
(hipMemGenericAllocationHandle_t* handle, size_t size, const AllocationProperties* properties,
 unsigned long long flags) {
  return properties == nullptr ? hipErrorInvalidValue : create_memory(handle, size, read(*properties), flags);
}

HIP_DOUBLE_ENTRY(hipMemRelease)(hipMemGenericAllocationHandle_t handle) { return release_memory(handle); }

HIP_DOUBLE_ENTRY(hipMemMap)
(void* address, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  return map_memory(address, size, offset, handle, flags);
}

HIP_DOUBLE_ENTRY(hipMemUnmap)(void* address, size_t size) { return unmap_memory(address, size); }

HIP_DOUBLE_ENTRY(hipMemSetAccess)
(void* address, size_t size, const hipMemAccessDesc* accesses, size_t count) {
  return set_access(address, size, read_accesses(accesses, count));
}

HIP_DOUBLE_ENTRY(hipMemGetAccess)(unsigned long long* flags, const hipMemLocation* location, void* address) {
  if (location == nullptr) return hipErrorInvalidValue;
  return get_access(flags, {location->type, location->id}, address);
}

}  // namespace anyplace::doubles::hip
