// SPDX-License-Identifier: Apache-2.0
// The names of the allocator statistics, the 122 of torch.cuda.memory_stats().
#pragma once

#include "anyplace/memory_stats.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Every figure by its name, such as "allocated_bytes.all.peak".
MemoryStats named_stats(const StatTable& table);

}  // namespace anyplace::detail
