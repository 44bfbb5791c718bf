// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <string>

#include "device_base.h"
#include "shared_memory.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

[[noreturn]] void refuse_kind(std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED,
         kind == ANYPLACE_MEMORY_MANAGED  ? "this device has no memory that it shares with the host"
         : kind == ANYPLACE_MEMORY_PINNED ? "this device can't use memory of the host"
                                          : "Level Zero has no memory of kind " + std::to_string(kind));
}

}  // namespace

bool Memory::has_host() const noexcept {
  return (device_.facts().access.hostAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0;
}

bool Memory::has_shared() const noexcept {
  return (device_.facts().access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0;
}

ze_result_t Memory::allocate_device(std::uint64_t bytes, void** made) {
  ze_device_mem_alloc_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  // With the extension an allocation may be larger than the device's limit for one.
  ze_relaxed_allocation_limits_exp_desc_t relaxed{};
  relaxed.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
  relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  const std::uint64_t largest = device_.facts().properties.maxMemAllocSize;
  if (largest != 0 && bytes > largest) desc.pNext = &relaxed;
  return api().MemAllocDevice(device_.context(), &desc, bytes, alignment, device_.native(), made);
}

void Memory::refuse_size(ze_result_t result, const char* call, std::uint64_t bytes) {
  const std::uint64_t largest = device_.facts().properties.maxMemAllocSize;
  const bool too_big = result == ZE_RESULT_ERROR_UNSUPPORTED_SIZE ||
                       (largest != 0 && bytes > largest && result == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  if (!too_big) device_.fail(result, call);
  Results::fail(result, call, ANYPLACE_STATUS_OUT_OF_MEMORY,
                std::to_string(bytes) + " bytes in one piece; the device gives at most " + std::to_string(largest));
}

anyplace_address Memory::allocate(std::uint32_t kind, std::uint64_t bytes) {
  const ze_context_handle_t context = device_.context();
  ze_host_mem_alloc_desc_t host{};
  host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* made = nullptr;
  const char* call = "";
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (kind == ANYPLACE_MEMORY_DEVICE || (kind == ANYPLACE_MEMORY_SHAREABLE && SharedMemory::is_supported(device_))) {
    call = "zeMemAllocDevice";
    result = allocate_device(bytes, &made);
  } else if (kind == ANYPLACE_MEMORY_PINNED && has_host()) {
    call = "zeMemAllocHost";
    result = api().MemAllocHost(context, &host, bytes, alignment, &made);
  } else if (kind == ANYPLACE_MEMORY_MANAGED && has_shared()) {
    ze_device_mem_alloc_desc_t device{};
    device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    call = "zeMemAllocShared";
    result = api().MemAllocShared(context, &device, &host, bytes, alignment, device_.native(), &made);
  } else {
    refuse_kind(kind);
  }
  if (result != ZE_RESULT_SUCCESS) refuse_size(result, call, bytes);
  check_made(made, call);
  try {
    const std::lock_guard lock(mutex_);
    live_.emplace(to_handle(made), Live{bytes, kind});
  } catch (...) {
    api().MemFree(context, made);
    throw;
  }
  return to_handle(made);
}

void Memory::free(std::uint32_t, anyplace_address address) {
  {
    const std::lock_guard lock(mutex_);
    live_.erase(address);
  }
  device_.ending().check(api().MemFree(device_.context_or_null(), from_handle<void>(address)), "zeMemFree");
}

Memory::Allocation Memory::device_allocation_of(anyplace_address address) {
  const std::lock_guard lock(mutex_);
  auto found = live_.upper_bound(address);
  if (found == live_.begin()) return {};
  --found;
  const auto& [start, live] = *found;
  const bool of_device = live.kind == ANYPLACE_MEMORY_DEVICE || live.kind == ANYPLACE_MEMORY_SHAREABLE;
  return of_device && address - start < live.bytes ? Allocation{start, live.bytes} : Allocation{};
}

bool Memory::is_out_of_reach(anyplace_address address) {
  if ((device_.facts().access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0) return false;
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  properties.type = ZE_MEMORY_TYPE_UNKNOWN;
  ze_device_handle_t of = nullptr;
  device_.check(api().MemGetAllocProperties(device_.context(), from_handle<const void>(address), &properties, &of),
                "zeMemGetAllocProperties");
  return properties.type == ZE_MEMORY_TYPE_UNKNOWN;
}

void Memory::close(FirstFailure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, live] : live_) {
    failure.add(api().MemFree(device_.context_or_null(), from_handle<void>(address)), "zeMemFree");
  }
  live_.clear();
}

}  // namespace anyplace::levelzero
