// SPDX-License-Identifier: Apache-2.0
#include "joined_blocks.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "llvm_support.h"

namespace anyplace::clang_loops {

using namespace llvm;

namespace {

/// Whether the instruction does nothing but compute, and read and write memory as any thread may.
bool is_plain(const Instruction& i) {
  if (i.isAtomic() || i.isVolatile() || i.mayThrow()) return false;
  const auto* const call = dyn_cast<CallBase>(&i);
  if (call == nullptr || isa<MemIntrinsic>(i)) return true;
  const auto* const intrinsic = dyn_cast<IntrinsicInst>(&i);
  if (intrinsic != nullptr && intrinsic->isAssumeLikeIntrinsic()) return true;
  return !call->isInlineAsm() && !call->mayWriteToMemory();
}

Value* without_extension(Value* value) {
  return isa<ZExtInst>(value) || isa<SExtInst>(value) ? cast<Instruction>(value)->getOperand(0) : value;
}

/// Whether each use of `value`, extended or not, is one that `allowed` allows.
bool all_uses(Value* value, function_ref<bool(Instruction&)> allowed) {
  return all_of(value->users(), [&](User* user) {
    if (isa<ZExtInst>(user) || isa<SExtInst>(user)) {
      return all_of(user->users(), [&](User* of_extended) { return allowed(*cast<Instruction>(of_extended)); });
    }
    return allowed(*cast<Instruction>(user));
  });
}

/// Looks for blockIdx.x * blockDim.x + threadIdx.x. The sum of the first block's product and the number of a thread in
/// the joined row is what that thread would have computed in its own block, also where it wraps.
class NumberInRow {
 public:
  explicit NumberInRow(const ThreadFunction& thread)
      : function_(*thread.function), thread_x_(function_.getArg(thread_x)) {
    const DataLayout& layout = function_.getParent()->getDataLayout();
    auto* value = function_.arg_begin() + first_shared + static_cast<std::ptrdiff_t>(thread.shared.size());
    for (const Input& input : thread.inputs) {
      Value* const argument = value++;
      if (input.base != state_address) continue;
      const uint64_t end = input.offset + layout.getTypeStoreSize(input.type);
      const bool is_number = input.type == Type::getInt32Ty(function_.getContext());
      if (is_number && input.offset == block_size_offset) block_size_x_ = argument;
      if (is_number && input.offset == block_offset) {
        block_x_ = argument;
      } else if (input.offset < block_offset + 4 && end > block_offset) {
        is_read_otherwise_ = true;
      }
      if (input.offset < shared_offset + 8 && end > shared_offset) is_read_otherwise_ = true;
    }
  }

  /// Whether it is computed, and the positions are read for nothing else.
  bool is_all_that_is_read() const {
    if (is_read_otherwise_ || block_x_ == nullptr || block_size_x_ == nullptr) return false;
    if (thread_x_->use_empty() || !function_.getArg(state_address)->use_empty()) return false;
    const auto is_number = [&](Instruction& i) { return this->is_number(i); };
    return all_uses(thread_x_, is_number) && all_uses(block_x_, [&](Instruction& i) {
             return is_threads_before(&i) &&
                    all_of(i.users(), [&](User* user) { return is_number(*cast<Instruction>(user)); });
           });
  }

 private:
  bool is_threads_before(Value* value) const {
    auto* const i = dyn_cast<Instruction>(value);
    if (i == nullptr || i->getOpcode() != Instruction::Mul) return false;
    Value *const a = without_extension(i->getOperand(0)), *const b = without_extension(i->getOperand(1));
    return (a == block_x_ && b == block_size_x_) || (a == block_size_x_ && b == block_x_);
  }
  bool is_number(Instruction& i) const {
    if (i.getOpcode() != Instruction::Add) return false;
    const auto is_sum = [&](Value* threads_before, Value* x) {
      return is_threads_before(threads_before) && without_extension(x) == thread_x_;
    };
    return is_sum(i.getOperand(0), i.getOperand(1)) || is_sum(i.getOperand(1), i.getOperand(0));
  }

  Function& function_;
  Value* thread_x_;
  Value* block_x_ = nullptr;
  Value* block_size_x_ = nullptr;
  bool is_read_otherwise_ = false;  // a part of them, or the address of dynamic shared memory
};

}  // namespace

bool blocks_can_be_joined(const ThreadFunction& thread, const Regions& regions) {
  if (regions.parted() || !thread.shared.empty()) return false;
  return all_of(instructions(*thread.function), is_plain) && NumberInRow(thread).is_all_that_is_read();
}

}  // namespace anyplace::clang_loops
