// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include "llvm_support.h"
#include "rows.h"
#include "thread_function.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

constexpr int most_steps = 12;                 // of what a condition is computed from
constexpr int most_depth = 2;                  // conditions decided one inside the other
constexpr uint64_t more_than_a_row = 1 << 27;  // a block has 1024 threads at most, and 65536 are joined

/// Replaces what has become constant, so that the next condition is looked for in what is left.
void fold_constants(Function& function) {
  const DataLayout& layout = function.getParent()->getDataLayout();
  for (bool again = true; again;) {
    again = false;
    for (Instruction& i : make_early_inc_range(instructions(function))) {
      Constant* const value = ConstantFoldInstruction(&i, layout);
      if (value == nullptr || i.use_empty()) continue;
      i.replaceAllUsesWith(value);
      if (isInstructionTriviallyDead(&i)) i.eraseFromParent();
      again = true;
    }
    for (BasicBlock& block : function) again |= ConstantFoldTerminator(&block);
  }
  removeUnreachableBlocks(function);
}

}  // namespace

// -- Finding a condition.

/// Whether `value` is the thread's x plus what all threads of a row have in common.
bool RowParts::follows_x(Value* value) const {
  if (auto* argument = dyn_cast<Argument>(value)) return argument->getArgNo() == thread_x;
  auto* const i = dyn_cast<Instruction>(value);
  if (i == nullptr) return false;
  if (isa<ZExtInst>(i) || isa<SExtInst>(i)) return follows_x(i->getOperand(0));
  if (i->getOpcode() != Instruction::Add) return false;
  return (follows_x(i->getOperand(0)) && same_in_row(i->getOperand(1), 0)) ||
         (follows_x(i->getOperand(1)) && same_in_row(i->getOperand(0), 0));
}

bool RowParts::same_in_row(Value* value, int steps) const {
  if (isa<Constant>(value)) return true;
  if (auto* argument = dyn_cast<Argument>(value)) {
    return argument->getArgNo() != thread_x && argument->getArgNo() < first_slot_;
  }
  auto* const i = dyn_cast<Instruction>(value);
  if (i == nullptr || steps > most_steps) return false;
  if (auto* load = dyn_cast<LoadInst>(i)) {
    auto* const slot = dyn_cast<Argument>(load->getPointerOperand());
    return slot != nullptr && i->getParent() == &i->getFunction()->getEntryBlock() && is_uniform_(*slot);
  }
  if (isa<PHINode>(i) || isa<CallBase>(i) || i->mayReadOrWriteMemory() || !isSafeToSpeculativelyExecute(i))
    return false;
  return all_of(i->operands(), [&](const Use& operand) { return same_in_row(operand.get(), steps + 1); });
}

