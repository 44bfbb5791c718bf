// SPDX-License-Identifier: Apache-2.0
//
// USM: device memory is a Buffer, shared memory a managed one, host memory a HostBuffer. All are made on the device's
// service stream, which has no work of its own.
#include <bit>
#include <optional>

#include <anyplace/allocator.h>
#include <anyplace/error.h>
#include <anyplace/stream.h>

#include "allocations.h"
#include "entries.h"
#include "info.h"

namespace anyplace_ur {

namespace {

struct Wish {
  ur_usm_type_t type;
  ur_context_handle_t context;
  ur_device_handle_t device;  ///< null for host memory
  const ur_usm_desc_t* description;
  ur_usm_pool_handle_t pool;
  std::size_t size;
};

std::uint64_t alignment_of(const Wish& wish) {
  const std::uint64_t alignment = wish.description == nullptr ? 0 : wish.description->align;
  require(alignment == 0 || std::has_single_bit(alignment), UR_RESULT_ERROR_INVALID_VALUE,
          "an alignment is a power of two");
  return alignment;
}

/// The device whose service stream an allocation is made on; for host memory, the one it is pinned for.
ur_device_handle_t home_of(const Wish& wish) {
  return wish.device == nullptr ? wish.context->devices.front() : wish.device;
}

/// Fills in the memory of at least `size` bytes, and returns where it begins.
std::uint64_t allocate_raw(const Wish& wish, std::uint64_t size, Allocation& allocation) {
  const ur_device_handle_t home = home_of(wish);
  std::optional<anyplace::MemoryPoolGuard> guard;
  switch (wish.type) {
    case UR_USM_TYPE_HOST:
      allocation.host = anyplace::HostBuffer(home->device, size);
      return reinterpret_cast<std::uintptr_t>(allocation.host.data());
    case UR_USM_TYPE_SHARED:
      allocation.buffer = anyplace::Buffer(home->service(), size, {.kind = anyplace::MemoryKind::managed});
      return reinterpret_cast<std::uintptr_t>(allocation.buffer.host_data());
    default:
      if (wish.pool != nullptr) guard.emplace(wish.pool->on(home));
      allocation.buffer = anyplace::Buffer(home->service(), size);
      return allocation.buffer.address();
  }
}

/// Where an allocation's own alignment isn't enough, it is made larger by the alignment.
std::uint64_t allocate_aligned(const Wish& wish, std::uint64_t alignment, Allocation& allocation) {
  const std::uint64_t begin = allocate_raw(wish, wish.size, allocation);
  if (alignment <= 1 || begin % alignment == 0) return begin;
  require(wish.size + alignment > wish.size, UR_RESULT_ERROR_INVALID_USM_SIZE, "size and alignment are too large");
  const std::uint64_t larger = allocate_raw(wish, wish.size + alignment, allocation);
  return (larger + alignment - 1) / alignment * alignment;
}

void clear(const Wish& wish, std::uint64_t base) {
  const anyplace::StreamView service = home_of(wish)->service();
  const std::uint8_t zero = 0;
  service.fill(anyplace::Address(base), &zero, sizeof(zero), wish.size);
  service.synchronize();
}

void* allocate(const Wish& wish) {
  require(wish.size != 0, UR_RESULT_ERROR_INVALID_USM_SIZE, "an allocation has at least one byte");
  Allocation allocation;
  const std::uint64_t base = allocate_aligned(wish, alignment_of(wish), allocation);
  allocation.info = {wish.type, wish.context, wish.device, base, wish.size, wish.pool};
  allocation.context = Hold<ur_context_handle_t_>(wish.context);
  allocation.pool = Hold<ur_usm_pool_handle_t_>(wish.pool);
  if (wish.pool != nullptr) {
    if ((wish.pool->flags & UR_USM_POOL_FLAG_ZERO_INITIALIZE_BLOCK) != 0) clear(wish, base);
    wish.pool->count_in(wish.size);
  }
  allocations().add(std::move(allocation));
  return reinterpret_cast<void*>(base);
}

ur_result_t allocate_for(const char* entry, const Wish& wish, bool needs_device, void** memory) {
  return guarded(entry, [&] {
    require_handle(wish.context);
    if (needs_device) {
      require_handle(wish.device);
      require(wish.context->has(wish.device), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the context's");
    }
    require_pointer(memory);
    *memory = allocate(wish);
  });
}

/// Returns when no command uses the memory any more, as cudaFree does: which commands do isn't known, since kernels get
/// addresses, and queues may be gone before their work is done.
void wait_for_users(const AllocationInfo& info) {
  const std::vector<ur_device_handle_t> devices =
      info.device == nullptr ? info.context->devices : std::vector<ur_device_handle_t>{info.device};
  for (const ur_device_handle_t device : devices) {
    try {
      device->device.synchronize();
    } catch (const anyplace::Error&) {
      // A lost device does nothing any more. Its memory goes all the same.
    }
  }
}

}  // namespace

ur_result_t urUSMHostAlloc(ur_context_handle_t context, const ur_usm_desc_t* description, ur_usm_pool_handle_t pool,
                           size_t size, void** memory) {
  return allocate_for("urUSMHostAlloc", {UR_USM_TYPE_HOST, context, nullptr, description, pool, size}, false, memory);
}

ur_result_t urUSMDeviceAlloc(ur_context_handle_t context, ur_device_handle_t device, const ur_usm_desc_t* description,
                             ur_usm_pool_handle_t pool, size_t size, void** memory) {
  return allocate_for("urUSMDeviceAlloc", {UR_USM_TYPE_DEVICE, context, device, description, pool, size}, true, memory);
}

ur_result_t urUSMSharedAlloc(ur_context_handle_t context, ur_device_handle_t device, const ur_usm_desc_t* description,
                             ur_usm_pool_handle_t pool, size_t size, void** memory) {
  return allocate_for("urUSMSharedAlloc", {UR_USM_TYPE_SHARED, context, device, description, pool, size}, true, memory);
}

ur_result_t urUSMFree(ur_context_handle_t context, void* memory) {
  return guarded("urUSMFree", [&] {
    require_handle(context);
    require_pointer(memory);
    const std::optional<Allocation> allocation = allocations().take(reinterpret_cast<std::uintptr_t>(memory));
    require(allocation.has_value(), UR_RESULT_ERROR_INVALID_MEM_OBJECT, "no allocation begins at this address");
    wait_for_users(allocation->info);
    if (allocation->pool) allocation->pool->count_out(allocation->info.size);
  });
}

ur_result_t urUSMGetMemAllocInfo(ur_context_handle_t context, const void* memory, ur_usm_alloc_info_t name, size_t size,
                                 void* value, size_t* size_needed) {
  return guarded("urUSMGetMemAllocInfo", [&] {
    require_handle(context);
    require_pointer(memory);
    const InfoWriter write(size, value, size_needed);
    const AllocationInfo info = allocations().find(reinterpret_cast<std::uintptr_t>(memory)).value_or(AllocationInfo());
    switch (name) {
      case UR_USM_ALLOC_INFO_TYPE:
        return write(info.type);
      case UR_USM_ALLOC_INFO_BASE_PTR:
        return write(reinterpret_cast<void*>(info.base));
      case UR_USM_ALLOC_INFO_SIZE:
        return write(static_cast<size_t>(info.size));
      case UR_USM_ALLOC_INFO_DEVICE:
        return write(info.device);
      case UR_USM_ALLOC_INFO_POOL:
        require(info.pool != nullptr, UR_RESULT_ERROR_INVALID_VALUE, "the memory isn't of a pool");
        return write(info.pool);
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of an allocation");
    }
  });
}

}  // namespace anyplace_ur
