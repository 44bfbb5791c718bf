// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

#include <iterator>
#include <memory>
#include <string>

#include "device.h"

namespace anyplace::cuda {
namespace {

bool driver_has_virtual_memory() noexcept {
  const Driver& d = driver();
  return d.MemGetAllocationGranularity != nullptr && d.MemAddressReserve != nullptr && d.MemAddressFree != nullptr &&
         d.MemCreate != nullptr && d.MemRelease != nullptr && d.MemMap != nullptr && d.MemUnmap != nullptr &&
         d.MemSetAccess != nullptr;
}

CUmemAllocationProp properties_for(CUdevice device) noexcept {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

VirtualMemory::VirtualMemory(Device& device)
    : device_(device),
      is_supported_(driver_has_virtual_memory() &&
                    device.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED) != 0) {}

std::uint64_t VirtualMemory::granularity() const {
  const CUmemAllocationProp properties = properties_for(device_.id());
  std::size_t bytes = 0;
  device_.check(driver().MemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                "cuMemGetAllocationGranularity");
  return bytes;
}

anyplace_address VirtualMemory::reserve(std::uint64_t bytes) {
  const DeviceScope scope(device_);
  CUdeviceptr address = 0;
  device_.check(driver().MemAddressReserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
  return address;
}

void VirtualMemory::release(anyplace_address address, std::uint64_t bytes) {
  const EndScope scope(device_);
  const std::lock_guard lock(mutex_);
  scope.end("cuMemAddressFree", [&] { return driver().MemAddressFree(address, bytes); });
  // Whatever couldn't be unmapped there isn't any more, and the addresses may be given out again.
  mappings_.erase(mappings_.lower_bound(address), mappings_.lower_bound(address + bytes));
}

PhysicalMemory* VirtualMemory::create(std::uint64_t bytes) {
  const DeviceScope scope(device_);
  auto physical = std::make_unique<PhysicalMemory>(PhysicalMemory{&device_, 0, bytes});
  const CUmemAllocationProp properties = properties_for(device_.id());
  CUresult result = driver().MemCreate(&physical->handle, bytes, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    device_.memory().trim();
    result = driver().MemCreate(&physical->handle, bytes, &properties, 0);
  }
  device_.check(result, "cuMemCreate");
  return physical.release();
}

void VirtualMemory::destroy(PhysicalMemory* physical) {
  const std::unique_ptr<PhysicalMemory> ended(physical);
  Device& device = *ended->device;
  const EndScope scope(device);
  scope.end("cuMemRelease", [&] { return driver().MemRelease(ended->handle); });
}

void VirtualMemory::map(anyplace_address address, const PhysicalMemory& physical) {
  const DeviceScope scope(device_);
  device_.sharing().with_readers([&](std::vector<CUmemAccessDesc>& readers) {
    const std::lock_guard lock(mutex_);
    // Whoever has access to the memory's device has it, and the device itself.
    readers.push_back(Sharing::access_of(device_.id(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    const auto [mapping, added] = mappings_.emplace(address, physical.bytes);
    if (!added) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
             "there is memory mapped at address " + std::to_string(address) + " already; unmap it first");
    }
    CUresult result = driver().MemMap(address, physical.bytes, 0, physical.handle, 0);
    if (result != CUDA_SUCCESS) {
      mappings_.erase(mapping);
      device_.fail(result, "cuMemMap");
    }
    result = driver().MemSetAccess(address, physical.bytes, readers.data(), readers.size());
    if (result != CUDA_SUCCESS) {
      mappings_.erase(mapping);
      driver().MemUnmap(address, physical.bytes);
      device_.fail(result, "cuMemSetAccess");
    }
  });
}

void VirtualMemory::require_whole_mappings(anyplace_address address, std::uint64_t bytes) const {
  auto mapping = mappings_.find(address);
  std::uint64_t covered = 0;
  while (covered < bytes && mapping != mappings_.end() && mapping->first == address + covered) {
    covered += mapping->second;
    ++mapping;
  }
  if (covered == bytes) return;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "the " + std::to_string(bytes) + " bytes from address " + std::to_string(address) +
             " are not one mapping, nor several that adjoin, each whole: unmap what was mapped");
}

void VirtualMemory::unmap(anyplace_address address, std::uint64_t bytes) {
  const EndScope scope(device_);
  const std::lock_guard lock(mutex_);
  require_whole_mappings(address, bytes);
  const auto last = mappings_.lower_bound(address + bytes);
  scope.end("cuMemUnmap", [&] {
    CUresult first_failure = CUDA_SUCCESS;
    for (auto mapping = mappings_.find(address); mapping != last;) {
      const CUresult result = driver().MemUnmap(mapping->first, mapping->second);
      if (first_failure == CUDA_SUCCESS) first_failure = result;
      mapping = result == CUDA_SUCCESS ? mappings_.erase(mapping) : std::next(mapping);
    }
    return first_failure;
  });
  mappings_.erase(mappings_.lower_bound(address), last);  // where it was lost before
}

void VirtualMemory::set_access(const CUmemAccessDesc& access, Device& reader) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, bytes] : mappings_) {
    const CUresult result = driver().MemSetAccess(address, bytes, &access, 1);
    if (result != CUDA_SUCCESS) reader.fail_with(result, "cuMemSetAccess", device_);
  }
}

}  // namespace anyplace::cuda
