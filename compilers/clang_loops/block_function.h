// SPDX-License-Identifier: Apache-2.0
//
// The function of a block: it runs one region after another, each for all threads in work-item loops.
//
// As long as all threads agree on what follows, they go on together. When they don't, because some have ended or wait
// at different barriers, the block goes on apart: in each round every thread that hasn't ended runs its own next
// region.
#pragma once

#include "live_across.h"
#include "thread_function.h"

namespace anyplace::clang_loops {

/// Makes void(BlockState*, const void* values, uint32_t blocks). The functions of the regions are inlined, or belong to
/// the module. With `joins` it runs so many blocks, the first of which is BlockState's, as one (joined_blocks.h); else
/// it runs that one.
llvm::Function* make_block_function(const ThreadFunction& thread, const Regions& regions, const LiveAcross& live,
                                    bool joins);

/// The same with code of its own for blocks of the size that they mostly have. Kernels that ask for threadIdx.y work on
/// tiles, whose rows have 16 threads: each loop over a row is then a fixed number of vectors, side by side. The others
/// mostly have blocks of 256 threads in one row, whose loops have known lengths. `vector_bits` is the size of the
/// processor's vectors.
llvm::Function* make_block_function_of_usual_size(const ThreadFunction& thread, const Regions& regions,
                                                  const LiveAcross& live, unsigned vector_bits);

}  // namespace anyplace::clang_loops