/// The first in the order in which a thread comes to them.
RowParts::Condition RowParts::find_condition(Function& region) const {
  SmallVector<BasicBlock*> queue{&region.getEntryBlock()};
  SmallPtrSet<BasicBlock*, 16> seen;
  for (size_t at = 0; at < queue.size(); ++at) {
    BasicBlock* const block = queue[at];
    if (!seen.insert(block).second) continue;
    append_range(queue, successors(block));
    auto* const branch = dyn_cast<BranchInst>(block->getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    if (const Condition found = condition_in(branch->getCondition()); found.compare != nullptr) return found;
  }
  return {};
}

/// The comparison of integers that can be decided, among those that `value` is combined of.
RowParts::Condition RowParts::condition_in(Value* value) const {
  SmallVector<Value*> terms{value};
  while (!terms.empty()) {
    auto* const i = dyn_cast<Instruction>(terms.pop_back_val());
    if (i == nullptr) continue;
    if (auto* compare = dyn_cast<ICmpInst>(i)) {
      if (!compare->getOperand(0)->getType()->isIntegerTy()) continue;
      if (compare->getOperand(0)->getType()->getIntegerBitWidth() > 64) continue;
      if (follows_x(compare->getOperand(0)) && same_in_row(compare->getOperand(1), 0)) return {compare, false};
      if (follows_x(compare->getOperand(1)) && same_in_row(compare->getOperand(0), 0)) return {compare, true};
    } else if (i->getType()->isIntegerTy(1) && !isa<PHINode>(i) && !isa<CallBase>(i) && !i->mayReadFromMemory()) {
      append_range(terms, i->operands());
    }
  }
  return {};
}

// -- Splitting a row.

/// What `value` of a region function is for the thread at `x`, in front of the row.
Value* RowParts::evaluate(Value* value, Value* x, IRBuilder<>& builder) const {
  const ThreadLoop thread{nullptr, nullptr, nullptr, x, rows_.y, rows_.z, builder.getInt64(0)};
  const SmallVector<Value*> arguments = arguments_(builder, thread);
  const std::function<Value*(Value*)> rebuild = [&](Value* v) -> Value* {
    if (auto* argument = dyn_cast<Argument>(v)) return arguments[argument->getArgNo()];
    auto* const i = dyn_cast<Instruction>(v);
    if (i == nullptr) return v;
    Instruction* const copy = i->clone();
    for (Use& operand : copy->operands()) operand.set(rebuild(operand.get()));
    copy->dropUnknownNonDebugMetadata();
    // What promises not to overflow is computed here for threads that may not exist.
    copy->dropPoisonGeneratingFlags();
    copy->setDebugLoc(builder.getCurrentDebugLocation());
    return builder.Insert(copy);
  };
  return rebuild(value);
}

/// The parts of `part` and what the condition is in each. `whole` becomes whether that holds: nothing wraps in the
/// part.
SmallVector<RowParts::Decided> RowParts::split(const Condition& condition, Part part, IRBuilder<>& b, Value*& whole) {
  Value* const followed = condition.compare->getOperand(condition.x_on_right ? 1 : 0);
  Value* const first = evaluate(followed, part.low, b);
  Value* const last = evaluate(followed, b.CreateSub(part.high, b.getInt32(1)), b);
  Value* const limit = evaluate(condition.compare->getOperand(condition.x_on_right ? 0 : 1), part.low, b);
  const auto predicate =
      condition.x_on_right ? condition.compare->getSwappedPredicate() : condition.compare->getPredicate();
  const bool is_signed = ICmpInst::isSigned(predicate);
  Type* const wide = b.getInt64Ty();
  const auto extend = [&](Value* v) { return is_signed ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
  Value* const width = b.CreateZExt(b.CreateSub(part.high, part.low), wide);
  whole = b.CreateICmpEQ(b.CreateSub(extend(last), extend(first)), b.CreateSub(width, b.getInt64(1)));
  if (first->getType()->getIntegerBitWidth() == 64) {
    // The difference may wrap as well as the sum, so the order counts, too.
    Value* const grows = is_signed ? b.CreateICmpSLE(first, last) : b.CreateICmpULE(first, last);
    whole = b.CreateAnd(whole, grows);
  }
  Value* distance = b.CreateSub(extend(limit), extend(first));
  if (first->getType()->getIntegerBitWidth() == 64) {
    Value* const ahead = is_signed ? b.CreateICmpSGE(limit, first) : b.CreateICmpUGE(limit, first);
    Value* const far = b.getInt64(more_than_a_row);
    distance = b.CreateSelect(ahead, b.CreateSelect(b.CreateICmpUGT(distance, far), far, distance), b.getInt64(-1ull));
  }
  const auto at = [&](Value* threads) {
    threads = b.CreateSelect(b.CreateICmpSLT(threads, b.getInt64(0)), b.getInt64(0), threads);
    threads = b.CreateSelect(b.CreateICmpSGT(threads, width), width, threads);
    return b.CreateAdd(part.low, b.CreateTrunc(threads, b.getInt32Ty()));
  };
  Value* const below = at(distance);
  Value* const upto = at(b.CreateAdd(distance, b.getInt64(1)));
  switch (predicate) {
    case ICmpInst::ICMP_ULT:
    case ICmpInst::ICMP_SLT:
      return {{{part.low, below}, true}, {{below, part.high}, false}};
    case ICmpInst::ICMP_ULE:
    case ICmpInst::ICMP_SLE:
      return {{{part.low, upto}, true}, {{upto, part.high}, false}};
    case ICmpInst::ICMP_UGT:
    case ICmpInst::ICMP_SGT:
      return {{{part.low, upto}, false}, {{upto, part.high}, true}};
    case ICmpInst::ICMP_UGE:
    case ICmpInst::ICMP_SGE:
      return {{{part.low, below}, false}, {{below, part.high}, true}};
    case ICmpInst::ICMP_EQ:
      return {{{part.low, below}, false}, {{below, upto}, true}, {{upto, part.high}, false}};
    default:
      return {{{part.low, below}, true}, {{below, upto}, false}, {{upto, part.high}, true}};
  }
}

/// `region` for threads for which the condition is `value`.
Function* RowParts::decide(Function& region, const Condition& condition, bool value) {
  ValueToValueMapTy map;
  Function* const decided = CloneFunction(&region, map);
  made_.push_back(decided);
  auto* const compare = cast<Instruction>(map[condition.compare]);
  compare->replaceAllUsesWith(ConstantInt::getBool(region.getContext(), value));
  fold_constants(*decided);
  return decided;
}

void RowParts::add(Function* region, BasicBlock* from, BasicBlock* out, Part part, bool may_be_empty, int depth) {
  const Condition condition = depth < most_depth ? find_condition(*region) : Condition{};
  if (condition.compare == nullptr) {
    call_(add_row_loop(rows_, from, out, part, may_be_empty), region);
    return;
  }
  Function& block = *from->getParent();
  const auto create = [&](const char* name) { return BasicBlock::Create(block.getContext(), name, &block); };
  IRBuilder<> builder(from);
  builder.SetCurrentDebugLocation(debug_location_of(block));
  if (may_be_empty) {
    BasicBlock* const some = create("part.some");
    builder.CreateCondBr(builder.CreateICmpULT(part.low, part.high), some, out);
    builder.SetInsertPoint(some);
  }
  Value* whole = nullptr;
  const SmallVector<Decided> parts = split(condition, part, builder, whole);
  BasicBlock* const wraps = create("wraps");
  BasicBlock* at = create("part");
  builder.CreateCondBr(whole, at, wraps);
  call_(add_row_loop(rows_, wraps, out, part, false), region);
  for (size_t i = 0; i < parts.size(); ++i) {
    BasicBlock* const then = i + 1 == parts.size() ? out : create("part");
    add(decide(*region, condition, parts[i].value), at, then, parts[i].part, true, depth + 1);
    at = then;
  }
}

}  // namespace anyplace::clang_loops
