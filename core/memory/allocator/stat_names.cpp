// SPDX-License-Identifier: Apache-2.0
//
// The names are the keys of torch.cuda.memory_stats() as its documentation lists them, in the flattened form. Other
// tools look for them, so none is changed, and none is left out because it is 0 here.
#include "memory/allocator/stat_names.h"

#include <array>
#include <string>

namespace anyplace::detail {
namespace {

constexpr std::array<const char*, stat_kinds> kind_names = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes",
};
constexpr std::array<const char*, stat_pools> pool_names = {"all", "large_pool", "small_pool"};

void put(MemoryStats& named, const std::string& prefix, const Stat& stat) {
  named.emplace(prefix + ".current", stat.current);
  named.emplace(prefix + ".peak", stat.peak);
  named.emplace(prefix + ".allocated", stat.allocated);
  named.emplace(prefix + ".freed", stat.freed);
}

}  // namespace

MemoryStats named_stats(const StatTable& table) {
  MemoryStats named;
  for (std::size_t kind = 0; kind < stat_kinds; ++kind) {
    for (std::size_t pool = 0; pool < stat_pools; ++pool) {
      put(named, std::string(kind_names[kind]) + "." + pool_names[pool], table.stats[kind][pool]);
    }
  }
  put(named, "oversize_allocations", table.oversize_allocations);
  put(named, "oversize_segments", table.oversize_segments);
  named.emplace("num_alloc_retries", table.num_alloc_retries);
  named.emplace("num_ooms", table.num_ooms);
  named.emplace("num_sync_all_streams", table.num_sync_all_streams);
  named.emplace("num_device_alloc", table.num_device_alloc);
  named.emplace("num_device_free", table.num_device_free);
  named.emplace("max_split_size", table.max_split_size);
  return named;
}

}  // namespace anyplace::detail
