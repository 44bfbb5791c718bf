// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

namespace anyplace::hip {
namespace {

void* at(anyplace_address address) noexcept { return backend::from_handle<void>(address); }

AllocationProperties properties_for(hipDevice_t device, bool shareable = false) noexcept {
  AllocationProperties properties{};
  properties.type = memory_allocation_pinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  properties.requested_handle_types = shareable ? hipMemHandleTypePosixFileDescriptor : hipMemHandleTypeNone;
  return properties;
}

}  // namespace

bool VirtualMemoryCalls::is_supported(const DeviceBase& device) {
  // HIP 5 has virtual memory too, but changed the layout of AllocationProperties from one release to the next.
  constexpr int oldest = 60'000'000;
  if (driver_version() < oldest) return false;
  const Driver& d = driver();
  return d.MemGetAllocationGranularity && d.MemAddressReserve && d.MemAddressFree && d.MemCreate && d.MemRelease &&
         d.MemMap && d.MemUnmap && d.MemSetAccess && device.attribute(attribute_virtual_memory) != 0;
}

Called<hipError_t> VirtualMemoryCalls::granularity(hipDevice_t device, std::uint64_t& bytes) noexcept {
  const AllocationProperties properties = properties_for(device);
  std::size_t least = 0;
  const hipError_t result =
      driver().MemGetAllocationGranularity(&least, &properties, hipMemAllocationGranularityMinimum);
  bytes = least;
  return {result, "hipMemGetAllocationGranularity"};
}

Called<hipError_t> VirtualMemoryCalls::reserve(anyplace_address& address, std::uint64_t bytes) noexcept {
  void* reserved = nullptr;
  const hipError_t result = driver().MemAddressReserve(&reserved, bytes, 0, nullptr, 0);
  address = backend::to_handle(reserved);
  return {result, "hipMemAddressReserve"};
}

Called<hipError_t> VirtualMemoryCalls::release(anyplace_address address, std::uint64_t bytes) noexcept {
  return {driver().MemAddressFree(at(address), bytes), "hipMemAddressFree"};
}

bool VirtualMemoryCalls::is_shareable(const DeviceBase&) {
  const Driver& d = driver();
  return d.MemRetainAllocationHandle && d.MemExportToShareableHandle && d.MemImportFromShareableHandle;
}

Called<hipError_t> VirtualMemoryCalls::create(hipDevice_t device, Physical& physical, std::uint64_t bytes,
                                              bool& shareable) noexcept {
  AllocationProperties properties = properties_for(device, shareable);
  hipError_t result = driver().MemCreate(&physical, bytes, &properties, 0);
  // HIP has no query for shareable memory, and refuses it with one of these two if it lacks it.
  if (shareable && (result == hipErrorNotSupported || result == hipErrorInvalidValue)) {
    shareable = false;
    properties = properties_for(device);
    result = driver().MemCreate(&physical, bytes, &properties, 0);
  }
  return {result, "hipMemCreate"};
}

Called<hipError_t> VirtualMemoryCalls::destroy(Physical physical) noexcept {
  return {driver().MemRelease(physical), "hipMemRelease"};
}

Called<hipError_t> VirtualMemoryCalls::map(anyplace_address address, std::uint64_t bytes, Physical physical) noexcept {
  return {driver().MemMap(at(address), bytes, 0, physical, 0), "hipMemMap"};
}

Called<hipError_t> VirtualMemoryCalls::unmap(anyplace_address address, std::uint64_t bytes) noexcept {
  return {driver().MemUnmap(at(address), bytes), "hipMemUnmap"};
}

Called<hipError_t> VirtualMemoryCalls::set_access(anyplace_address address, std::uint64_t bytes,
                                                  const hipMemAccessDesc* access, std::size_t count) noexcept {
  return {driver().MemSetAccess(at(address), bytes, access, count), "hipMemSetAccess"};
}

Called<hipError_t> VirtualMemoryCalls::export_at(anyplace_address address, int& descriptor) noexcept {
  Physical physical{};
  hipError_t result = driver().MemRetainAllocationHandle(&physical, at(address));
  if (result != hipSuccess) return {result, "hipMemRetainAllocationHandle"};
  result = driver().MemExportToShareableHandle(&descriptor, physical, hipMemHandleTypePosixFileDescriptor, 0);
  static_cast<void>(driver().MemRelease(physical));  // the mapping keeps the memory
  return {result, "hipMemExportToShareableHandle"};
}

Called<hipError_t> VirtualMemoryCalls::import(int descriptor, Physical& physical) noexcept {
  // Before 7.1 HIP took a pointer to the descriptor, and since then the descriptor itself, as CUDA does
  // (ROCm/rocm-systems, pull request 759).
  constexpr int first_by_value = 70'100'000;
  const bool by_value = driver_version() >= first_by_value;
  void* const handle = by_value ? at(static_cast<anyplace_address>(descriptor)) : &descriptor;
  return {driver().MemImportFromShareableHandle(&physical, handle, hipMemHandleTypePosixFileDescriptor),
          "hipMemImportFromShareableHandle"};
}

}  // namespace anyplace::hip
