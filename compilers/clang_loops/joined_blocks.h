// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose blocks can be joined: what a thread does depends on its number in the row of the grid, blockIdx.x *
// blockDim.x + threadIdx.x, and not on where one block ends and the next begins. The threads of several blocks are then
// run as those of one block that is so much longer, and what a block costs beside its threads is paid once for all.
#pragma once

#include "regions.h"
#include "thread_function.h"

namespace anyplace::clang_loops {

/// Whether blocks that are neighbours along x can be run as one. It is so if threads don't wait for each other, share
/// no memory of a block, and read the two positions for nothing but that number. What a kernel does beside reading and
/// writing memory, such as printing, throwing, or atomic operations, keeps the order of blocks.
bool blocks_can_be_joined(const ThreadFunction& thread, const Regions& regions);

}  // namespace anyplace::clang_loops
