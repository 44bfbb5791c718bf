// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "device.h"
#include "stream.h"

namespace anyplace::cuda {
namespace {

/// What may stay in the pool when nobody uses it, as a share of the device's memory.
constexpr std::size_t kept_share = 16;

bool driver_has_pools() noexcept {
  const Driver& d = driver();
  return d.MemPoolCreate != nullptr && d.MemPoolDestroy != nullptr && d.MemPoolSetAttribute != nullptr &&
         d.MemPoolTrimTo != nullptr && d.MemPoolSetAccess != nullptr && d.MemAllocFromPoolAsync != nullptr &&
         d.MemFreeAsync != nullptr;
}

[[noreturn]] void refuse_kind(std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, kind == ANYPLACE_MEMORY_MANAGED
                                          ? "this device has no managed memory"
                                          : "CUDA has no memory of kind " + std::to_string(kind));
}

}  // namespace

Memory::Memory(Device& device)
    : device_(device),
      has_pools_(driver_has_pools() && device.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0),
      has_managed_(driver().MemAllocManaged != nullptr && device.attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0) {}

// ---- The pool ------------------------------------------------------------------------------------------------------

CUmemoryPool Memory::pool() {
  if (CUmemoryPool const made = pool_.load(std::memory_order_acquire)) return made;
  return make_pool();
}

CUmemoryPool Memory::make_pool() {
  return device_.sharing().with_readers([this](const std::vector<CUmemAccessDesc>& readers) {
    if (CUmemoryPool const made = pool_.load(std::memory_order_acquire)) return made;
    std::size_t total = 0;
    device_.check(driver().DeviceTotalMem(&total, device_.id()), "cuDeviceTotalMem");
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_.id();
    CUmemoryPool pool = nullptr;
    device_.check(driver().MemPoolCreate(&pool, &properties), "cuMemPoolCreate");
    cuuint64_t kept = total / kept_share;
    int no = 0;
    CUresult result = driver().MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
    if (result == CUDA_SUCCESS) {
      result = driver().MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no);
    }
    if (result == CUDA_SUCCESS && !readers.empty()) {
      result = driver().MemPoolSetAccess(pool, readers.data(), readers.size());
    }
    if (result != CUDA_SUCCESS) {
      driver().MemPoolDestroy(pool);
      device_.fail(result, "cuMemPoolSetAttribute");
    }
    pool_.store(pool, std::memory_order_release);
    return pool;
  });
}

void Memory::set_access(const CUmemAccessDesc& access, Device& reader) {
  if (CUmemoryPool const made = pool_.load(std::memory_order_acquire)) {
    const CUresult result = driver().MemPoolSetAccess(made, &access, 1);
    if (result != CUDA_SUCCESS) reader.fail_with(result, "cuMemPoolSetAccess", device_);
  }
}

std::uint64_t Memory::idle_in_pool() const noexcept {
  CUmemoryPool const made = pool_.load(std::memory_order_acquire);
  if (made == nullptr || driver().MemPoolGetAttribute == nullptr) return 0;
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  const bool known =
      driver().MemPoolGetAttribute(made, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) == CUDA_SUCCESS &&
      driver().MemPoolGetAttribute(made, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS;
  return known && reserved > used ? reserved - used : 0;
}

CUresult Memory::close() noexcept {
  CUmemoryPool const made = pool_.exchange(nullptr, std::memory_order_acq_rel);
  return made == nullptr ? CUDA_SUCCESS : driver().MemPoolDestroy(made);
}

CUresult Memory::allocate_from_pool(CUdeviceptr& address, std::uint64_t bytes, CUstream stream) {
  CUmemoryPool const from = pool();
  const CUresult result = driver().MemAllocFromPoolAsync(&address, bytes, from, stream);
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  trim();
  return driver().MemAllocFromPoolAsync(&address, bytes, from, stream);
}

void Memory::trim() noexcept {
  if (CUmemoryPool const made = pool_.load(std::memory_order_acquire)) driver().MemPoolTrimTo(made, 0);
}

// ---- Allocating and freeing ----------------------------------------------------------------------------------------

anyplace_address Memory::allocate(std::uint32_t kind, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  CUdeviceptr address = 0;
  switch (kind) {
    case ANYPLACE_MEMORY_DEVICE:
      if (!has_pools()) {
        device_.check(driver().MemAlloc(&address, bytes), "cuMemAlloc");
        return address;
      }
      device_.check(allocate_from_pool(address, bytes, device_.internal_stream()), "cuMemAllocFromPoolAsync");
      device_.check(driver().StreamSynchronize(device_.internal_stream()), "cuStreamSynchronize");
      return address;
    case ANYPLACE_MEMORY_PINNED: {
      void* host = nullptr;
      device_.check(driver().MemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
      return anyplace::backend::to_handle(host);
    }
    case ANYPLACE_MEMORY_MANAGED:
      if (!has_managed()) refuse_kind(kind);
      device_.check(driver().MemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
      return address;
    default:
      refuse_kind(kind);
  }
}

void Memory::free(std::uint32_t kind, anyplace_address address) {
  const EndScope scope(device_);
  if (kind == ANYPLACE_MEMORY_PINNED) {
    scope.end("cuMemFreeHost", [&] { return driver().MemFreeHost(anyplace::backend::from_handle<void>(address)); });
  } else {
    scope.end("cuMemFree", [&] { return driver().MemFree(address); });
  }
}

anyplace_address Memory::allocate_async(const Stream& stream, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  CUdeviceptr address = 0;
  device_.check(allocate_from_pool(address, bytes, stream.native()), "cuMemAllocFromPoolAsync");
  return address;
}

void Memory::free_async(const Stream& stream, anyplace_address address) {
  const EndScope scope(device_);
  scope.end("cuMemFreeAsync", [&] { return driver().MemFreeAsync(address, stream.native()); });
}

// ---- The user's own memory -----------------------------------------------------------------------------------------

void Memory::register_host(void* address, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  device_.check(driver().MemHostRegister(address, bytes, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister");
}

void Memory::unregister_host(void* address) {
  const EndScope scope(device_);
  scope.end("cuMemHostUnregister", [&] { return driver().MemHostUnregister(address); });
}

}  // namespace anyplace::cuda
