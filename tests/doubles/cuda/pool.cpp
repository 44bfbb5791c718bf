// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered memory. An allocation has its address at once and may be used by what its stream does next, or by what
// is ordered behind that; a free takes effect when the stream gets there. A use that isn't ordered so is a fault, and
// noted.
#include <algorithm>
#include <cstring>
#include <utility>

#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

using PoolTable = Table<CUmemoryPool, Pool, HandleKind::kPool>;

CUresult find_pool(const Locked&, CUmemoryPool handle, PoolRef& pool) {
  pool = state().pools.find(handle);
  return pool == nullptr || pool->destroyed ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// The last reference to a destroyed pool goes with its last allocation.
void forget_if_done(const Locked&, const Pool& pool) {
  if (pool.destroyed && pool.used == 0) state().pools.remove(pool.handle);
}

CUresult make_block(const Locked& lock, Pool& pool, uint64_t bytes, Block& model) {
  const uint64_t total = state().memory.device_bytes();
  if (pool.limit != 0 && (bytes > pool.limit || pool.used > pool.limit - bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  // New memory is what the pool doesn't keep already.
  const auto lacks = [&] {
    const uint64_t kept = pool.reserved - pool.used;
    return bytes > total || used_memory(lock, pool.device) + (bytes > kept ? bytes - kept : 0) > total;
  };
  if (lacks()) trim_pools(lock);
  if (lacks()) return CUDA_ERROR_OUT_OF_MEMORY;
  model.kind = MemoryKind::kDevice;
  model.state = MemoryState::kPending;
  model.device = pool.device;
  model.pool = PoolTable::to_value(pool.handle);
  model.start = state().memory.allocate(model, bytes);
  if (model.start == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  model = *state().memory.block_of(model.start);
  account(lock, pool, static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}

/// `handle` null: the pool that is current to the stream's device.
CUresult allocate(CUdeviceptr* address, size_t bytes, CUmemoryPool handle, CUstream stream_handle) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!state().config.pools) return CUDA_ERROR_NOT_SUPPORTED;
  StreamRef stream;
  CUresult result = resolve_stream(stream_handle, stream);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  PoolRef pool = state().devices[static_cast<std::size_t>(stream->context->device)].pool;
  if (handle != nullptr) result = find_pool(lock, handle, pool);
  Block block;
  if (result == CUDA_SUCCESS) result = make_block(lock, *pool, bytes, block);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.run = [start = block.start, id = block.id] {
    state().memory.set_state(start, id, MemoryState::kLive);
    return 0;
  };
  submit(lock, stream, std::move(operation));
  *address = block.start;
  return CUDA_SUCCESS;
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
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

bool device_of(const CUmemLocation& location, int& device) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || check_device(location.id) != CUDA_SUCCESS) return false;
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

CUDA_DOUBLE_ENTRY(cuMemAllocAsync)(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate(address, bytes, nullptr, stream);
}

CUDA_DOUBLE_ENTRY(cuMemAllocFromPoolAsync)(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate(address, bytes, pool, stream);
}

CUDA_DOUBLE_ENTRY(cuMemFreeAsync)(CUdeviceptr address, CUstream stream) {
  StreamRef found;
  CUresult result = resolve_stream(stream, found);
  const auto block = state().memory.block_at(address);
  const bool freeable = block && block->kind == MemoryKind::kDevice && block->state != MemoryState::kFreeQueued;
  if (!freeable) {
    if (address != 0) misuses().add("cuMemFreeAsync of what is no allocation, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (result != CUDA_SUCCESS) {
    // The context has failed: its streams do nothing more, but the memory is given back.
    if (result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_INVALID_CONTEXT) {
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
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetDefaultMemPool)(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (!state().config.pools) return CUDA_ERROR_NOT_SUPPORTED;
  const Locked lock(state().mutex);
  *pool = state().devices[static_cast<std::size_t>(device)].default_pool->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetMemPool)(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (!state().config.pools) return CUDA_ERROR_NOT_SUPPORTED;
  const Locked lock(state().mutex);
  *pool = state().devices[static_cast<std::size_t>(device)].pool->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceSetMemPool)(CUdevice device, CUmemoryPool pool) {
  CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  PoolRef found;
  result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS || found->device != device) return CUDA_ERROR_INVALID_VALUE;
  state().devices[static_cast<std::size_t>(device)].pool = found;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemPoolCreate)(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (is_null(pool, properties)) return CUDA_ERROR_INVALID_VALUE;
  if (!state().config.pools) return CUDA_ERROR_NOT_SUPPORTED;
  int device = 0;
  const bool valid = properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED && device_of(properties->location, device);
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  auto made = std::make_shared<Pool>();
  made->device = device;
#if CUDA_VERSION >= 12020
  made->limit = properties->maxSize;
#endif
  const Locked lock(state().mutex);
  made->handle = state().pools.add(made);
  *pool = made->handle;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemPoolDestroy)(CUmemoryPool pool) {
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS || found->is_default) {
    misuses().add("cuMemPoolDestroy of what is no pool of the caller's, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  // What is allocated from it stays, and the pool with it.
  found->destroyed = true;
  DeviceState& device = state().devices[static_cast<std::size_t>(found->device)];
  if (device.pool == found) device.pool = device.default_pool;
  forget_if_done(lock, *found);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemPoolSetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS) return result;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      found->reuse[static_cast<std::size_t>(attribute) - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
          get<int>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      found->threshold = get<cuuint64_t>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (get<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      found->reserved_high = found->reserved;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (get<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      found->used_high = found->used;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_DOUBLE_ENTRY(cuMemPoolGetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS) return result;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      put(value, found->reuse[static_cast<std::size_t>(attribute) - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      put<cuuint64_t>(value, found->threshold);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      put<cuuint64_t>(value, found->reserved);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      put<cuuint64_t>(value, found->reserved_high);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      put<cuuint64_t>(value, found->used);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      put<cuuint64_t>(value, found->used_high);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_DOUBLE_ENTRY(cuMemPoolTrimTo)(CUmemoryPool pool, size_t keep) {
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result == CUDA_SUCCESS)
    found->reserved = std::max<uint64_t>(found->used, std::min<uint64_t>(found->reserved, keep));
  return result;
}

CUDA_DOUBLE_ENTRY(cuMemPoolSetAccess)(CUmemoryPool pool, const CUmemAccessDesc* accesses, size_t count) {
  if (accesses == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS) return result;
  std::set<int> after = found->access;
  for (size_t i = 0; i < count; ++i) {
    int device = 0;
    if (!device_of(accesses[i].location, device)) return CUDA_ERROR_INVALID_VALUE;
    if (device == found->device && accesses[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;  // its own device's access can't be taken back
    }
    if (device != found->device && !state().config.peers) return CUDA_ERROR_INVALID_DEVICE;
    if (accesses[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      after.erase(device);
    } else {
      after.insert(device);
    }
  }
  found->access = std::move(after);
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuMemPoolGetAccess)(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  int device = 0;
  if (is_null(flags, location) || !device_of(*location, device)) return CUDA_ERROR_INVALID_VALUE;
  const Locked lock(state().mutex);
  PoolRef found;
  const CUresult result = find_pool(lock, pool, found);
  if (result != CUDA_SUCCESS) return result;
  const bool access = device == found->device || found->access.count(device) != 0;
  *flags = access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
