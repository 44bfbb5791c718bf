// SPDX-License-Identifier: Apache-2.0
//
// Indices of 32 bits, of which loops over threads are to see that neighbouring threads use neighbouring elements.
#pragma once

#include <llvm/IR/Function.h>

namespace anyplace::clang_loops {

/// Computes what is extended to 64 bits in 64 bits, term by term: `a[row * size + x]` becomes the element `x` of what
/// begins at `row * size`. LLVM reorders the terms of a sum of 32 bits and forgets that it can't overflow, and without
/// that `x + 1` may be an element far away.
void widen_sums(llvm::Function& thread);

}  // namespace anyplace::clang_loops
