// SPDX-License-Identifier: Apache-2.0
//
// MemoryPool and its guard. Both hold the pool, so it ends when nobody can allocate from it any more. Then the
// allocator gives its memory back.
#include <utility>

#include "anyplace/allocator.h"
#include "memory/allocator/device_allocator.h"
#include "memory/current_pool.h"
#include "runtime/call.h"
#include "runtime/service.h"

namespace anyplace {

namespace detail {

struct PoolState {
  DeviceState* device;
  std::uint64_t id;
  ServiceRoom room{"MemoryPool"};  ///< the pool's end may be handed over to the service thread

  PoolState(DeviceState& of, std::uint64_t number) : device(&of), id(number) {}
  PoolState(const PoolState&) = delete;  // it is ended once
  PoolState& operator=(const PoolState&) = delete;
  ~PoolState() {
    if (!backends_callable()) return;
    if (in_callback()) {
      post_release([device = device, id = id] { device->allocator->end_pool(id); });
    } else {
      device->allocator->end_pool(id);
    }
  }
};

constinit thread_local PoolScope* pool_scopes = nullptr;

namespace {

PoolState& state_of(const std::shared_ptr<PoolState>& state, const char* operation) {
  enter(operation);
  if (state == nullptr) {
    fail(ErrorCode::invalid_handle, "", operation, "the memory pool is null\nit was never made, or was moved from");
  }
  return *state;
}

}  // namespace
}  // namespace detail

MemoryPool::MemoryPool(const Device& device, MemoryPoolOptions options) {
  constexpr const char* operation = "MemoryPool";
  detail::enter(operation);
  detail::DeviceState& on = *device.state();
  detail::require_usable(on, operation);
  const std::uint64_t id = on.allocator->make_pool(options.limit_bytes);
  try {
    state_ = std::make_shared<detail::PoolState>(on, id);
  } catch (...) {
    on.allocator->end_pool(id);
    throw;
  }
}

MemoryPool::~MemoryPool() = default;

std::uint64_t MemoryPool::id() const noexcept { return state_ == nullptr ? 0 : state_->id; }

std::uint64_t MemoryPool::reserved_bytes() const {
  detail::PoolState& pool = detail::state_of(state_, "MemoryPool::reserved_bytes");
  return pool.device->allocator->pool_reserved_bytes(pool.id);
}

std::uint64_t MemoryPool::allocated_bytes() const {
  detail::PoolState& pool = detail::state_of(state_, "MemoryPool::allocated_bytes");
  return pool.device->allocator->pool_allocated_bytes(pool.id);
}

void MemoryPool::release_free() {
  detail::PoolState& pool = detail::state_of(state_, "MemoryPool::release_free");
  detail::require_usable(*pool.device, "MemoryPool::release_free");
  pool.device->allocator->release_pool(pool.id);
}

MemoryPoolGuard::MemoryPoolGuard(const MemoryPool& pool) : MemoryPoolGuard(&pool) {}

MemoryPoolGuard::MemoryPoolGuard(const MemoryPool* pool) {
  if (pool == nullptr) return;
  pool_ = pool->state_;
  const detail::PoolState& state = detail::state_of(pool_, "MemoryPoolGuard");
  scope_ = {state.device, state.id, detail::pool_scopes};
  detail::pool_scopes = &scope_;
}

// Guards of one thread may end in any order.
MemoryPoolGuard::~MemoryPoolGuard() {
  for (detail::PoolScope** link = &detail::pool_scopes; *link != nullptr; link = &(*link)->outer) {
    if (*link != &scope_) continue;
    *link = scope_.outer;
    return;
  }
}

}  // namespace anyplace
