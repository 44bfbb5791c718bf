// SPDX-License-Identifier: Apache-2.0
//
// Allocations: the USM that is handed out, found again by any address within.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

#include <anyplace/memory.h>

#include "context.h"
#include "usm_pool.h"

namespace anyplace_ur {

/// What is known of an allocation without owning it.
struct AllocationInfo {
  ur_usm_type_t type = UR_USM_TYPE_UNKNOWN;
  ur_context_handle_t context = nullptr;
  ur_device_handle_t device = nullptr;  ///< null for memory of the host
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  ur_usm_pool_handle_t pool = nullptr;
};

/// An allocation with what owns its memory; one of the three.
struct Allocation {
  AllocationInfo info;
  anyplace::Buffer buffer;
  anyplace::HostBuffer host;
  anyplace::HostRegistration registration;
  Hold<ur_context_handle_t_> context;
  Hold<ur_usm_pool_handle_t_> pool;
};

class Allocations {
 public:
  void add(Allocation allocation);
  /// Takes out the one that begins at `base`; nothing if none does.
  std::optional<Allocation> take(std::uint64_t base);
  /// The one that `address` is in.
  std::optional<AllocationInfo> find(std::uint64_t address) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Allocation> by_base_;
};

/// Of the whole process: an address is of one allocation, whichever context made it.
Allocations& allocations();

}  // namespace anyplace_ur
