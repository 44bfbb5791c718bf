// SPDX-License-Identifier: Apache-2.0
#include "divergence.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <map>

#include "thread_function.h"

namespace anyplace::clang_loops {

using namespace llvm;

Divergence::Divergence(Function& thread) : post_dominators_(thread), dominators_(thread), loops_(dominators_) {
  for (unsigned axis : {thread_x, thread_y, thread_z}) mark(thread.getArg(axis));
  for (Instruction& i : instructions(thread)) {
    // What is read may have been written by other threads meanwhile, and a function may do anything.
    const bool reads = i.mayReadFromMemory();
    const auto* const call = dyn_cast<CallBase>(&i);
    if (isa<AllocaInst>(i) || reads || (call != nullptr && !call->doesNotAccessMemory())) mark(&i);
  }
  propagate();
}

void Divergence::add(Value* value) {
  mark(value);
  propagate();
}

void Divergence::propagate() {
  while (!work_.empty()) {
    Value* const value = work_.pop_back_val();
    auto* const branch = dyn_cast<Instruction>(value);  // an invoke is one, too: it returns or throws
    if (branch != nullptr && branch->isTerminator() && branch->getNumSuccessors() > 1) mark_joins(branch->getParent());
    for (User* user : value->users()) mark(user);
  }
}

void Divergence::mark(Value* value) {
  if (differs_.insert(value).second) work_.push_back(value);
}

/// Marks the merged values where ways from two successors of `branch` meet: at its join, and wherever both come before.
void Divergence::mark_joins(BasicBlock* branch) {
  const auto* const node = post_dominators_.getNode(branch);
  BasicBlock* const join = node != nullptr && node->getIDom() != nullptr ? node->getIDom()->getBlock() : nullptr;
  std::map<BasicBlock*, unsigned> reached;
  const SmallPtrSet<BasicBlock*, 4> ways(succ_begin(branch), succ_end(branch));
  for (BasicBlock* way : ways) {
    SmallPtrSet<BasicBlock*, 16> seen;
    SmallVector<BasicBlock*> work{way};
    while (!work.empty()) {
      BasicBlock* const block = work.pop_back_val();
      if (!seen.insert(block).second) continue;
      if (++reached[block] == 2 || block == join) {
        for (PHINode& phi : block->phis()) mark(&phi);
      }
      if (block != join) append_range(work, successors(block));
    }
  }
  mark_values_that_leave_loops(branch, join);
}

/// Threads that leave a loop in different rounds bring different values out of it.
void Divergence::mark_values_that_leave_loops(BasicBlock* branch, BasicBlock* join) {
  for (Loop* loop = loops_.getLoopFor(branch); loop != nullptr && (join == nullptr || !loop->contains(join));
       loop = loop->getParentLoop()) {
    for (BasicBlock* block : loop->blocks()) {
      for (Instruction& i : *block) {
        for (User* user : i.users()) {
          if (!loop->contains(cast<Instruction>(user))) mark(user);
        }
      }
    }
  }
}

}  // namespace anyplace::clang_loops
