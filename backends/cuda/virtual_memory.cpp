// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

namespace anyplace::cuda {
namespace {

CUmemAllocationProp properties_for(CUdevice device, bool shareable = false) noexcept {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  return properties;
}

}  // namespace

bool VirtualMemoryCalls::is_supported(const DeviceBase& device) {
  const Driver& d = driver();
  return d.MemGetAllocationGranularity != nullptr && d.MemAddressReserve != nullptr && d.MemAddressFree != nullptr &&
         d.MemCreate != nullptr && d.MemRelease != nullptr && d.MemMap != nullptr && d.MemUnmap != nullptr &&
         d.MemSetAccess != nullptr && device.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED) != 0;
}

Called<CUresult> VirtualMemoryCalls::granularity(CUdevice device, std::uint64_t& bytes) noexcept {
  const CUmemAllocationProp properties = properties_for(device);
  std::size_t least = 0;
  const CUresult result = driver().MemGetAllocationGranularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  bytes = least;
  return {result, "cuMemGetAllocationGranularity"};
}

Called<CUresult> VirtualMemoryCalls::reserve(anyplace_address& address, std::uint64_t bytes) noexcept {
  CUdeviceptr reserved = 0;
  const CUresult result = driver().MemAddressReserve(&reserved, bytes, 0, 0, 0);
  address = reserved;
  return {result, "cuMemAddressReserve"};
}

Called<CUresult> VirtualMemoryCalls::release(anyplace_address address, std::uint64_t bytes) noexcept {
  return {driver().MemAddressFree(address, bytes), "cuMemAddressFree"};
}

bool VirtualMemoryCalls::is_shareable(const DeviceBase& device) {
  const Driver& d = driver();
  return d.MemRetainAllocationHandle != nullptr && d.MemExportToShareableHandle != nullptr &&
         d.MemImportFromShareableHandle != nullptr &&
         device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) != 0;
}

Called<CUresult> VirtualMemoryCalls::create(CUdevice device, Physical& physical, std::uint64_t bytes,
                                            bool& shareable) noexcept {
  CUmemAllocationProp properties = properties_for(device, shareable);
  CUresult result = driver().MemCreate(&physical, bytes, &properties, 0);
  if (shareable && (result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_PERMITTED)) {
    shareable = false;
    properties = properties_for(device);
    result = driver().MemCreate(&physical, bytes, &properties, 0);
  }
  return {result, "cuMemCreate"};
}

Called<CUresult> VirtualMemoryCalls::destroy(Physical physical) noexcept {
  return {driver().MemRelease(physical), "cuMemRelease"};
}

Called<CUresult> VirtualMemoryCalls::map(anyplace_address address, std::uint64_t bytes, Physical physical) noexcept {
  return {driver().MemMap(address, bytes, 0, physical, 0), "cuMemMap"};
}

Called<CUresult> VirtualMemoryCalls::unmap(anyplace_address address, std::uint64_t bytes) noexcept {
  return {driver().MemUnmap(address, bytes), "cuMemUnmap"};
}

Called<CUresult> VirtualMemoryCalls::set_access(anyplace_address address, std::uint64_t bytes,
                                                const CUmemAccessDesc* access, std::size_t count) noexcept {
  return {driver().MemSetAccess(address, bytes, access, count), "cuMemSetAccess"};
}

Called<CUresult> VirtualMemoryCalls::export_at(anyplace_address address, int& descriptor) noexcept {
  Physical physical = 0;
  CUresult result = driver().MemRetainAllocationHandle(&physical, backend::from_handle<void>(address));
  if (result != CUDA_SUCCESS) return {result, "cuMemRetainAllocationHandle"};
  result = driver().MemExportToShareableHandle(&descriptor, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  static_cast<void>(driver().MemRelease(physical));  // the mapping keeps the memory
  return {result, "cuMemExportToShareableHandle"};
}

Called<CUresult> VirtualMemoryCalls::import(int descriptor, Physical& physical) noexcept {
  // CUDA takes the descriptor by value, in place of the pointer.
  void* const handle = backend::from_handle<void>(static_cast<std::uint64_t>(descriptor));
  return {driver().MemImportFromShareableHandle(&physical, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          "cuMemImportFromShareableHandle"};
}

}  // namespace anyplace::cuda
