// SPDX-License-Identifier: Apache-2.0
//
// Describes a heap for snapshots, and checks it for tests.
#pragma once

#include <vector>

#include "memory/allocator/heap_state.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Appends a segment for each run of backed blocks, by address. Throws std::bad_alloc.
void describe_heap(const HeapState& state, std::vector<SnapshotSegment>& segments);

/// Recounts everything and checks every invariant. Throws std::logic_error that says which one is broken.
void check_heap(const HeapState& state);

}  // namespace anyplace::detail
