// SPDX-License-Identifier: Apache-2.0
// The names of the books' figures: torch.cuda.memory_stats()'s, all 122.
#pragma once

#include "anyplace/memory_stats.h"
#include "books.h"

namespace anyplace::detail {

/// Every figure by its name ("allocated_bytes.all.peak").
MemoryStats named_stats(const StatTable& table);

}  // namespace anyplace::detail
