// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

/// A loop that counts from 0 to `end`, at least once, around what goes from `head` to `latch`.
class Counter {
 public:
  Counter(BasicBlock* head, BasicBlock* before) : head_(head) {
    IRBuilder<> builder(head);
    value_ = builder.CreatePHI(builder.getInt32Ty(), 2);
    value_->addIncoming(builder.getInt32(0), before);
  }
  void close(BasicBlock* latch, Value* end, BasicBlock* out) {
    IRBuilder<> builder(latch);
    Value* const next = builder.CreateAdd(value_, builder.getInt32(1), "", true, true);
    value_->addIncoming(next, latch);
    builder.CreateCondBr(builder.CreateICmpULT(next, end), head_, out);
  }
  Value* value() const { return value_; }

 private:
  BasicBlock* head_;
  PHINode* value_;
};

}  // namespace

Rows add_rows(Function& block, BasicBlock* from, BlockSize size) {
  const auto add = [&](const char* name) { return BasicBlock::Create(block.getContext(), name, &block); };
  BasicBlock *const z = add("z"), *const y = add("y"), *const y_latch = add("y.next"), *const z_latch = add("z.next"),
                    *const done = add("done");
  IRBuilder<>(from).CreateBr(z);
  Counter count_z(z, from);
  IRBuilder<>(z).CreateBr(y);
  Counter count_y(y, z);
  IRBuilder<> builder(y);
  Value* const rows_before = builder.CreateMul(count_z.value(), size[1], "", true, true);
  Value* const row = builder.CreateAdd(rows_before, count_y.value(), "", true, true);
  Value* const first = builder.CreateMul(row, size[0], "", true, true);
  count_y.close(y_latch, size[1], z_latch);
  count_z.close(z_latch, size[2], done);
  return {y, y_latch, done, count_y.value(), count_z.value(), first};
}

ThreadLoop add_row_loop(const Rows& rows, BasicBlock* from, BasicBlock* out, Part part, bool may_be_empty) {
  Function& block = *from->getParent();
  const auto add = [&](const char* name) { return BasicBlock::Create(block.getContext(), name, &block); };
  BasicBlock *const body = add("x"), *const latch = add("x.next");
  IRBuilder<> builder(from);
  if (may_be_empty) {
    BasicBlock* const some = add("x.some");
    builder.CreateCondBr(builder.CreateICmpULT(part.low, part.high), some, out);
    builder.SetInsertPoint(some);
    from = some;
  }
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  PHINode* const x = builder.CreatePHI(builder.getInt32Ty(), 2);
  x->addIncoming(part.low, from);
  Value* const linear = builder.CreateZExt(builder.CreateAdd(rows.first, x, "", true, true), builder.getInt64Ty());
  builder.SetInsertPoint(latch);
  Value* const next = builder.CreateAdd(x, builder.getInt32(1), "", true, true);
  x->addIncoming(next, latch);
  BranchInst* const back = builder.CreateCondBr(builder.CreateICmpULT(next, part.high), body, out);
  return {body, latch, back, x, rows.y, rows.z, linear};
}

}  // namespace anyplace::clang_loops
