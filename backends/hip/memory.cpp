// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "anyplace/backend/kit/refusals.h"

namespace anyplace::hip {
namespace {

using backend::from_handle;
using backend::to_handle;

bool driver_has_pools() noexcept {
  const Driver& d = driver();
  return d.MemPoolCreate && d.MemPoolDestroy && d.MemPoolSetAttribute && d.MemPoolTrimTo && d.MemPoolSetAccess &&
         d.MallocFromPoolAsync && d.FreeAsync;
}

}  // namespace

Called<hipError_t> PoolCalls::total_memory(hipDevice_t device, std::size_t& bytes) noexcept {
  return {driver().DeviceTotalMem(&bytes, device), "hipDeviceTotalMem"};
}

Called<hipError_t> PoolCalls::create(hipDevice_t device, hipMemPool_t& pool) noexcept {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  return {driver().MemPoolCreate(&pool, &properties), "hipMemPoolCreate"};
}

Called<hipError_t> PoolCalls::destroy(hipMemPool_t pool) noexcept {
  return {driver().MemPoolDestroy(pool), "hipMemPoolDestroy"};
}

Called<hipError_t> PoolCalls::set_up(hipMemPool_t pool, std::uint64_t kept) noexcept {
  hipError_t result = driver().MemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept);
  int no = 0;
  if (result == hipSuccess) {
    result = driver().MemPoolSetAttribute(pool, hipMemPoolReuseAllowInternalDependencies, &no);
  }
  return {result, "hipMemPoolSetAttribute"};
}

Called<hipError_t> PoolCalls::set_access(hipMemPool_t pool, const hipMemAccessDesc* access,
                                         std::size_t count) noexcept {
  return {driver().MemPoolSetAccess(pool, access, count), "hipMemPoolSetAccess"};
}

bool PoolCalls::figures(hipMemPool_t pool, std::uint64_t& reserved, std::uint64_t& used) noexcept {
  return driver().MemPoolGetAttribute &&
         driver().MemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &reserved) == hipSuccess &&
         driver().MemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used) == hipSuccess;
}

void PoolCalls::trim(hipMemPool_t pool) noexcept { ignore(driver().MemPoolTrimTo(pool, 0)); }

Memory::Memory(DeviceBase& device, Sharing& sharing)
    : device_(device),
      has_pools_(driver_has_pools() && device.attribute(hipDeviceAttributeMemoryPoolsSupported) != 0),
      has_managed_(driver().MallocManaged && device.attribute(hipDeviceAttributeManagedMemory) != 0),
      pool_(device, sharing) {}

// ---- Aligned addresses ---------------------------------------------------------------------------------------------

template <class Allocate, class Release>
hipError_t Memory::aligned(void*& address, std::uint64_t bytes, Allocate&& allocate, Release&& release) {
  if (!pads_.load(std::memory_order_relaxed)) {
    const hipError_t result = allocate(address, bytes);
    if (result != hipSuccess || to_handle(address) % alignment == 0) return result;
    release(address);
    pads_.store(true, std::memory_order_relaxed);
  }
  if (bytes > UINT64_MAX - alignment) return hipErrorOutOfMemory;
  void* original = nullptr;
  const hipError_t result = allocate(original, bytes + alignment);
  if (result != hipSuccess) return result;
  const anyplace_address given = (to_handle(original) + alignment - 1) / alignment * alignment;
  if (given != to_handle(original)) {
    try {
      const std::lock_guard lock(mutex_);
      originals_[given] = original;
    } catch (...) {
      release(original);
      throw;
    }
  }
  address = from_handle<void>(given);
  return hipSuccess;
}

Memory::Originals::node_type Memory::take_original(anyplace_address address) noexcept {
  if (!pads_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  return originals_.extract(address);
}

// ---- The pool ------------------------------------------------------------------------------------------------------

bool Memory::try_pools() {
  if (!has_pools() || pool_.is_made()) return has_pools();
  // A failure here belongs to this device, whichever device is current.
  const ContextScope scope(device_.id());
  device_.check(scope.result(), "hipSetDevice");
  hipMemPool_t pool = nullptr;
  hipError_t result = PoolCalls::create(device_.id(), pool).result;
  if (result == hipSuccess) {
    std::uint64_t kept = 0;
    result = driver().MemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept);
    const hipError_t destroyed = driver().MemPoolDestroy(pool);
    if (result == hipSuccess) result = destroyed;
  }
  if (is_unimplemented(result)) {
    has_pools_.store(false, std::memory_order_relaxed);
  } else {
    device_.check(result, "hipMemPoolCreate");
  }
  return has_pools();
}

