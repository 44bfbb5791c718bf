// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

#include <iterator>
#include <memory>
#include <string>

#include "device.h"

namespace anyplace::hip {
namespace {

using anyplace::backend::to_handle;

void* at(anyplace_address address) noexcept { return anyplace::backend::from_handle<void>(address); }

/// HIP 5 has it too, but changed the layout of AllocationProperties from one release to the next.
bool driver_has_virtual_memory() noexcept {
  constexpr int oldest = 60'000'000;
  if (driver_version() < oldest) return false;
  const Driver& d = driver();
  return d.MemGetAllocationGranularity && d.MemAddressReserve && d.MemAddressFree && d.MemCreate && d.MemRelease &&
         d.MemMap && d.MemUnmap && d.MemSetAccess;
}

AllocationProperties properties_for(hipDevice_t device) noexcept {
  AllocationProperties properties{};
  properties.type = memory_allocation_pinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  return properties;
}

}  // namespace

VirtualMemory::VirtualMemory(Device& device)
    : device_(device), is_supported_(driver_has_virtual_memory() && device.attribute(attribute_virtual_memory) != 0) {}

std::uint64_t VirtualMemory::granularity() const {
  const AllocationProperties properties = properties_for(device_.id());
  std::size_t bytes = 0;
  device_.check(driver().MemGetAllocationGranularity(&bytes, &properties, hipMemAllocationGranularityMinimum),
                "hipMemGetAllocationGranularity");
  return bytes;
}

anyplace_address VirtualMemory::reserve(std::uint64_t bytes) {
  const DeviceScope scope(device_);
  void* address = nullptr;
  device_.check(driver().MemAddressReserve(&address, bytes, 0, nullptr, 0), "hipMemAddressReserve");
  return to_handle(address);
}

void VirtualMemory::release(anyplace_address address, std::uint64_t bytes) {
  const EndScope scope(device_);
  const std::lock_guard lock(mutex_);
  scope.end("hipMemAddressFree", [&] { return driver().MemAddressFree(at(address), bytes); });
  // Whatever couldn't be unmapped there isn't any more, and the addresses may be given out again.
  mappings_.erase(mappings_.lower_bound(address), mappings_.lower_bound(address + bytes));
}

PhysicalMemory* VirtualMemory::create(std::uint64_t bytes) {
  const DeviceScope scope(device_);
  auto physical = std::make_unique<PhysicalMemory>(PhysicalMemory{&device_, nullptr, bytes});
  const AllocationProperties properties = properties_for(device_.id());
  hipError_t result = driver().MemCreate(&physical->handle, bytes, &properties, 0);
  if (result == hipErrorOutOfMemory) {
    device_.memory().trim();
    result = driver().MemCreate(&physical->handle, bytes, &properties, 0);
  }
  device_.check(result, "hipMemCreate");
  return physical.release();
}

void VirtualMemory::destroy(PhysicalMemory* physical) {
  const std::unique_ptr<PhysicalMemory> ended(physical);
  Device& device = *ended->device;
  const EndScope scope(device);
  scope.end("hipMemRelease", [&] { return driver().MemRelease(ended->handle); });
}

void VirtualMemory::map(anyplace_address address, const PhysicalMemory& physical) {
  const DeviceScope scope(device_);
  device_.sharing().with_readers([&](std::vector<hipMemAccessDesc>& readers) {
    const std::lock_guard lock(mutex_);
    // Whoever has access to the memory's device has it, and the device itself.
    readers.push_back(Sharing::access_of(device_.id(), hipMemAccessFlagsProtReadWrite));
    const auto [mapping, added] = mappings_.emplace(address, physical.bytes);
    if (!added) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
             "there is memory mapped at address " + std::to_string(address) + " already; unmap it first");
    }
    hipError_t result = driver().MemMap(at(address), physical.bytes, 0, physical.handle, 0);
    if (result != hipSuccess) {
      mappings_.erase(mapping);
      device_.fail(result, "hipMemMap");
    }
    result = driver().MemSetAccess(at(address), physical.bytes, readers.data(), readers.size());
    if (result != hipSuccess) {
      mappings_.erase(mapping);
      ignore(driver().MemUnmap(at(address), physical.bytes));
      device_.fail(result, "hipMemSetAccess");
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
  scope.end("hipMemUnmap", [&] {
    hipError_t first_failure = hipSuccess;
    for (auto mapping = mappings_.find(address); mapping != last;) {
      const hipError_t result = driver().MemUnmap(at(mapping->first), mapping->second);
      if (first_failure == hipSuccess) first_failure = result;
      mapping = result == hipSuccess ? mappings_.erase(mapping) : std::next(mapping);
    }
    return first_failure;
  });
  mappings_.erase(mappings_.lower_bound(address), last);  // where it was lost before
}

void VirtualMemory::set_access(const hipMemAccessDesc& access, Device& reader) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, bytes] : mappings_) {
    const hipError_t result = driver().MemSetAccess(at(address), bytes, &access, 1);
    if (result != hipSuccess) reader.fail_with(result, "hipMemSetAccess", device_);
  }
}

}  // namespace anyplace::hip
