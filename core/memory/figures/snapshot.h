// SPDX-License-Identifier: Apache-2.0
// Writes what PyTorch's memory viewer reads: the segments, blocks and history of a backend's devices, as a pickle or as
// JSON.
#pragma once

#include <string>
#include <vector>

#include "anyplace/memory_stats.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// The devices belong to one backend, in the order of their numbers; a missing number has no segments and no history.
std::string write_snapshot(const std::vector<Snapshot>& devices, SnapshotFormat format);

}  // namespace anyplace::detail
