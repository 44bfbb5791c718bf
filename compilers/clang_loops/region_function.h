// SPDX-License-Identifier: Apache-2.0
//
// A region as a function of one thread.
#pragma once

#include "live_across.h"

namespace anyplace::clang_loops {

/// Makes a function of region `number`: it takes the arguments of the function of one thread and then, for each slot,
/// the address of the thread's element; for a uniform slot two, where it is read and where it is written, because all
/// threads read what was there before the first one writes. It returns the number of the region that the thread goes on
/// with.
llvm::Function* make_region_function(const Regions& regions, const LiveAcross& live, unsigned number);

}  // namespace anyplace::clang_loops
