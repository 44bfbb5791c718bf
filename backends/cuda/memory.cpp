// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "anyplace/backend/kit/refusals.h"

namespace anyplace::cuda {
namespace {

bool driver_has_pools() noexcept {
  const Driver& d = driver();
  return d.MemPoolCreate != nullptr && d.MemPoolDestroy != nullptr && d.MemPoolSetAttribute != nullptr &&
         d.MemPoolTrimTo != nullptr && d.MemPoolSetAccess != nullptr && d.MemAllocFromPoolAsync != nullptr &&
         d.MemFreeAsync != nullptr;
}

}  // namespace

Called<CUresult> PoolCalls::total_memory(CUdevice device, std::size_t& bytes) noexcept {
  return {driver().DeviceTotalMem(&bytes, device), "cuDeviceTotalMem"};
}

Called<CUresult> PoolCalls::create(CUdevice device, CUmemoryPool& pool) noexcept {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return {driver().MemPoolCreate(&pool, &properties), "cuMemPoolCreate"};
}

Called<CUresult> PoolCalls::destroy(CUmemoryPool pool) noexcept {
  return {driver().MemPoolDestroy(pool), "cuMemPoolDestroy"};
}

Called<CUresult> PoolCalls::set_up(CUmemoryPool pool, std::uint64_t kept) noexcept {
  cuuint64_t threshold = kept;
  CUresult result = driver().MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  int no = 0;
  if (result == CUDA_SUCCESS) {
    result = driver().MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no);
  }
  return {result, "cuMemPoolSetAttribute"};
}

Called<CUresult> PoolCalls::set_access(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) noexcept {
  return {driver().MemPoolSetAccess(pool, access, count), "cuMemPoolSetAccess"};
}

bool PoolCalls::figures(CUmemoryPool pool, std::uint64_t& reserved, std::uint64_t& used) noexcept {
  if (driver().MemPoolGetAttribute == nullptr) return false;
  cuuint64_t figures[2] = {};
  const bool known =
      driver().MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &figures[0]) == CUDA_SUCCESS &&
      driver().MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &figures[1]) == CUDA_SUCCESS;
  reserved = figures[0];
  used = figures[1];
  return known;
}

void PoolCalls::trim(CUmemoryPool pool) noexcept { driver().MemPoolTrimTo(pool, 0); }

// ---- Memory --------------------------------------------------------------------------------------------------------

Memory::Memory(DeviceBase& device, Sharing& sharing)
    : device_(device),
      has_pools_(driver_has_pools() && device.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0),
      has_managed_(driver().MemAllocManaged != nullptr && device.attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0),
      pool_(device, sharing) {}

CUresult Memory::allocate_from_pool(CUdeviceptr& address, std::uint64_t bytes, CUstream stream) {
  return pool_.allocate_from(
      [&](CUmemoryPool pool) { return driver().MemAllocFromPoolAsync(&address, bytes, pool, stream); });
}

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
    case ANYPLACE_MEMORY_SHAREABLE:  // memory of a pool has no handle for other processes
      device_.check(driver().MemAlloc(&address, bytes), "cuMemAlloc");
      return address;
    case ANYPLACE_MEMORY_PINNED: {
      void* host = nullptr;
      device_.check(driver().MemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
      return backend::to_handle(host);
    }
    case ANYPLACE_MEMORY_MANAGED:
      if (!has_managed()) backend::refuse_memory_kind("CUDA", kind);
      device_.check(driver().MemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
      return address;
    default:
      backend::refuse_memory_kind("CUDA", kind);
  }
}

void Memory::free(std::uint32_t kind, anyplace_address address) {
  const EndScope scope(device_);
  if (kind == ANYPLACE_MEMORY_PINNED) {
    scope.end("cuMemFreeHost", [&] { return driver().MemFreeHost(backend::from_handle<void>(address)); });
  } else {
    scope.end("cuMemFree", [&] { return driver().MemFree(address); });
  }
}

anyplace_address Memory::allocate_async(CUstream stream, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  CUdeviceptr address = 0;
  device_.check(allocate_from_pool(address, bytes, stream), "cuMemAllocFromPoolAsync");
  return address;
}

void Memory::free_async(CUstream stream, anyplace_address address) {
  const EndScope scope(device_);
  scope.end("cuMemFreeAsync", [&] { return driver().MemFreeAsync(address, stream); });
}

void Memory::register_host(void* address, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  device_.check(driver().MemHostRegister(address, bytes, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister");
}

void Memory::unregister_host(void* address) {
  const EndScope scope(device_);
  scope.end("cuMemHostUnregister", [&] { return driver().MemHostUnregister(address); });
}

}  // namespace anyplace::cuda
