// SPDX-License-Identifier: Apache-2.0
#include "region_function.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

class RegionFunction {
 public:
  RegionFunction(const Regions& regions, const LiveAcross& live, unsigned number)
      : regions_(regions), live_(live), number_(number), region_(regions.list()[number]) {}

  Function* make() {
    clone_thread();
    begin_at_entry();
    leave_at_entries();
    load_live_values();
    store_live_values();
    removeUnreachableBlocks(*made_);
    return made_;
  }

 private:
  static bool is_in(const Region& region, const Instruction* value) {
    return region.blocks.count(const_cast<BasicBlock*>(value->getParent())) != 0;
  }
  BasicBlock* copy_of(BasicBlock* block) { return cast<BasicBlock>(map_[block]); }
  Instruction* copy_of(Instruction* value) { return cast<Instruction>(map_[value]); }

  void clone_thread() {
    Function& thread = regions_.thread();
    SmallVector<Type*> types;
    for (Argument& argument : thread.args()) types.push_back(argument.getType());
    for (const Slot& slot : live_.slots()) types.append(slot.uniform ? 2 : 1, PointerType::get(slot.type, 0));
    auto* const type = FunctionType::get(Type::getInt32Ty(thread.getContext()), types, false);
    made_ = Function::Create(type, GlobalValue::InternalLinkage, "anyplace.region", thread.getParent());
    for (Argument& argument : thread.args()) map_[&argument] = made_->getArg(argument.getArgNo());
    SmallVector<ReturnInst*> returns;
    CloneFunctionInto(made_, &thread, map_, CloneFunctionChangeType::LocalChangesOnly, returns);
    for (ReturnInst* instruction : returns) replace_by_return(instruction, end_of_kernel);
  }

  static void replace_by_return(Instruction* terminator, unsigned next) {
    IRBuilder<> builder(terminator);
    builder.CreateRet(builder.getInt32(next));
    terminator->eraseFromParent();
  }

  /// The function begins with a block of its own, for variables and for what is loaded.
  void begin_at_entry() {
    BasicBlock* const first = &made_->getEntryBlock();
    begin_ = BasicBlock::Create(made_->getContext(), "begin", made_, first);
    IRBuilder<>(begin_).CreateBr(copy_of(region_.entry));
    for (BasicBlock* block : region_.blocks) reachable_.insert(copy_of(block));
    for (Instruction& i : make_early_inc_range(*first)) {
      if (isa<AllocaInst>(i)) i.moveBefore(begin_->getTerminator());
    }
  }

  void load_live_values() {
    IRBuilder<> builder(begin_->getTerminator());
    auto* argument = made_->arg_begin() + static_cast<std::ptrdiff_t>(regions_.thread().arg_size());
    for (const Slot& slot : live_.slots()) {
      Value* const read = argument++;
      Value* const write = slot.uniform ? argument++ : read;
      for (Instruction* value : slot.values) {
        Instruction* const copy = copy_of(value);
        if (slot.is_local_variable) {
          copy->replaceAllUsesWith(builder.CreateBitCast(read, copy->getType()));
          copy->eraseFromParent();
          continue;
        }
        Value* before = nullptr;
        if (live_.live_into(number_).count(value) != 0) {
          before = builder.CreateLoad(slot.type, read, value->getName() + ".before");
        }
        if (is_in(region_, value)) {
          written_.push_back({copy, before, write});
        } else if (before != nullptr) {
          copy->replaceAllUsesWith(before);
        }
      }
    }
  }

  void leave_at_entries() {
    for (const Region& other : regions_.list()) {
      if (!regions_.is_entry(other.entry)) continue;
      BasicBlock* const entry = copy_of(other.entry);
      Instruction* const jump = copy_of(other.entry->getSinglePredecessor())->getTerminator();
      if (jump->getNumSuccessors() == 1 && jump->getSuccessor(0) == entry) {
        replace_by_return(jump, regions_.number(other.entry));
      }
    }
  }

  void store_live_values() {
    for (auto& [value, before, write] : written_) {
      if (before != nullptr) use_what_comes(value, before);
      Instruction* at = value->getNextNode();
      if (isa<PHINode>(value)) at = &*value->getParent()->getFirstInsertionPt();
      if (auto* invoke = dyn_cast<InvokeInst>(value)) at = &*invoke->getNormalDest()->getFirstInsertionPt();
      IRBuilder<>(at).CreateStore(value, write);
    }
  }

  /// `value` is computed in the region, and may be used before: it is then what an earlier region left.
  void use_what_comes(Instruction* value, Value* before) {
    SSAUpdater updater;
    updater.Initialize(value->getType(), value->getName());
    updater.AddAvailableValue(begin_, before);
    updater.AddAvailableValue(value->getParent(), value);
    SmallVector<Use*> uses;
    for (Use& use : value->uses()) uses.push_back(&use);
    for (Use* use : uses) {
      auto* const user = cast<Instruction>(use->getUser());
      auto* const phi = dyn_cast<PHINode>(user);
      BasicBlock* const used = phi != nullptr ? phi->getIncomingBlock(*use) : user->getParent();
      if (reachable_.count(used) == 0 || (phi == nullptr && used == value->getParent())) continue;
      updater.RewriteUse(*use);
    }
  }

  struct Written {
    Instruction* value;
    Value* before;  // null if it isn't live into the region
    Value* address;
  };
  const Regions& regions_;
  const LiveAcross& live_;
  const unsigned number_;
  const Region& region_;
  Function* made_ = nullptr;
  BasicBlock* begin_ = nullptr;
  ValueToValueMapTy map_;  // from the function of the thread
  SmallVector<Written> written_;
  SmallPtrSet<BasicBlock*, 32> reachable_;
};

}  // namespace

Function* make_region_function(const Regions& regions, const LiveAcross& live, unsigned number) {
  return RegionFunction(regions, live, number).make();
}

}  // namespace anyplace::clang_loops
