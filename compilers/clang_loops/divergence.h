// SPDX-License-Identifier: Apache-2.0
//
// Which values differ between the threads of a block, and which branches they don't all take alike. The answer errs on
// one side alone: what is called uniform is the same for all threads that compute it.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

namespace anyplace::clang_loops {

class Divergence {
 public:
  explicit Divergence(llvm::Function& thread);

  bool differs(const llvm::Value* value) const { return differs_.count(value) != 0; }
  /// Says that `value` differs for a reason of its own, and whatever follows from it.
  void add(llvm::Value* value);
  bool branch_differs(const llvm::BasicBlock* block) const { return differs(block->getTerminator()); }

 private:
  void mark(llvm::Value* value);
  void propagate();
  void mark_joins(llvm::BasicBlock* branch);
  void mark_values_that_leave_loops(llvm::BasicBlock* branch, llvm::BasicBlock* join);

  llvm::PostDominatorTree post_dominators_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::DenseSet<const llvm::Value*> differs_;
  llvm::SmallVector<llvm::Value*> work_;  // values that differ, of which nothing has been concluded yet
};

}  // namespace anyplace::clang_loops
