// SPDX-License-Identifier: Apache-2.0
#include "usm_pool.h"

#include <algorithm>

#include "entries.h"
#include "info.h"

const anyplace::MemoryPool& ur_usm_pool_handle_t_::on(ur_device_handle_t device) {
  const std::lock_guard lock(mutex_);
  anyplace::MemoryPool& pool = pools_[device];
  if (!pool) {
    anyplace::MemoryPoolOptions options;
    if (max_size != 0) options.limit_bytes = max_size;
    pool = anyplace::MemoryPool(device->device, options);
  }
  return pool;
}

std::uint64_t ur_usm_pool_handle_t_::reserved() {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [device, pool] : pools_) bytes += pool.reserved_bytes();
  reserved_high = std::max<std::uint64_t>(reserved_high, bytes);
  return bytes;
}

void ur_usm_pool_handle_t_::release_free() {
  const std::lock_guard lock(mutex_);
  for (auto& [device, pool] : pools_) pool.release_free();
}

void ur_usm_pool_handle_t_::count_in(std::uint64_t bytes) noexcept {
  const std::uint64_t now = used.fetch_add(bytes) + bytes;
  std::uint64_t high = used_high.load();
  while (high < now && !used_high.compare_exchange_weak(high, now)) {
  }
}

void ur_usm_pool_handle_t_::count_out(std::uint64_t bytes) noexcept { used.fetch_sub(bytes); }

namespace anyplace_ur {

namespace {

constexpr ur_usm_pool_flags_t known_flags = UR_USM_POOL_FLAG_ZERO_INITIALIZE_BLOCK |
                                            UR_USM_POOL_FLAG_USE_NATIVE_MEMORY_POOL_EXP |
                                            UR_USM_POOL_FLAG_READ_ONLY_EXP;

ur_usm_pool_handle_t make_pool(ur_context_handle_t context, const ur_usm_pool_desc_t& description) {
  require((description.flags & ~known_flags) == 0, UR_RESULT_ERROR_INVALID_ENUMERATION,
          "there is no such flag of a pool");
  // What a description says of poolable sizes is a hint; anyplace's pools decide themselves what they keep.
  return new ur_usm_pool_handle_t_(context, description.flags, 0);
}

void tell(ur_usm_pool_handle_t_& pool, ur_usm_pool_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_USM_POOL_INFO_REFERENCE_COUNT:
      return write(pool.references());
    case UR_USM_POOL_INFO_CONTEXT:
      return write(pool.context.get());
    case UR_USM_POOL_INFO_RELEASE_THRESHOLD_EXP:
      return write(pool.release_threshold.load());
    case UR_USM_POOL_INFO_MAXIMUM_SIZE_EXP:
      return write(pool.max_size);
    case UR_USM_POOL_INFO_RESERVED_CURRENT_EXP:
      return write(static_cast<std::size_t>(pool.reserved()));
    case UR_USM_POOL_INFO_RESERVED_HIGH_EXP:
      pool.reserved();
      return write(static_cast<std::size_t>(pool.reserved_high.load()));
    case UR_USM_POOL_INFO_USED_CURRENT_EXP:
      return write(static_cast<std::size_t>(pool.used.load()));
    case UR_USM_POOL_INFO_USED_HIGH_EXP:
      return write(static_cast<std::size_t>(pool.used_high.load()));
    default:
      throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a pool");
  }
}

}  // namespace

ur_result_t urUSMPoolCreate(ur_context_handle_t context, ur_usm_pool_desc_t* description, ur_usm_pool_handle_t* pool) {
  return guarded("urUSMPoolCreate", [&] {
    require_handle(context);
    require_pointer(description);
    require_pointer(pool);
    *pool = make_pool(context, *description);
  });
}

ur_result_t urUSMPoolRetain(ur_usm_pool_handle_t pool) {
  return guarded("urUSMPoolRetain", [&] {
    require_handle(pool);
    pool->retain();
  });
}

ur_result_t urUSMPoolRelease(ur_usm_pool_handle_t pool) {
  return guarded("urUSMPoolRelease", [&] {
    require_handle(pool);
    release_handle(pool);
  });
}

ur_result_t urUSMPoolGetInfo(ur_usm_pool_handle_t pool, ur_usm_pool_info_t name, size_t size, void* value,
                             size_t* size_needed) {
  return guarded("urUSMPoolGetInfo", [&] {
    require_handle(pool);
    tell(*pool, name, InfoWriter(size, value, size_needed));
  });
}

}  // namespace anyplace_ur
