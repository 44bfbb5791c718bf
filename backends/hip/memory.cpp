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

hipMemPoolProps pool_properties(hipDevice_t device) noexcept {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  return properties;
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
  if (!has_pools() || pool_.load(std::memory_order_acquire) != nullptr) return has_pools();
  // What fails here is this device's affair, whichever is current.
  const ContextScope scope(device_.id());
  device_.check(scope.result(), "hipSetDevice");
  hipMemPool_t pool = nullptr;
  const hipMemPoolProps properties = pool_properties(device_.id());
  hipError_t result = driver().MemPoolCreate(&pool, &properties);
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

hipMemPool_t Memory::pool() {
  if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) return made;
  return make_pool();
}

hipMemPool_t Memory::make_pool() {
  return device_.sharing().with_readers([this](const std::vector<hipMemAccessDesc>& readers) {
    if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) return made;
    std::size_t total = 0;
    device_.check(driver().DeviceTotalMem(&total, device_.id()), "hipDeviceTotalMem");
    const hipMemPoolProps properties = pool_properties(device_.id());
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

void Memory::trim() noexcept {
  if (hipMemPool_t const made = pool_.load(std::memory_order_acquire)) ignore(driver().MemPoolTrimTo(made, 0));
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
    case ANYPLACE_MEMORY_PINNED: {
      void* host = nullptr;
      device_.check(driver().HostMalloc(&host, bytes, hipHostMallocPortable), "hipHostMalloc");
      return to_handle(host);
    }
    case ANYPLACE_MEMORY_MANAGED: {
      if (!has_managed()) refuse_kind(kind);
      const auto allocate = [](void*& memory, std::uint64_t size) {
        return driver().MallocManaged(&memory, size, hipMemAttachGlobal);
      };
      device_.check(aligned(address, bytes, allocate, release), "hipMallocManaged");
      return to_handle(address);
    }
    default:
      refuse_kind(kind);
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

anyplace_address Memory::allocate_async(const Stream& stream, std::uint64_t bytes) {
  const DeviceScope scope(device_);
  if (!has_pools()) return allocate(ANYPLACE_MEMORY_DEVICE, bytes);
  void* address = nullptr;
  const hipError_t result = aligned(
      address, bytes,
      [&](void*& memory, std::uint64_t size) { return allocate_from_pool(memory, size, stream.native()); },
      [&](void* memory) { ignore(driver().FreeAsync(memory, stream.native())); });
  if (!is_unimplemented(result)) {
    device_.check(result, "hipMallocFromPoolAsync");
    return to_handle(address);
  }
  has_pools_.store(false, std::memory_order_relaxed);
  return allocate(ANYPLACE_MEMORY_DEVICE, bytes);
}

void Memory::free_async(const Stream& stream, anyplace_address address) {
  const EndScope scope(device_);
  Originals::node_type original = take_original(address);
  hipError_t result = hipErrorNotSupported;
  scope.end("hipFreeAsync", [&] {
    void* const memory = original ? original.mapped() : from_handle<void>(address);
    if (has_pools()) result = driver().FreeAsync(memory, stream.native());
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
