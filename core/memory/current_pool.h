// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's pool on a device: the innermost MemoryPoolGuard that it has there. The guards are the list, so a
// thread without one pays a load and a branch.
#pragma once

#include <cstdint>

#include "anyplace/allocator.h"

namespace anyplace::detail {

/// Initial-exec TLS, as call_state (process.h) is.
extern constinit thread_local PoolScope* pool_scopes __attribute__((tls_model("initial-exec")));

/// 0: the common pool.
inline std::uint64_t current_pool(const DeviceState& device) noexcept {
  for (const PoolScope* scope = pool_scopes; scope != nullptr; scope = scope->outer) {
    if (scope->device == &device) return scope->pool;
  }
  return 0;
}

}  // namespace anyplace::detail
