// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered memory. An allocation has its address at once and may be used by what its stream does next, or by what
// is ordered behind that; a free takes effect when the stream gets there. A use that isn't ordered so is a fault, and
// noted.
#include <algorithm>
#include <cstring>
#include <utility>

#include "captures.h"

namespace anyplace::doubles {
namespace {

// The attributes of pools; those of reuse are the first three.
constexpr int first_reuse = 1, last_reuse = 3, release_threshold = 4, reserved_now = 5, reserved_high = 6, used_now = 7,
              used_high = 8;

/// The last reference to a destroyed pool goes with its last allocation.
void forget_if_done(const Locked&, const Pool& pool) {
  if (pool.destroyed && pool.used == 0) state().pools.remove(pool.handle);
}

int make_block(const Locked& lock, Pool& pool, uint64_t bytes, Block& model) {
  const uint64_t total = state().memory.device_bytes();
  if (pool.limit != 0 && (bytes > pool.limit || pool.used > pool.limit - bytes)) return code::out_of_memory;
  // New memory is what the pool doesn't keep already.
  const auto lacks = [&] {
    const uint64_t kept = pool.reserved - pool.used;
    return bytes > total || used_memory(lock, pool.device) + (bytes > kept ? bytes - kept : 0) > total;
  };
  if (lacks()) trim_pools(lock);
  if (lacks()) return code::out_of_memory;
  model.kind = MemoryKind::device;
  model.state = MemoryState::pending;
  model.device = pool.device;
  model.pool = pool.handle;
  model.start = state().memory.allocate(model, bytes);
  if (model.start == 0) return code::out_of_memory;
  model = *state().memory.block_of(model.start);
  account(lock, pool, static_cast<int64_t>(bytes));
  return 0;
}

/// In the stream's order: the block is gone. Something that still runs on it wasn't ordered before the free.
int free_now(const Block& block) {
  const bool unused = state().memory.free(block.start, block.id);
  leave_pool(block);
  if (unused) return 0;
  misuses().add("a stream-ordered free came while something ran on the memory");
  return code::illegal_address;
}

bool is_device(const Access& location) {
  return location.location_type == Access::on_device && check_device(location.device) == 0;
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

void leave_pool(const Block& block) {
  const Locked lock(state().mutex);
  const PoolRef pool = state().pools.find(block.pool);
  if (pool == nullptr) return;
  account(lock, *pool, -static_cast<int64_t>(block.bytes));
  forget_if_done(lock, *pool);
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

/// For the doubles of management libraries: -1 where this process has no context of the physical device, else the bytes
/// of its memory that are in use.
extern "C" __attribute__((visibility("default"))) int64_t anyplace_double_use_of_device(int physical) {
  if (phase() != Phase::ready) return -1;
  const std::vector<int>& visible = settings().visible;
  const auto at = std::find(visible.begin(), visible.end(), physical);
  if (at == visible.end()) return -1;
  const auto device = static_cast<int>(at - visible.begin());
  const Locked lock(state().mutex);
  const auto contexts = state().contexts.all();
  const bool uses = std::any_of(contexts.begin(), contexts.end(), [device](const auto& each) {
    return each.second->device == device && each.second->alive;
  });
  const uint64_t used = used_memory(lock, device);
  return uses || used != 0 ? static_cast<int64_t>(used) : -1;
}

int find_pool(const Locked&, uint64_t handle, PoolRef& pool) {
  pool = state().pools.find(handle);
  return pool == nullptr || pool->destroyed ? code::invalid_value : 0;
}

int allocate_async(WordOut address, size_t bytes, Word pool_handle, Word stream) {
  if (address.is_null() || bytes == 0) return code::invalid_value;
  if (!state().settings.pools) return code::not_supported;
  StreamRef found;
  int result = resolve_stream(stream, found);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  if (const int refused = refuse_captured(lock, *found); refused != 0)
    return refused;  // graphs have no such nodes here
  PoolRef pool = state().device(found->context->device).pool;
  if (pool_handle != 0) result = find_pool(lock, pool_handle, pool);
  Block block;
  if (result == 0) result = make_block(lock, *pool, bytes, block);
  if (result != 0) return result;
  Operation operation;
  operation.run = [start = block.start, id = block.id] {
    state().memory.set_state(start, id, MemoryState::live);
    return 0;
  };
  submit(lock, found, std::move(operation));
  address.write(block.start);
  return 0;
}

int free_async(Word address, Word stream) {
  StreamRef found;
  const int result = resolve_stream(stream, found);
  const auto block = state().memory.block_at(address);
  const bool freeable = block && block->kind == MemoryKind::device && block->state != MemoryState::free_queued;
  if (!freeable) {
    if (address != 0) misused("of what is no allocation, or no longer");
    return code::invalid_value;
  }
  if (result != 0) {
    // The context has failed: its streams do nothing more, but the memory is given back.
    if (result != vendor.unknown_stream && result != code::invalid_context) {
      state().memory.free(block->start, block->id, true);
      leave_pool(*block);
    }
    return result;
  }
  const Locked lock(state().mutex);
  if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
  const bool pending_allocation = block->state == MemoryState::pending;
  // What is submitted from here on may not use it; what was submitted before may.
  if (!pending_allocation) state().memory.set_state(block->start, block->id, MemoryState::free_queued);
  Operation operation;
  operation.run = [block = *block] { return free_now(block); };
  operation.run_failed = [block = *block](int) { free_now(block); };
  submit(lock, found, std::move(operation));
  return 0;
}

int create_pool(WordOut pool, int allocation_type, const Access& location, bool shared, uint64_t limit) {
  constexpr int pinned = 1;
  if (!state().settings.pools) return code::not_supported;
  if (allocation_type != pinned || !is_device(location)) return code::invalid_value;
  if (shared) return code::not_supported;
  auto made = std::make_shared<Pool>();
  made->device = location.device;
  made->limit = limit;
  const Locked lock(state().mutex);
  made->handle = state().pools.add(made);
  pool.write(made->handle);
  return 0;
}

int destroy_pool(Word pool) {
  const Locked lock(state().mutex);
  PoolRef found;
  const int result = find_pool(lock, pool, found);
  if (result != 0 || found->is_default) {
    misused("of what is no pool of the caller's, or no longer");
    return code::invalid_value;
  }
  // What is allocated from it stays, and the pool with it.
  found->destroyed = true;
  DeviceState& device = state().device(found->device);
  if (device.pool == found) device.pool = device.default_pool;
  forget_if_done(lock, *found);
  return 0;
}

int set_pool_attribute(Word pool, int attribute, const void* value) {
  if (value == nullptr) return code::invalid_value;
  const Locked lock(state().mutex);
  PoolRef found;
  const int result = find_pool(lock, pool, found);
  if (result != 0) return result;
  if (attribute >= first_reuse && attribute <= last_reuse) {
    found->reuse[static_cast<std::size_t>(attribute - first_reuse)] = get<int>(value);
    return 0;
  }
  switch (attribute) {
    case release_threshold:
      found->threshold = get<uint64_t>(value);
      return 0;
    case reserved_high:
      if (get<uint64_t>(value) != 0) return code::invalid_value;
      found->reserved_high = found->reserved;
      return 0;
    case used_high:
      if (get<uint64_t>(value) != 0) return code::invalid_value;
      found->used_high = found->used;
      return 0;
    default:
      return code::invalid_value;
  }
}

int get_pool_attribute(Word pool, int attribute, void* value) {
  if (value == nullptr) return code::invalid_value;
  const Locked lock(state().mutex);
  PoolRef found;
  const int result = find_pool(lock, pool, found);
  if (result != 0) return result;
  if (attribute >= first_reuse && attribute <= last_reuse) {
    put(value, found->reuse[static_cast<std::size_t>(attribute - first_reuse)]);
    return 0;
  }
  switch (attribute) {
    case release_threshold:
      put(value, found->threshold);
      return 0;
    case reserved_now:
      put(value, found->reserved);
      return 0;
    case reserved_high:
      put(value, found->reserved_high);
      return 0;
    case used_now:
      put(value, found->used);
      return 0;
    case used_high:
      put(value, found->used_high);
      return 0;
    default:
      return code::invalid_value;
  }
}

int trim_pool(Word pool, size_t keep) {
  const Locked lock(state().mutex);
  PoolRef found;
  const int result = find_pool(lock, pool, found);
  if (result == 0) found->reserved = std::max<uint64_t>(found->used, std::min<uint64_t>(found->reserved, keep));
  return result;
}

int set_pool_access(Word pool, const std::vector<Access>& accesses) {
  if (accesses.empty()) return code::invalid_value;
  const Locked lock(state().mutex);
  PoolRef found;
  const int result = find_pool(lock, pool, found);
  if (result != 0) return result;
  std::set<int> after = found->access;
  for (const Access& access : accesses) {
    if (!is_device(access)) return code::invalid_value;
    const bool own = access.device == found->device;
    if (own && access.flags != Access::read_write) return code::invalid_value;  // that can't be taken back
    if (!own && !state().settings.peers) return code::invalid_device;
    if (access.flags == Access::none) {
      after.erase(access.device);
    } else {
      after.insert(access.device);
    }
  }
  found->access = std::move(after);
  return 0;
}

}  // namespace anyplace::doubles
