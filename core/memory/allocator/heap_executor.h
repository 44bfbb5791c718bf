// SPDX-License-Identifier: Apache-2.0
//
// HeapExecutor: makes the moves of plans: it calls the source, changes the heap's state, and tells the user for the
// history. It decides nothing.
//
// A plan whose moves the source refuses halfway leaves every block and every arena's bytes as they were. Two things
// can't be undone: classic segments that were given back stay so, and addresses at which an unmap failed can't be used
// any more.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator/heap_options.h"
#include "memory/allocator/heap_plan.h"
#include "memory/allocator/heap_state.h"
#include "memory/allocator/source.h"

namespace anyplace::detail {

class HeapExecutor {
 public:
  enum class Outcome {
    done,
    short_of_memory,  ///< The source had no memory. What it did give is at hand for another plan.
    spoilt,           ///< An unmap failed. Its addresses can't be used any more, so another plan has another place.
    failed,
  };

  HeapExecutor(HeapState& state, MemorySource& source, HeapUser& user) noexcept
      : state_(state), source_(source), user_(user) {}

  /// Makes the moves of a plan for that arena; for a plan that gives memory back it is null. Throws std::bad_alloc;
  /// then nothing has changed.
  Outcome run(const Plan& plan, Arena* arena);
  /// After a plan that ends in a block: the free block that contains the place.
  Block* block_at(const PlanPlace& place) const noexcept;
  std::uint64_t released() const noexcept { return released_; }  ///< bytes that the last plan gave back

  /// New pages of memory that no plan has used yet.
  std::uint64_t pages_at_hand() const noexcept { return created_.size(); }
  void drop_pages_at_hand() noexcept;

  /// Gives everything back, taken or not. The state can't be used afterwards.
  void give_back_everything() noexcept;

  SourceResult result = SourceResult::done;  ///< of the last call of the source that failed since it was reset
  bool mapped_once = false;                  ///< the source has mapped something
  bool map_refused = false;                  ///< the very first mapping was refused

 private:
  void prepare(const Plan& plan);
  bool make(const Move& move, const Plan& plan, Arena* arena);
  void change_blocks(const Move& move, const Plan& plan) noexcept;
  bool lacked_memory(const Move& move) const noexcept;
  bool reserve(Arena& arena, const Move& move);
  bool allocate(Arena& arena, std::uint64_t bytes);
  bool create(std::uint64_t count) noexcept;
  bool map(const Move& move, const Plan& plan) noexcept;
  bool unmap(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept;
  void leave(const Move& move) noexcept;
  void back(const Move& move, const Plan& plan) noexcept;
  bool release_pages(const Move& move) noexcept;
  void free_segment(Segment* segment) noexcept;
  void undo(const Plan& plan, std::size_t failed) noexcept;
  void unmap_segments() noexcept;

  HeapState& state_;
  MemorySource& source_;
  HeapUser& user_;
  std::vector<anyplace_physical> created_;
  std::vector<anyplace_physical> handles_;  ///< of the pages that one move maps

  // -- State of the present plan.
  std::size_t mapped_ = 0;            ///< pages of Plan::pages that are mapped
  std::uint64_t mapped_of_move_ = 0;  ///< pages that the last `map` has mapped
  bool changed_blocks_ = false;
  Block* last_back_ = nullptr;  ///< the block that the last `back` made
  Segment* made_ = nullptr;     ///< the classic segment that was allocated
  std::uint64_t released_ = 0;
};

}  // namespace anyplace::detail