hipError_t Memory::allocate_from_pool(void*& address, std::uint64_t bytes, hipStream_t stream) {
  return pool_.allocate_from(
      [&](hipMemPool_t pool) { return driver().MallocFromPoolAsync(&address, bytes, pool, stream); });
}

hipError_t Memory::allocate_device(void*& address, std::uint64_t bytes, const char*& call) {
  if (has_pools()) {
    call = "hipMallocFromPoolAsync";
    hipError_t result = allocate_from_pool(address, bytes, device_.internal_stream());
    if (result == hipSuccess) {
      call = "hipStreamSynchronize";
      result = driver().StreamSynchronize(device_.internal_stream());
    }
    if (!is_unimplemented(result)) return result;
    has_pools_.store(false, std::memory_order_relaxed);
  }
  call = "hipMalloc";
  return driver().Malloc(&address, bytes);
}

// ---- Allocating and freeing ----------------------------------------------------------------------------------------

anyplace_address Memory::allocate(std::uint32_t kind, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  void* address = nullptr;
  const auto release = [](void* memory) { ignore(driver().Free(memory)); };
  switch (kind) {
    case ANYPLACE_MEMORY_DEVICE: {
      const char* call = "";
      const auto allocate = [&](void*& memory, std::uint64_t size) { return allocate_device(memory, size, call); };
      const hipError_t result = aligned(address, bytes, allocate, release);
      device_.check(result, call);
      return to_handle(address);
    }
    case ANYPLACE_MEMORY_SHAREABLE: {  // memory of a pool has no handle for other processes
      const auto allocate = [](void*& memory, std::uint64_t size) { return driver().Malloc(&memory, size); };
      device_.check(aligned(address, bytes, allocate, release), "hipMalloc");
      return to_handle(address);
    }
    case ANYPLACE_MEMORY_PINNED: {
      void* host = nullptr;
      device_.check(driver().HostMalloc(&host, bytes, hipHostMallocPortable), "hipHostMalloc");
      return to_handle(host);
    }
    case ANYPLACE_MEMORY_MANAGED: {
      if (!has_managed()) backend::refuse_memory_kind("HIP", kind);
      const auto allocate = [](void*& memory, std::uint64_t size) {
        return driver().MallocManaged(&memory, size, hipMemAttachGlobal);
      };
      device_.check(aligned(address, bytes, allocate, release), "hipMallocManaged");
      return to_handle(address);
    }
    default:
      backend::refuse_memory_kind("HIP", kind);
  }
}

void Memory::free(std::uint32_t kind, anyplace_address address) {
  const EndScope scope(device_);
  if (kind == ANYPLACE_MEMORY_PINNED) {
    scope.end("hipHostFree", [&] { return driver().HostFree(from_handle<void>(address)); });
  } else {
    const Originals::node_type original = take_original(address);
    scope.end("hipFree", [&] { return driver().Free(original ? original.mapped() : from_handle<void>(address)); });
  }
}

anyplace_address Memory::allocate_async(hipStream_t stream, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  if (!has_pools()) return allocate(ANYPLACE_MEMORY_DEVICE, bytes);
  void* address = nullptr;
  const hipError_t result = aligned(
      address, bytes, [&](void*& memory, std::uint64_t size) { return allocate_from_pool(memory, size, stream); },
      [&](void* memory) { ignore(driver().FreeAsync(memory, stream)); });
  if (!is_unimplemented(result)) {
    device_.check(result, "hipMallocFromPoolAsync");
    return to_handle(address);
  }
  has_pools_.store(false, std::memory_order_relaxed);
  return allocate(ANYPLACE_MEMORY_DEVICE, bytes);
}

void Memory::free_async(hipStream_t stream, anyplace_address address) {
  const EndScope scope(device_);
  Originals::node_type original = take_original(address);
  hipError_t result = hipErrorNotSupported;
  scope.end("hipFreeAsync", [&] {
    void* const memory = original ? original.mapped() : from_handle<void>(address);
    if (has_pools()) result = driver().FreeAsync(memory, stream);
    return is_unimplemented(result) ? hipSuccess : result;
  });
  if (!is_unimplemented(result) || device_.lost()) return;
  has_pools_.store(false, std::memory_order_relaxed);
  if (original) {
    const std::lock_guard lock(mutex_);
    originals_.insert(std::move(original));
  }
  refuse(ANYPLACE_STATUS_UNSUPPORTED,
         "this runtime exports memory pools and hasn't got them: free it without a stream");
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
