// SPDX-License-Identifier: Apache-2.0
#include "regions.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "thread_function.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

enum class Step { on, stop, found };

/// Goes all ways behind `from`; whether one comes to a block at which `step` says `found`.
bool any_way(BasicBlock* from, function_ref<Step(BasicBlock*)> step) {
  SmallPtrSet<BasicBlock*, 16> seen;
  SmallVector<BasicBlock*> work(successors(from));
  while (!work.empty()) {
    BasicBlock* const block = work.pop_back_val();
    if (!seen.insert(block).second) continue;
    const Step found = step(block);
    if (found == Step::found) return true;
    if (found == Step::on) append_range(work, successors(block));
  }
  return false;
}

}  // namespace

Regions::Regions(Function& thread) : thread_(thread) {
  entries_.push_back(&thread.getEntryBlock());
  SmallVector<Instruction*> barriers;
  for (Instruction& i : instructions(thread)) {
    if (is_barrier(&i)) barriers.push_back(&i);
  }
  barriers_ = barriers.size();
  for (Instruction* barrier : barriers) {
    cut_before(barrier->getNextNode());
    barrier->eraseFromParent();
  }
  find();
  for (bool again = true; again;) {
    again =
        any_of(list_, [&](const Region& region) { return region.threads_agree && cut_where_threads_agree(region); });
    if (again) find();
  }
}

bool Regions::threads_may_part() const {
  return any_of(list_, [](const Region& region) { return !region.threads_agree; });
}

bool Regions::is_entry(BasicBlock* block) const { return block != entries_[0] && is_contained(entries_, block); }

unsigned Regions::number(BasicBlock* entry) const {
  return static_cast<unsigned>(llvm::find(entries_, entry) - entries_.begin());
}

/// An entry has one predecessor, the block that was cut, and so no merged values.
void Regions::cut_before(Instruction* instruction) {
  entries_.push_back(instruction->getParent()->splitBasicBlock(instruction, "region"));
}

void Regions::find() {
  divergence_ = std::make_unique<Divergence>(thread_);
  list_.clear();
  for (BasicBlock* entry : entries_) list_.push_back(region_from(entry));
  mark_values_of_different_rounds();
  for (Region& region : list_) {
    region.threads_agree = none_of(region.blocks, [&](BasicBlock* block) {
      return succ_size(block) > 1 && divergence_->branch_differs(block) && decides(region, block);
    });
  }
}

/// Threads can meet at one barrier in different rounds of a loop, if those that don't come to it in one round come to
/// it in the next, without another barrier between. What a loop merges in a block that only some threads pass then
/// differs.
void Regions::mark_values_of_different_rounds() {
  for (bool again = true; again;) {
    again = false;
    for (BasicBlock& block : thread_) {
      if (succ_size(&block) > 1 && divergence_->branch_differs(&block)) again |= mark_values_behind(&block);
    }
  }
}

/// Marks what is merged where some threads pass behind `branch` before they meet a barrier, and others don't. Returns
/// whether that was news.
bool Regions::mark_values_behind(BasicBlock* branch) {
  bool marked = false;
  any_way(branch, [&](BasicBlock* block) {
    if (is_entry(block)) return Step::stop;
    const bool merges = any_of(block->phis(), [&](PHINode& phi) { return !divergence_->differs(&phi); });
    if (merges && reaches_barrier(branch, block)) {
      for (PHINode& phi : block->phis()) divergence_->add(&phi);
      marked = true;
    }
    return Step::on;
  });
  return marked;
}

/// Whether a barrier is met behind `from` without coming through `without`.
bool Regions::reaches_barrier(BasicBlock* from, BasicBlock* without) const {
  return any_way(from, [&](BasicBlock* block) {
    return block == without ? Step::stop : is_entry(block) ? Step::found : Step::on;
  });
}

Region Regions::region_from(BasicBlock* entry) const {
  Region region;
  region.entry = entry;
  region.behind_barrier = is_entry(entry) && number(entry) <= barriers_;
  SmallVector<BasicBlock*> work{entry};
  while (!work.empty()) {
    BasicBlock* const block = work.pop_back_val();
    if (!region.blocks.insert(block)) continue;
    if (isa<ReturnInst>(block->getTerminator())) region.next.insert(end_of_kernel);
    for (BasicBlock* successor : successors(block)) {
      if (is_entry(successor)) {
        region.next.insert(number(successor));
      } else {
        work.push_back(successor);
      }
    }
  }
  return region;
}

/// Whether the branch at the end of `branch` decides what follows the region: its ways don't meet before. A way that
/// ends within the region, because the thread throws or aborts, ends the block, so it decides nothing.
bool Regions::decides(const Region& region, BasicBlock* branch) const {
  if (region.next.size() < 2) return false;
  return all_of(region.blocks, [&](BasicBlock* join) { return join == branch || leaves_without(branch, join); });
}

/// Whether a region can be left from `from` without coming through `without`.
bool Regions::leaves_without(BasicBlock* from, BasicBlock* without) const {
  return any_way(from, [&](BasicBlock* block) {
    if (block == without) return Step::stop;
    return is_entry(block) || isa<ReturnInst>(block->getTerminator()) ? Step::found : Step::on;
  });
}

/// Makes a region of each way behind a branch that all threads take alike and that decides what follows.
bool Regions::cut_where_threads_agree(const Region& region) {
  for (BasicBlock* branch : region.blocks) {
    if (succ_size(branch) < 2 || divergence_->branch_differs(branch) || !decides(region, branch)) continue;
    bool cut = false;
    for (BasicBlock* way : SmallVector<BasicBlock*>(successors(branch))) {
      if (is_entry(way)) continue;
      auto* const jump = dyn_cast<BranchInst>(&*way->getFirstInsertionPt());
      if (jump != nullptr && jump->isUnconditional() && is_entry(jump->getSuccessor(0))) continue;  // is cut already
      if (way->isEHPad()) continue;
      cut_before(&*way->getFirstInsertionPt());
      cut = true;
    }
    if (cut) return true;
  }
  return false;
}

}  // namespace anyplace::clang_loops
