// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/virtual_memory.h"
#include "device_base.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

constexpr std::uintptr_t wished_address = std::uintptr_t{1} << 42;

}  // namespace

// ---- PhysicalMemory ------------------------------------------------------------------------------------------------

PhysicalMemory::PhysicalMemory(DeviceBase& device, std::uint64_t bytes) : device_(device), bytes_(bytes) {
  ze_physical_mem_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  desc.size = bytes;
  const ze_result_t result = api().PhysicalMemCreate(device.context(), device.native(), &desc, &native_);
  if (result == ZE_RESULT_ERROR_UNSUPPORTED_SIZE) {
    Results::fail(result, "zePhysicalMemCreate", ANYPLACE_STATUS_OUT_OF_MEMORY,
                  std::to_string(bytes) + " bytes in one piece");
  }
  device.check(result, "zePhysicalMemCreate");
  check_made(native_, "zePhysicalMemCreate");
}

ze_result_t PhysicalMemory::end() noexcept {
  if (native_ == nullptr) return ZE_RESULT_SUCCESS;
  return api().PhysicalMemDestroy(device_.context_or_null(), std::exchange(native_, nullptr));
}

// ---- VirtualMemory -------------------------------------------------------------------------------------------------

bool VirtualMemory::is_supported() noexcept {
  const Api& a = api();
  return a.VirtualMemReserve != nullptr && a.VirtualMemFree != nullptr && a.VirtualMemQueryPageSize != nullptr &&
         a.VirtualMemMap != nullptr && a.VirtualMemUnmap != nullptr && a.PhysicalMemCreate != nullptr &&
         a.PhysicalMemDestroy != nullptr;
}

bool VirtualMemory::is_offered() noexcept {
  static const bool wanted = [] {
    const char* const wish = std::getenv("ANYPLACE_LEVELZERO_VIRTUAL_MEMORY");
    return wish != nullptr && std::strcmp(wish, "1") == 0;
  }();
  return wanted && is_supported();
}

void VirtualMemory::require_supported() {
  if (!is_supported()) refuse(ANYPLACE_STATUS_UNSUPPORTED, "the Level Zero loader is too old for virtual memory");
  if (!is_offered()) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "virtual memory is not offered: that memory can be mapped at several addresses at once has not been seen on "
           "a device; ANYPLACE_LEVELZERO_VIRTUAL_MEMORY=1 offers it");
  }
}

/// The page size depends on the size of the memory. The largest page size suits all memory.
std::uint64_t VirtualMemory::granularity() {
  if (const std::uint64_t known = granularity_.load(std::memory_order_relaxed)) return known;
  std::uint64_t biggest = 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20, std::size_t{1} << 30}) {
    std::size_t page = 0;
    device_.check(api().VirtualMemQueryPageSize(device_.context(), device_.native(), bytes, &page),
                  "zeVirtualMemQueryPageSize");
    biggest = std::max<std::uint64_t>(biggest, page);
  }
  if (biggest == 0) {
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, "zeVirtualMemQueryPageSize answered success and a page of 0 bytes");
  }
  biggest = std::bit_ceil(biggest);
  granularity_.store(biggest, std::memory_order_relaxed);
  return biggest;
}

anyplace_address VirtualMemory::reserve(std::uint64_t bytes) {
  void* made = nullptr;
  ze_result_t result = api().VirtualMemReserve(device_.context(), nullptr, bytes, &made);
  if (result == ZE_RESULT_ERROR_INVALID_NULL_POINTER) {
    // A null address would leave the choice to the driver, but Debian 12's validation layer refuses it. An address that
    // isn't free leaves the choice to the driver too.
    result = api().VirtualMemReserve(device_.context(), reinterpret_cast<void*>(wished_address), bytes, &made);
  }
  if (result == ZE_RESULT_ERROR_UNSUPPORTED_SIZE) {
    Results::fail(result, "zeVirtualMemReserve", ANYPLACE_STATUS_OUT_OF_MEMORY,
                  std::to_string(bytes) + " bytes of addresses");
  }
  device_.check(result, "zeVirtualMemReserve");
  check_made(made, "zeVirtualMemReserve");
  try {
    const std::lock_guard lock(mutex_);
    reserved_.emplace(to_handle(made), bytes);
  } catch (...) {
    api().VirtualMemFree(device_.context_or_null(), made, bytes);
    throw;
  }
  return to_handle(made);
}

