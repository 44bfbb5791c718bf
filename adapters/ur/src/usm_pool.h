// SPDX-License-Identifier: Apache-2.0
//
// A pool of USM: memory of each device from a pool of its own, apart from what others allocate; host and shared memory
// as without a pool.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <anyplace/allocator.h>

#include "context.h"
#include "handle.h"

struct ur_usm_pool_handle_t_ : anyplace_ur::HandleBase {
  ur_usm_pool_handle_t_(ur_context_handle_t owner, ur_usm_pool_flags_t wanted, std::size_t most)
      : context(owner), flags(wanted), max_size(most) {}

  /// The pool of a device's memory, made at the first call.
  const anyplace::MemoryPool& on(ur_device_handle_t device);
  /// Bytes of all devices.
  std::uint64_t reserved();
  void release_free();

  void count_in(std::uint64_t bytes) noexcept;
  void count_out(std::uint64_t bytes) noexcept;

  const anyplace_ur::Hold<ur_context_handle_t_> context;
  const ur_usm_pool_flags_t flags;
  const std::size_t max_size;  ///< bytes of each device; 0: no limit
  std::atomic<std::size_t> release_threshold{0};
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> used_high{0};
  std::atomic<std::uint64_t> reserved_high{0};

 private:
  std::mutex mutex_;
  std::map<ur_device_handle_t, anyplace::MemoryPool> pools_;
};
