// SPDX-License-Identifier: Apache-2.0
//
// Followed: the keys of torch.cuda.memory_stats() as its documentation lists them, in the flattened form. A name is
// what another tool looks for, so none is changed, and none is left out because it is 0 here.
#include "stat_names.h"

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
  named[prefix + ".current"] = stat.current;
  named[prefix + ".peak"] = stat.peak;
  named[prefix + ".allocated"] = stat.allocated;
  named[prefix + ".freed"] = stat.freed;
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
  named["num_alloc_retries"] = table.num_alloc_retries;
  named["num_ooms"] = table.num_ooms;
  named["num_sync_all_streams"] = table.num_sync_all_streams;
  named["num_device_alloc"] = table.num_device_alloc;
  named["num_device_free"] = table.num_device_free;
  named["max_split_size"] = table.max_split_size;
  return named;
}

}  // namespace anyplace::detail
