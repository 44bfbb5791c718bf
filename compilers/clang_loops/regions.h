// SPDX-License-Identifier: Apache-2.0
//
// Regions: the pieces between barriers. A region is all that a thread can reach from one barrier, or from the beginning
// of the kernel, without meeting another. It is left for the region behind the barrier that was met, or for the end.
// Blocks that are reached from two barriers belong to two regions; nothing is asked of loops and conditions.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

#include <memory>
#include <set>
#include <vector>

#include "divergence.h"

namespace anyplace::clang_loops {

inline constexpr unsigned end_of_kernel = 0;  // as a next region: nothing goes back to the first

struct Region {
  llvm::BasicBlock* entry;
  llvm::SetVector<llvm::BasicBlock*> blocks;
  std::set<unsigned> next;      ///< what can follow, by number
  bool behind_barrier = false;  ///< else a thread that is apart from others comes here without waiting
  bool threads_agree = true;    ///< on what follows, if all of them begin it
};

class Regions {
 public:
  /// Cuts `thread` behind each barrier, which it removes, and where all threads agree on the next barrier. The latter
  /// makes of a loop with barriers, which all threads run equally often, a loop around the threads.
  explicit Regions(llvm::Function& thread);

  llvm::Function& thread() const { return thread_; }
  const std::vector<Region>& list() const { return list_; }
  const Divergence& divergence() const { return *divergence_; }
  /// Whether anything lives across regions: there is more than one.
  bool parted() const { return list_.size() > 1; }
  /// Whether threads that begin a region together may go on with different ones.
  bool threads_may_part() const;
  /// Whether `block` begins a region that follows another.
  bool is_entry(llvm::BasicBlock* block) const;
  unsigned number(llvm::BasicBlock* entry) const;
  /// Is called after instructions of `thread` have changed.
  void find();

 private:
  void cut_before(llvm::Instruction* instruction);
  bool cut_where_threads_agree(const Region& region);
  Region region_from(llvm::BasicBlock* entry) const;
  bool decides(const Region& region, llvm::BasicBlock* branch) const;
  void mark_values_of_different_rounds();
  bool mark_values_behind(llvm::BasicBlock* branch);
  bool reaches_barrier(llvm::BasicBlock* from, llvm::BasicBlock* without) const;
  bool leaves_without(llvm::BasicBlock* from, llvm::BasicBlock* without) const;

  llvm::Function& thread_;
  llvm::SmallVector<llvm::BasicBlock*> entries_;  // by number
  size_t barriers_ = 0;                           // the entries behind barriers are those from 1 to so many
  std::vector<Region> list_;                      // by number
  std::unique_ptr<Divergence> divergence_;
};

}  // namespace anyplace::clang_loops
