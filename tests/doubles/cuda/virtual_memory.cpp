// SPDX-License-Identifier: Apache-2.0
//
// The entries of virtual memory. A handle is a number, and a mapping gives it back.
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

PhysicalProperties read(const CUmemAllocationProp& properties) {
  // Nothing is created for tiles or other uses.
  const auto handles = properties.requestedHandleTypes;
  const bool shareable = handles == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const bool plain = (handles == CU_MEM_HANDLE_TYPE_NONE || shareable) && properties.allocFlags.usage == 0;
  return {properties.type, {properties.location.type, properties.location.id}, plain, shareable};
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuMemGetAllocationGranularity)
(size_t* granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocation_granularity(granularity, read(*properties), option);
}

CUDA_DOUBLE_ENTRY(cuMemAddressReserve)
(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
  return reserve_addresses(address, size, alignment, wanted, flags);
}

CUDA_DOUBLE_ENTRY(cuMemAddressFree)(CUdeviceptr address, size_t size) { return free_addresses(address, size); }

CUDA_DOUBLE_ENTRY(cuMemCreate)
(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties, unsigned long long flags) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create_memory(handle, size, read(*properties), flags);
}

CUDA_DOUBLE_ENTRY(cuMemRelease)(CUmemGenericAllocationHandle handle) { return release_memory(handle); }

CUDA_DOUBLE_ENTRY(cuMemMap)
(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return map_memory(address, size, offset, handle, flags);
}

CUDA_DOUBLE_ENTRY(cuMemUnmap)(CUdeviceptr address, size_t size) { return unmap_memory(address, size); }

CUDA_DOUBLE_ENTRY(cuMemSetAccess)
(CUdeviceptr address, size_t size, const CUmemAccessDesc* accesses, size_t count) {
  return set_access(address, size, read_accesses(accesses, count));
}

CUDA_DOUBLE_ENTRY(cuMemGetAccess)(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return get_access(flags, {location->type, location->id}, address);
}

// The handle is the one that was mapped, also if that was released; each retain needs a release of its own.
CUDA_DOUBLE_ENTRY(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* handle, void* address) {
  if (is_null(handle, address)) return CUDA_ERROR_INVALID_VALUE;
  return retain_memory(handle, address);
}

CUDA_DOUBLE_ENTRY(cuMemExportToShareableHandle)
(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags) {
  return export_memory_handle(out, handle, type, flags);
}

CUDA_DOUBLE_ENTRY(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* handle, void* from, CUmemAllocationHandleType type) {
  return import_memory_handle(handle, static_cast<int>(reinterpret_cast<intptr_t>(from)), type);
}

}  // namespace anyplace::doubles::cuda
