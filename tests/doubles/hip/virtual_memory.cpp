// SPDX-License-Identifier: Apache-2.0
//
// The entries of virtual memory.
#include "runtime.h"

namespace anyplace::doubles::hip {
namespace {

/// Nothing is created for other uses.
PhysicalProperties read(const AllocationProperties& properties) {
  const int handles = properties.requested_handle_types;
  const bool shareable = handles == hipMemHandleTypePosixFileDescriptor;
  const bool plain = (handles == hipMemHandleTypeNone || shareable) && properties.usage == 0;
  return {properties.type, {properties.location.type, properties.location.id}, plain, shareable};
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

HIP_DOUBLE_ENTRY(hipMemRetainAllocationHandle)(hipMemGenericAllocationHandle_t* handle, void* address) {
  return handle == nullptr || address == nullptr ? hipErrorInvalidValue : retain_memory(handle, address);
}

HIP_DOUBLE_ENTRY(hipMemExportToShareableHandle)
(void* out, hipMemGenericAllocationHandle_t handle, hipMemAllocationHandleType type, unsigned long long flags) {
  return export_memory_handle(out, handle, type, flags);
}

// By value from 7.1 on, by a pointer before.
HIP_DOUBLE_ENTRY(hipMemImportFromShareableHandle)
(hipMemGenericAllocationHandle_t* handle, void* from, hipMemAllocationHandleType type) {
  if (config().version >= 70'100'000) {
    return import_memory_handle(handle, static_cast<int>(reinterpret_cast<intptr_t>(from)), type);
  }
  return from == nullptr ? hipErrorInvalidValue : import_memory_handle(handle, *static_cast<const int*>(from), type);
}

HIP_DOUBLE_ENTRY(hipMemGetAccess)(unsigned long long* flags, const hipMemLocation* location, void* address) {
  if (location == nullptr) return hipErrorInvalidValue;
  return get_access(flags, {location->type, location->id}, address);
}

}  // namespace anyplace::doubles::hip
