// SPDX-License-Identifier: Apache-2.0
//
// Values that are computed again behind a barrier instead of being kept: sums of the thread's position and of what is
// uniform, mostly addresses.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include <map>

#include "live_across.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

constexpr int most_recomputed = 12;  // one computed from the other

class Recomputation {
 public:
  explicit Recomputation(Regions& regions) : regions_(regions) {}

  void run() {
    for (const Region& region : regions_.list()) {
      Instruction* const before = &*region.entry->getFirstInsertionPt();
      std::map<Value*, Instruction*> made;
      for (Instruction* value : values_live_into(regions_, region)) {
        if (!differs(value) || !is_cheap(value, 0)) continue;
        values_.insert(value);
        copies_of_[value][region.entry] = recompute(value, before, made);
      }
      for (auto& [value, copy] : made) copies_.insert(copy);
    }
    for (Instruction* value : values_) use_copies(value);
    regions_.find();
  }

 private:
  bool differs(Value* value) const { return isa<Instruction>(value) && regions_.divergence().differs(value); }

  bool is_cheap(Value* value, int steps) const {
    if (!differs(value) || isa<AllocaInst>(value)) return true;
    auto* const i = cast<Instruction>(value);
    if (steps > most_recomputed || isa<PHINode>(i) || isa<CallBase>(i) || i->mayReadOrWriteMemory()) return false;
    if (!isSafeToSpeculativelyExecute(i)) return false;
    return all_of(i->operands(), [&](const Use& operand) { return is_cheap(operand.get(), steps + 1); });
  }

  /// The copy of `value` in front of `before`, behind copies of what it is computed from.
  Instruction* recompute(Instruction* value, Instruction* before, std::map<Value*, Instruction*>& made) {
    if (auto at = made.find(value); at != made.end()) return at->second;
    Instruction* const copy = value->clone();
    for (Use& operand : copy->operands()) {
      if (!differs(operand.get()) || isa<AllocaInst>(operand.get())) continue;
      operand.set(recompute(cast<Instruction>(operand.get()), before, made));
    }
    copy->insertBefore(before);
    made[value] = copy;
    return copy;
  }

  /// Lets each use of `value` take the copy or the value that comes there.
  void use_copies(Instruction* value) {
    const auto& copies = copies_of_[value];
    SSAUpdater updater;
    updater.Initialize(value->getType(), value->getName());
    updater.AddAvailableValue(value->getParent(), value);
    for (auto& [entry, copy] : copies) {
      if (entry != value->getParent()) updater.AddAvailableValue(entry, copy);
    }
    SmallVector<Use*> uses;
    for (Use& use : value->uses()) uses.push_back(&use);
    for (Use* use : uses) {
      auto* const user = cast<Instruction>(use->getUser());
      if (copies_.count(user) != 0) continue;
      if (!isa<PHINode>(user)) {
        if (user->getParent() == value->getParent()) continue;
        if (auto at = copies.find(user->getParent()); at != copies.end()) {
          use->set(at->second);
          continue;
        }
      }
      updater.RewriteUse(*use);
    }
  }

  Regions& regions_;
  SetVector<Instruction*> values_;
  std::map<Instruction*, std::map<BasicBlock*, Instruction*>> copies_of_;
  SmallPtrSet<Instruction*, 32> copies_;
};

}  // namespace

void recompute_cheap_values(Regions& regions) { Recomputation(regions).run(); }

}  // namespace anyplace::clang_loops
