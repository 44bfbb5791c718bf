// SPDX-License-Identifier: Apache-2.0
//
// What a thread keeps from one region to the next. A value that is live across regions has a slot: one variable if all
// threads have the same value, else an array with an element for each thread. So has a local variable whose address is
// taken, and a local array.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "regions.h"

namespace anyplace::clang_loops {

struct Slot {
  llvm::SmallVector<llvm::Instruction*, 2> values;  ///< that share it; or the one alloca
  llvm::Type* type;                                 ///< of an element
  bool uniform;                                     ///< one variable, not an array
  bool is_local_variable;                           ///< of an alloca
};

class LiveAcross {
 public:
  /// Changes the function of the thread: what is cheap to compute is computed again in each region that needs it.
  explicit LiveAcross(Regions& regions);

  const std::vector<Slot>& slots() const { return slots_; }
  /// The values that the region loads when it begins.
  const llvm::SetVector<llvm::Instruction*>& live_into(unsigned region) const { return live_into_[region]; }

 private:
  void find_live_values();
  void make_slots();
  void share_slots();
  bool can_share(const Slot& to, const Slot& from) const;
  bool live_together(const Slot& a, const Slot& b) const;

  const Regions& regions_;
  std::vector<llvm::SetVector<llvm::Instruction*>> live_into_;  // by region
  std::vector<Slot> slots_;
};

/// The values of `region` that are computed before it begins, or in an earlier run of it.
llvm::SetVector<llvm::Instruction*> values_live_into(const Regions& regions, const Region& region);

/// Computes cheap values that are live into a region again where it begins. Addresses are then known to follow the
/// thread's position, without which nothing would be vectorised.
void recompute_cheap_values(Regions& regions);

}  // namespace anyplace::clang_loops
