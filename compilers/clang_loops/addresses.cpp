// SPDX-License-Identifier: Apache-2.0
#include "addresses.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

#include "llvm_support.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

constexpr unsigned most_terms_in_a_row = 8;

/// `value` as a number of the type, which is wider: the sum of its terms, each extended. A sum that overflows has no
/// value, so that one without overflow is as good.
Value* extended(Value* value, Type* type, IRBuilder<>& builder, unsigned depth = 0) {
  auto* const sum = dyn_cast<OverflowingBinaryOperator>(value);
  const bool is_sum = sum != nullptr && sum->hasNoSignedWrap() && depth < most_terms_in_a_row &&
                      (sum->getOpcode() == Instruction::Add || sum->getOpcode() == Instruction::Sub);
  if (!is_sum) return builder.CreateSExt(value, type);
  Value* const left = extended(sum->getOperand(0), type, builder, depth + 1);
  Value* const right = extended(sum->getOperand(1), type, builder, depth + 1);
  return sum->getOpcode() == Instruction::Add ? builder.CreateNSWAdd(left, right) : builder.CreateNSWSub(left, right);
}

}  // namespace

void widen_sums(Function& thread) {
  SmallVector<SExtInst*> extensions;
  for (Instruction& i : instructions(thread)) {
    auto* const extension = dyn_cast<SExtInst>(&i);
    if (extension != nullptr && extension->getType()->isIntegerTy(64)) extensions.push_back(extension);
  }
  for (SExtInst* extension : extensions) {
    IRBuilder<> builder(extension);
    Value* const wide = extended(extension->getOperand(0), extension->getType(), builder);
    extension->replaceAllUsesWith(wide);
    RecursivelyDeleteTriviallyDeadInstructions(extension);
  }
}

}  // namespace anyplace::clang_loops
