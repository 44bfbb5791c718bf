// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "device.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

using anyplace::backend::from_handle;
using anyplace::backend::to_handle;

/// What may stay in the pool when nobody uses it, as a share of the device's memory.
constexpr std::size_t kept_share = 16;

bool driver_has_pools() noexcept {
  const Driver& d = driver();
  return d.MemPoolCreate && d.MemPoolDestroy && d.MemPoolSetAttribute && d.MemPoolTrimTo && d.MemPoolSetAccess &&
         d.MallocFromPoolAsync && d.FreeAsync;
}

[[noreturn]] void refuse_kind(std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, kind == ANYPLACE_MEMORY_MANAGED
                                          ? "this device has no managed memory"
                                          : "HIP has no memory of kind " + std::to_string(kind));
}

}  // namespace

Memory::Memory(Device& device)
    : device_(device),
      has_pools_(driver_has_pools() && device.attribute(hipDeviceAttributeMemoryPoolsSupported) != 0),
      has_managed_(driver().MallocManaged && device.attribute(hipDeviceAttributeManagedMemory) != 0) {}

// ---- The pool ------------------------------------------------------------------------------------------------------

hipMemPool_t Memory::pool() {
  if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) return made;
  return make_pool();
}

hipMemPool_t Memory::make_pool() {
  return device_.sharing().with_readers([this](const std::vector<hipMemAccessDesc>& readers) {
    if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) return made;
    std::size_t total = 0;
    device_.check(driver().DeviceTotalMem(&total, device_.id()), "hipDeviceTotalMem");
    hipMemPoolProps properties{};
    properties.allocType = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    properties.location.id = device_.id();
    hipMemPool_t pool = nullptr;
    device_.check(driver().MemPoolCreate(&pool, &properties), "hipMemPoolCreate");
    std::uint64_t kept = total / kept_share;
    int no = 0;
    hipError_t result = driver().MemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept);
    if (result == hipSuccess) {
      result = driver().MemPoolSetAttribute(pool, hipMemPoolReuseAllowInternalDependencies, &no);
    }
    if (result == hipSuccess && !readers.empty()) {
      result = driver().MemPoolSetAccess(pool, readers.data(), readers.size());
    }
    if (result != hipSuccess) {
      ignore(driver().MemPoolDestroy(pool));
      device_.fail(result, "hipMemPoolSetAttribute");
    }
    pool_.store(pool, std::memory_order_release);
    return pool;
  });
}

void Memory::set_access(const hipMemAccessDesc& access, Device& reader) {
  if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) {
    const hipError_t result = driver().MemPoolSetAccess(made, &access, 1);
    if (result != hipSuccess) reader.fail_with(result, "hipMemPoolSetAccess", device_);
  }
}

std::uint64_t Memory::idle_in_pool() const noexcept {
  hipMemPool_t const made = pool_.load(std::memory_order_acquire);
  if (made == nullptr || !driver().MemPoolGetAttribute) return 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  const bool known = driver().MemPoolGetAttribute(made, hipMemPoolAttrReservedMemCurrent, &reserved) == hipSuccess &&
                     driver().MemPoolGetAttribute(made, hipMemPoolAttrUsedMemCurrent, &used) == hipSuccess;
  return known && reserved > used ? reserved - used : 0;
}

hipError_t Memory::close() noexcept {
  hipMemPool_t const made = pool_.exchange(nullptr, std::memory_order_acq_rel);
  return made == nullptr ? hipSuccess : driver().MemPoolDestroy(made);
}

hipError_t Memory::allocate_from_pool(void*& address, std::uint64_t bytes, hipStream_t stream) {
  hipMemPool_t const from = pool();
  const hipError_t result = driver().MallocFromPoolAsync(&address, bytes, from, stream);
  if (result != hipErrorOutOfMemory) return result;
  trim();
  return driver().MallocFromPoolAsync(&address, bytes, from, stream);
}

void Memory::trim() noexcept {
  if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) ignore(driver().MemPoolTrimTo(made, 0));
}

// ---- Allocating and freeing ----------------------------------------------------------------------------------------

anyplace_address Memory::allocate(std::uint32_t kind, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  void* address = nullptr;
  switch (kind) {
    case ANYPLACE_MEMORY_DEVICE:
      if (!has_pools()) {
        device_.check(driver().Malloc(&address, bytes), "hipMalloc");
        return to_handle(address);
      }
      device_.check(allocate_from_pool(address, bytes, device_.internal_stream()), "hipMallocFromPoolAsync");
      device_.check(driver().StreamSynchronize(device_.internal_stream()), "hipStreamSynchronize");
      return to_handle(address);
    case ANYPLACE_MEMORY_PINNED: {
      void* host = nullptr;
      device_.check(driver().HostMalloc(&host, bytes, hipHostMallocPortable), "hipHostMalloc");
      return to_handle(host);
    }
    case ANYPLACE_MEMORY_MANAGED:
      if (!has_managed()) refuse_kind(kind);
      device_.check(driver().MallocManaged(&address, bytes, hipMemAttachGlobal), "hipMallocManaged");
      return to_handle(address);
    default:
      refuse_kind(kind);
  }
}

void Memory::free(std::uint32_t kind, anyplace_address address) {
  const EndScope scope(device_);
  if (kind == ANYPLACE_MEMORY_PINNED) {
    scope.end("hipHostFree", [&] { return driver().HostFree(from_handle<void>(address)); });
  } else {
    scope.end("hipFree", [&] { return driver().Free(from_handle<void>(address)); });
  }
}

anyplace_address Memory::allocate_async(const Stream& stream, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  void* address = nullptr;
  device_.check(allocate_from_pool(address, bytes, stream.native()), "hipMallocFromPoolAsync");
  return to_handle(address);
}

void Memory::free_async(const Stream& stream, anyplace_address address) {
  const EndScope scope(device_);
  scope.end("hipFreeAsync", [&] { return driver().FreeAsync(from_handle<void>(address), stream.native()); });
}

// ---- The user's own memory -----------------------------------------------------------------------------------------

void Memory::register_host(void* address, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  device_.check(driver().HostRegister(address, bytes, hipHostRegisterPortable), "hipHostRegister");
}

void Memory::unregister_host(void* address) {
  const EndScope scope(device_);
  scope.end("hipHostUnregister", [&] { return driver().HostUnregister(address); });
}

}  // namespace anyplace::hip
