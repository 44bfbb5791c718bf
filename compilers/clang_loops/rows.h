// SPDX-License-Identifier: Apache-2.0
//
// Work-item loops: over the threads of a block, x innermost, as a loop over rows of threads with one or several loops
// over parts of a row in it.
//
// A condition such as `i < count`, in which the thread's x takes part as a summand, is true up to some thread of a row
// and false from there on, or the other way round. The row is then run in parts, in each of which the condition is a
// constant: what is left in the loop has no branch and is vectorised.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <functional>

namespace anyplace::clang_loops {

/// Where the code for one thread goes: from `body`, which is empty, to `latch`.
struct ThreadLoop {
  llvm::BasicBlock* body;
  llvm::BasicBlock* latch;
  llvm::BranchInst* back;  ///< the loop's metadata belong here
  llvm::Value *x, *y, *z;
  llvm::Value* linear;  ///< the thread's number in the block, 64 bits
};

/// The loops over z and y: from `body` to `latch` goes a row; behind all is `done`.
struct Rows {
  llvm::BasicBlock *body, *latch, *done;
  llvm::Value *y, *z;
  llvm::Value* first;  ///< the number of the row's first thread
};

/// Three 32-bit numbers: the block's size.
using BlockSize = llvm::ArrayRef<llvm::Value*>;

/// Adds the loops over rows behind `from`.
Rows add_rows(llvm::Function& block, llvm::BasicBlock* from, BlockSize size);

/// A part of a row, from x `low` to below `high`.
struct Part {
  llvm::Value *low, *high;
};

/// Adds a loop over the part; it begins behind `from` and goes on to `out`. An empty part is possible if
/// `may_be_empty`.
ThreadLoop add_row_loop(const Rows& rows, llvm::BasicBlock* from, llvm::BasicBlock* out, Part part, bool may_be_empty);

// -- Rows in parts.

/// What of a region function's arguments is the same for all threads of a row, beside those before the slots.
using IsUniformSlot = std::function<bool(const llvm::Argument&)>;

/// Adds loops over a row that call `region` for each thread: `call` fills a loop's body with a call of the function
/// that it is given, whose arguments for a thread are those of `arguments`. `first_slot` is the number of the first
/// that is a slot.
class RowParts {
 public:
  using Call = std::function<void(const ThreadLoop&, llvm::Function*)>;
  using Arguments = std::function<llvm::SmallVector<llvm::Value*>(llvm::IRBuilder<>&, const ThreadLoop&)>;

  RowParts(const Rows& rows, unsigned first_slot, IsUniformSlot is_uniform, Arguments arguments, Call call)
      : rows_(rows), first_slot_(first_slot), is_uniform_(is_uniform), arguments_(arguments), call_(call) {}

  void add(llvm::Function* region, Part row) { add(region, rows_.body, rows_.latch, row, false, 0); }
  /// Functions that the parts call and nobody else: `region` with a condition decided.
  llvm::ArrayRef<llvm::Function*> made() const { return made_; }

 private:
  struct Condition {
    llvm::ICmpInst* compare = nullptr;
    bool x_on_right = false;
  };
  struct Decided {
    Part part;
    bool value;
  };

  void add(llvm::Function* region, llvm::BasicBlock* from, llvm::BasicBlock* out, Part part, bool may_be_empty,
           int depth);
  Condition find_condition(llvm::Function& region) const;
  Condition condition_in(llvm::Value* value) const;
  bool follows_x(llvm::Value* value) const;
  bool same_in_row(llvm::Value* value, int steps) const;
  llvm::Value* evaluate(llvm::Value* value, llvm::Value* x, llvm::IRBuilder<>& builder) const;
  llvm::SmallVector<Decided> split(const Condition& condition, Part part, llvm::IRBuilder<>& builder,
                                   llvm::Value*& whole);
  llvm::Function* decide(llvm::Function& region, const Condition& condition, bool value);

  const Rows& rows_;
  const unsigned first_slot_;
  const IsUniformSlot is_uniform_;
  const Arguments arguments_;
  const Call call_;
  llvm::SmallVector<llvm::Function*> made_;
};

}  // namespace anyplace::clang_loops
