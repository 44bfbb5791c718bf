// SPDX-License-Identifier: Apache-2.0
#include "live_across.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

/// Whether a value that `defined` computes can reach `used` from the beginning of the region, so that an earlier
/// region, or an earlier run of this one, computed it.
bool reaches_from_the_entry(const Regions& regions, const Region& region, BasicBlock* defined, BasicBlock* used) {
  if (region.blocks.count(defined) == 0) return true;
  if (defined == used || defined == region.entry) return false;
  SmallPtrSet<BasicBlock*, 16> seen;
  SmallVector<BasicBlock*> work{region.entry};
  while (!work.empty()) {
    BasicBlock* const block = work.pop_back_val();
    if (block == defined || region.blocks.count(block) == 0 || !seen.insert(block).second) continue;
    if (block == used) return true;
    for (BasicBlock* successor : successors(block)) {
      if (!regions.is_entry(successor)) work.push_back(successor);
    }
  }
  return false;
}

/// Whether `value` is used from `from` on before it is computed again.
bool is_live_at(Instruction* value, BasicBlock* from) {
  SmallPtrSet<BasicBlock*, 16> uses;
  for (Use& use : value->uses()) {
    auto* const phi = dyn_cast<PHINode>(use.getUser());
    uses.insert(phi != nullptr ? phi->getIncomingBlock(use) : cast<Instruction>(use.getUser())->getParent());
  }
  SmallPtrSet<BasicBlock*, 16> seen;
  SmallVector<BasicBlock*> work{from};
  while (!work.empty()) {
    BasicBlock* const block = work.pop_back_val();
    if (block == value->getParent() || !seen.insert(block).second) continue;
    if (uses.count(block) != 0) return true;
    append_range(work, successors(block));
  }
  return false;
}

/// The type of an element for a local variable, as large as its alignment asks for.
Type* element_type(const AllocaInst& local) {
  const DataLayout& layout = local.getModule()->getDataLayout();
  const uint64_t bytes = layout.getTypeAllocSize(local.getAllocatedType());
  const uint64_t stride = alignTo(bytes, local.getAlign());
  if (stride == bytes) return local.getAllocatedType();
  return ArrayType::get(Type::getInt8Ty(local.getContext()), stride);
}

}  // namespace

SetVector<Instruction*> values_live_into(const Regions& regions, const Region& region) {
  SetVector<Instruction*> live;
  for (BasicBlock* block : region.blocks) {
    for (Instruction& i : *block) {
      for (Use& use : i.operands()) {
        auto* const value = dyn_cast<Instruction>(use.get());
        if (value == nullptr || isa<AllocaInst>(value)) continue;
        BasicBlock* used = block;
        if (auto* phi = dyn_cast<PHINode>(&i)) {
          used = phi->getIncomingBlock(use);
          if (region.blocks.count(used) == 0) continue;
        }
        if (reaches_from_the_entry(regions, region, value->getParent(), used)) live.insert(value);
      }
    }
  }
  return live;
}

LiveAcross::LiveAcross(Regions& regions) : regions_(regions) {
  if (!regions.parted()) {
    live_into_.resize(1);
    return;
  }
  recompute_cheap_values(regions);
  find_live_values();
  make_slots();
  share_slots();
}

void LiveAcross::find_live_values() {
  for (const Region& region : regions_.list()) live_into_.push_back(values_live_into(regions_, region));
}

void LiveAcross::make_slots() {
  SetVector<Instruction*> values;
  for (const auto& live : live_into_) values.insert(live.begin(), live.end());
  for (Instruction* value : values) {
    slots_.push_back({{value}, value->getType(), !regions_.divergence().differs(value), false});
  }
  for (Instruction& i : make_early_inc_range(instructions(regions_.thread()))) {
    if (auto* local = dyn_cast<AllocaInst>(&i)) slots_.push_back({{local}, element_type(*local), false, true});
    // A slot lives as long as the block.
    if (i.isLifetimeStartOrEnd()) i.eraseFromParent();
  }
}

// -- A merged value and what is merged share a slot if they are never live together: nothing is copied then.

void LiveAcross::share_slots() {
  for (bool again = true; again;) {
    again = false;
    for (size_t to = 0; to < slots_.size() && !again; ++to) {
      for (size_t from = 0; from < slots_.size() && !again; ++from) {
        if (to == from || !can_share(slots_[to], slots_[from])) continue;
        append_range(slots_[to].values, slots_[from].values);
        slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(from));
        again = true;
      }
    }
  }
}

bool LiveAcross::can_share(const Slot& to, const Slot& from) const {
  if (to.is_local_variable || from.is_local_variable || to.uniform != from.uniform || to.type != from.type)
    return false;
  // Where threads part, some may need the one value and some the other, and a uniform slot has room for one.
  if (to.uniform && regions_.threads_may_part()) return false;
  const bool merges = any_of(to.values, [&](Instruction* value) {
    auto* const phi = dyn_cast<PHINode>(value);
    return phi != nullptr &&
           any_of(from.values, [&](Instruction* v) { return is_contained(phi->incoming_values(), v); });
  });
  return merges && !live_together(to, from);
}

bool LiveAcross::live_together(const Slot& a, const Slot& b) const {
  for (const Region& region : regions_.list()) {
    const auto is_live = [&](Instruction* value) { return is_live_at(value, region.entry); };
    if (any_of(a.values, is_live) && any_of(b.values, is_live)) return true;
  }
  // One may not be computed where the other is needed later.
  for (Instruction* v : a.values) {
    for (Instruction* w : b.values) {
      if (v->getParent() == w->getParent() || is_live_at(w, v->getParent()) || is_live_at(v, w->getParent()))
        return true;
    }
  }
  return false;
}

}  // namespace anyplace::clang_loops
