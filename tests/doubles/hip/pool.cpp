// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered memory. An allocation has its address at once and may be used by what its stream does next, or by what
// is ordered behind that; a free takes effect when the stream gets there. A use that isn't ordered so is a fault, and
// noted.
#include <algorithm>
#include <cstring>
#include <utility>

#include "state.h"

namespace anyplace::doubles::hip {
namespace {

using PoolTable = Table<hipMemPool_t, Pool, HandleKind::kPool>;

hipError_t find_pool(const Locked&, hipMemPool_t handle, PoolRef& pool) {
  pool = state().pools.find(handle);
  return pool == nullptr || pool->destroyed ? hipErrorInvalidValue : hipSuccess;
}

/// The last reference to a destroyed pool goes with its last allocation.
void forget_if_done(const Locked&, const Pool& pool) {
  if (pool.destroyed && pool.used == 0) state().pools.remove(pool.handle);
}

hipError_t make_block(const Locked& lock, Pool& pool, uint64_t bytes, Block& model) {
  const uint64_t total = state().memory.device_bytes();
  // New memory is what the pool doesn't keep already.
  const auto lacks = [&] {
    const uint64_t kept = pool.reserved - pool.used;
    return bytes > total || used_memory(lock, pool.device) + (bytes > kept ? bytes - kept : 0) > total;
  };
  if (lacks()) trim_pools(lock);
  if (lacks()) return hipErrorOutOfMemory;
  model.kind = MemoryKind::kDevice;
  model.state = MemoryState::kPending;
  model.device = pool.device;
  model.pool = PoolTable::to_value(pool.handle);
  model.start = state().memory.allocate(model, bytes);
  if (model.start == 0) return hipErrorOutOfMemory;
  model = *state().memory.block_of(model.start);
  account(lock, pool, static_cast<int64_t>(bytes));
  return hipSuccess;
}

hipError_t allocate(void** memory, size_t bytes, hipMemPool_t handle, hipStream_t stream_handle) {
  if (is_null(memory, handle) || bytes == 0) return hipErrorInvalidValue;
  if (!state().config.pools) return hipErrorNotSupported;
  StreamRef stream;
  hipError_t result = resolve_stream(stream_handle, stream);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  PoolRef pool;
  result = find_pool(lock, handle, pool);
  Block block;
  if (result == hipSuccess) result = make_block(lock, *pool, bytes, block);
  if (result != hipSuccess) return result;
  Operation operation;
  operation.run = [start = block.start, id = block.id] {
    state().memory.set_state(start, id, MemoryState::kLive);
    return 0;
  };
  submit(lock, stream, std::move(operation));
  *memory = to_pointer(block.start);
  return hipSuccess;
}

/// In the stream's order: the block is gone. Something that still runs on it wasn't ordered before the free.
int free_now(const Block& block) {
  const bool unused = state().memory.free(block.start, block.id);
  {
    const Locked lock(state().mutex);
    const PoolRef pool = state().pools.find(PoolTable::to_handle(block.pool));
    if (pool != nullptr) {
      account(lock, *pool, -static_cast<int64_t>(block.bytes));
      forget_if_done(lock, *pool);
    }
  }
  if (unused) return 0;
  misuses().add("a stream-ordered free came while something ran on the memory");
  return hipErrorIllegalAddress;
}

bool device_of(const hipMemLocation& location, int& device) {
  if (location.type != hipMemLocationTypeDevice || check_device(location.id) != hipSuccess) return false;
  device = location.id;
  return true;
}

template <class Value>
void put(void* out, Value value) {
  std::memcpy(out, &value, sizeof(value));
}

template <class Value>
Value get(const void* in) {
  Value value;
  std::memcpy(&value, in, sizeof(value));
  return value;
}

}  // namespace

void account(const Locked&, Pool& pool, int64_t bytes) {
  pool.used = static_cast<uint64_t>(static_cast<int64_t>(pool.used) + bytes);
  pool.reserved = std::max(pool.reserved, pool.used);
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

void trim_pools(const Locked&) {
  for (const auto& [value, pool] : state().pools.all()) {
    pool->reserved = std::max(pool->used, std::min(pool->reserved, pool->threshold));
  }
}

uint64_t used_memory(const Locked&, int device) {
  uint64_t used = state().memory.used(device);
  for (const auto& [value, pool] : state().pools.all()) {
    if (pool->device == device) used += pool->reserved - pool->used;
  }
  return used;
}

HIP_DOUBLE_ENTRY(hipMallocFromPoolAsync)(void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  return allocate(memory, bytes, pool, stream);
}

HIP_DOUBLE_ENTRY(hipFreeAsync)(void* memory, hipStream_t stream) {
  StreamRef found;
  hipError_t result = resolve_stream(stream, found);
  const auto block = state().memory.block_at(to_address(memory));
  const bool freeable = block && block->kind == MemoryKind::kDevice && block->state != MemoryState::kFreeQueued;
  if (!freeable) {
    if (memory != nullptr) misuses().add("hipFreeAsync of what is no allocation, or no longer");
    return hipErrorInvalidValue;
  }
  if (result != hipSuccess) {
    // The device has failed: its streams do nothing more, but the memory is given back.
    if (result != hipErrorContextIsDestroyed) {
      const Locked lock(state().mutex);
      const PoolRef pool = state().pools.find(PoolTable::to_handle(block->pool));
      state().memory.free(block->start, block->id, true);
      if (pool != nullptr) account(lock, *pool, -static_cast<int64_t>(block->bytes));
    }
    return result;
  }
  const Locked lock(state().mutex);
  const bool pending_allocation = block->state == MemoryState::kPending;
  // What is submitted from here on may not use it; what was submitted before may.
  if (!pending_allocation) state().memory.set_state(block->start, block->id, MemoryState::kFreeQueued);
  Operation operation;
  operation.run = [block = *block] { return free_now(block); };
  operation.run_failed = [block = *block](int) { free_now(block); };
  submit(lock, found, std::move(operation));
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemPoolCreate)(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  if (is_null(pool, properties)) return hipErrorInvalidValue;
  if (!state().config.pools) return hipErrorNotSupported;
  int device = 0;
  const bool valid = properties->allocType == hipMemAllocationTypePinned && device_of(properties->location, device);
  if (!valid) return hipErrorInvalidValue;
  if (properties->handleTypes != hipMemHandleTypeNone) return hipErrorNotSupported;
  auto made = std::make_shared<Pool>();
  made->device = device;
  const Locked lock(state().mutex);
  made->handle = state().pools.add(made);
  *pool = made->handle;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemPoolDestroy)(hipMemPool_t pool) {
  const Locked lock(state().mutex);
  PoolRef found;
  const hipError_t result = find_pool(lock, pool, found);
  if (result != hipSuccess) {
    misuses().add("hipMemPoolDestroy of what is no pool of the caller's, or no longer");
    return hipErrorInvalidValue;
  }
  // What is allocated from it stays, and the pool with it.
  found->destroyed = true;
  forget_if_done(lock, *found);
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipMemPoolSetAttribute)(hipMemPool_t pool, int attribute, void* value) {
  if (value == nullptr) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  PoolRef found;
  const hipError_t result = find_pool(lock, pool, found);
  if (result != hipSuccess) return result;
  switch (attribute) {
    case hipMemPoolReuseFollowEventDependencies:
    case hipMemPoolReuseAllowOpportunistic:
    case hipMemPoolReuseAllowInternalDependencies:
      found->reuse[static_cast<std::size_t>(attribute) - hipMemPoolReuseFollowEventDependencies] = get<int>(value);
      return hipSuccess;
    case hipMemPoolAttrReleaseThreshold:
      found->threshold = get<uint64_t>(value);
      return hipSuccess;
    case hipMemPoolAttrReservedMemHigh:
      if (get<uint64_t>(value) != 0) return hipErrorInvalidValue;
      found->reserved_high = found->reserved;
      return hipSuccess;
    case hipMemPoolAttrUsedMemHigh:
      if (get<uint64_t>(value) != 0) return hipErrorInvalidValue;
      found->used_high = found->used;
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

HIP_DOUBLE_ENTRY(hipMemPoolGetAttribute)(hipMemPool_t pool, int attribute, void* value) {
  if (value == nullptr) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  PoolRef found;
  const hipError_t result = find_pool(lock, pool, found);
  if (result != hipSuccess) return result;
  switch (attribute) {
    case hipMemPoolReuseFollowEventDependencies:
    case hipMemPoolReuseAllowOpportunistic:
    case hipMemPoolReuseAllowInternalDependencies:
      put(value, found->reuse[static_cast<std::size_t>(attribute) - hipMemPoolReuseFollowEventDependencies]);
      return hipSuccess;
    case hipMemPoolAttrReleaseThreshold:
      put<uint64_t>(value, found->threshold);
      return hipSuccess;
    case hipMemPoolAttrReservedMemCurrent:
      put<uint64_t>(value, found->reserved);
      return hipSuccess;
    case hipMemPoolAttrReservedMemHigh:
      put<uint64_t>(value, found->reserved_high);
      return hipSuccess;
    case hipMemPoolAttrUsedMemCurrent:
      put<uint64_t>(value, found->used);
      return hipSuccess;
    case hipMemPoolAttrUsedMemHigh:
      put<uint64_t>(value, found->used_high);
      return hipSuccess;
    default:
      return hipErrorInvalidValue;
  }
}

HIP_DOUBLE_ENTRY(hipMemPoolTrimTo)(hipMemPool_t pool, size_t keep) {
  const Locked lock(state().mutex);
  PoolRef found;
  const hipError_t result = find_pool(lock, pool, found);
  if (result == hipSuccess)
    found->reserved = std::max<uint64_t>(found->used, std::min<uint64_t>(found->reserved, keep));
  return result;
}

HIP_DOUBLE_ENTRY(hipMemPoolSetAccess)(hipMemPool_t pool, const hipMemAccessDesc* accesses, size_t count) {
  if (accesses == nullptr || count == 0) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  PoolRef found;
  const hipError_t result = find_pool(lock, pool, found);
  if (result != hipSuccess) return result;
  std::set<int> after = found->access;
  for (size_t i = 0; i < count; ++i) {
    int device = 0;
    if (!device_of(accesses[i].location, device)) return hipErrorInvalidValue;
    if (device == found->device && accesses[i].flags != hipMemAccessFlagsProtReadWrite) {
      return hipErrorInvalidValue;  // its own device's access can't be taken back
    }
    if (device != found->device && !state().config.peers) return hipErrorInvalidDevice;
    if (accesses[i].flags == hipMemAccessFlagsProtNone) {
      after.erase(device);
    } else {
      after.insert(device);
    }
  }
  found->access = std::move(after);
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
