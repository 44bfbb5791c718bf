// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's pool on a device: that of its innermost MemoryPoolGuard there. The guards form the list, so a
// thread without one pays only a load and a branch.
#pragma once

#include <cstdint>

#include "anyplace/allocator.h"

namespace anyplace::detail {

/// Its TLS model is initial-exec for the reason that call_state (process.h) gives.
extern constinit thread_local PoolScope* pool_scopes __attribute__((tls_model("initial-exec")));

/// The current pool's number; 0 for the common pool.
inline std::uint64_t current_pool(const DeviceState& device) noexcept {
  for (const PoolScope* scope = pool_scopes; scope != nullptr; scope = scope->outer) {
    if (scope->device == &device) return scope->pool;
  }
  return 0;
}

}  // namespace anyplace::detail