void VirtualMemory::release(anyplace_address address, std::uint64_t bytes) {
  std::vector<PhysicalRef> still_mapped;  // freed after the range
  {
    const std::lock_guard lock(mutex_);
    const auto range = reserved_.find(address);
    if (range == reserved_.end() || range->second != bytes) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "address " + std::to_string(address) + " and " + std::to_string(bytes) +
                                                   " bytes are not a whole range that was reserved");
    }
    const auto first = mappings_.lower_bound(address);
    const auto last = mappings_.lower_bound(address + bytes);
    for (auto mapping = first; mapping != last; ++mapping) {
      if (mapping->second.failed == ZE_RESULT_SUCCESS) {
        refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "memory is mapped in the range; unmap it first");
      }
      still_mapped.push_back(mapping->second.memory);
    }
    mappings_.erase(first, last);
    reserved_.erase(range);
  }
  device_.ending().check(api().VirtualMemFree(device_.context_or_null(), from_handle<void>(address), bytes),
                         "zeVirtualMemFree");
}

PhysicalRef* VirtualMemory::create(std::uint64_t bytes) {
  return new PhysicalRef(std::make_shared<PhysicalMemory>(device_, bytes));
}

void VirtualMemory::destroy(PhysicalRef* physical) {
  const std::unique_ptr<PhysicalRef> ended(physical);
  DeviceBase& device = (*ended)->device();
  // Mappings hold the memory too; then it ends with the last of them.
  if (ended->use_count() == 1) device.ending().check((*ended)->end(), "zePhysicalMemDestroy");
}

void VirtualMemory::map(anyplace_address address, const PhysicalRef& physical) {
  const std::lock_guard lock(mutex_);
  const auto [mapping, added] = mappings_.try_emplace(address, Mapping{physical});
  if (!added) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "there is memory mapped at address " + std::to_string(address) + " already; unmap it first");
  }
  const ze_result_t result =
      device_.lost() ? ZE_RESULT_ERROR_DEVICE_LOST
                     : api().VirtualMemMap(device_.context_or_null(), from_handle<void>(address), physical->bytes(),
                                           physical->native(), 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
  if (result == ZE_RESULT_SUCCESS) return;
  mappings_.erase(mapping);
  device_.fail(result, "zeVirtualMemMap");
}

void VirtualMemory::unmap(anyplace_address address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  backend::require_whole_mappings(mappings_, address, bytes, [](const Mapping& one) { return one.memory->bytes(); });
  const Ending ending = device_.ending();
  FirstFailure failure;
  for (std::uint64_t done = 0; done < bytes;) {
    const auto mapping = mappings_.find(address + done);
    done += mapping->second.memory->bytes();
    const ze_result_t result = unmap(mapping->first, mapping->second);
    failure.add(result, "zeVirtualMemUnmap");
    // If the memory's handle is gone, this may destroy the memory.
    if (result == ZE_RESULT_SUCCESS || device_.lost()) mappings_.erase(mapping);
  }
  ending.check(failure.result, failure.call);
}

ze_result_t VirtualMemory::unmap(anyplace_address address, Mapping& mapping) noexcept {
  if (mapping.failed == ZE_RESULT_SUCCESS) {
    mapping.failed =
        api().VirtualMemUnmap(device_.context_or_null(), from_handle<void>(address), mapping.memory->bytes());
  }
  return mapping.failed;
}

void VirtualMemory::close(FirstFailure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [address, mapping] : mappings_) {
    if (mapping.failed == ZE_RESULT_SUCCESS) failure.add(unmap(address, mapping), "zeVirtualMemUnmap");
  }
  for (const auto& [address, bytes] : reserved_) {
    failure.add(api().VirtualMemFree(device_.context_or_null(), from_handle<void>(address), bytes), "zeVirtualMemFree");
  }
  reserved_.clear();
  mappings_.clear();
}

}  // namespace anyplace::levelzero
