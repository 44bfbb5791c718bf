// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/heap_executor.h"

#include <algorithm>
#include <deque>

namespace anyplace::detail {
namespace {

/// The most blocks that the moves need, also if some fail: each undone mapping and one more unmap need two where they
/// fail. Two are for the request's block, which is carved at the end.
std::size_t blocks_needed(const Plan& plan) {
  std::size_t count = 4;
  for (const Move& move : plan.moves) {
    if (move.kind != MoveKind::unmap) count += 2;
  }
  return count;
}

}  // namespace

HeapExecutor::Outcome HeapExecutor::run(const Plan& plan, Arena* arena) {
  mapped_ = 0;
  mapped_of_move_ = 0;
  changed_blocks_ = false;
  last_back_ = nullptr;
  made_ = nullptr;
  released_ = 0;
  prepare(plan);
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    const Move& move = plan.moves[i];
    if (make(move, plan, arena)) continue;
    // After the first change of blocks a failed move was only cleaning up, so the plan's end isn't affected. The
    // remaining moves are skipped, because what failed once may fail each time.
    if (changed_blocks_) break;
    undo(plan, i);
    if (move.kind == MoveKind::unmap) return Outcome::spoilt;
    return lacked_memory(move) ? Outcome::short_of_memory : Outcome::failed;
  }
  state_.usage.moved += plan.moved << state_.page_shift;
  return Outcome::done;
}

bool HeapExecutor::lacked_memory(const Move& move) const noexcept {
  return move.kind == MoveKind::create_pages ||
         (move.kind == MoveKind::allocate_segment && result == SourceResult::out_of_memory);
}

/// Does everything that may throw, before the first move.
void HeapExecutor::prepare(const Plan& plan) {
  state_.store.ensure(blocks_needed(plan));
  if (plan.place.segment != nullptr) state_.index.prepare(plan.place.begin);
  for (const Move& move : plan.moves) {
    if (move.kind == MoveKind::map) {
      HeapState::extend_pages(*move.segment, move.first + move.count);
      handles_.reserve(move.count);
    }
    if (move.kind != MoveKind::create_pages) continue;
    created_.reserve(move.count);
    state_.pages.ensure(move.count);
  }
}

bool HeapExecutor::make(const Move& move, const Plan& plan, Arena* arena) {
  switch (move.kind) {
    case MoveKind::reserve_range:
      return reserve(*arena, move);
    case MoveKind::allocate_segment:
      return allocate(*arena, move.bytes);
    case MoveKind::create_pages:
      return create(move.count);
    case MoveKind::unmap:
      return unmap(*move.segment, move.first, move.count);
    case MoveKind::map:
      return map(move, plan);
    case MoveKind::release_pages:
      return release_pages(move);
    default:
      change_blocks(move, plan);
      return true;
  }
}

// -- Moves that the source may refuse --------------------------------------------------------------------------------

bool HeapExecutor::reserve(Arena& arena, const Move& move) {
  const std::uint64_t page = state_.page;
  anyplace_address address = 0;
  std::uint64_t bytes = move.bytes;
  for (;; bytes = std::max(move.least, (bytes / 2 + page - 1) & ~(page - 1))) {
    result = source_.reserve(bytes, &address);
    if (result == SourceResult::done) break;
    if (bytes == move.least) return false;
  }
  try {
    state_.add_segment(arena, address, bytes, false);
  } catch (...) {
    source_.release(address, bytes);
    throw;
  }
  return true;
}

bool HeapExecutor::allocate(Arena& arena, std::uint64_t bytes) {
  anyplace_address address = 0;
  result = source_.allocate(bytes, &address);
  if (result != SourceResult::done) return false;
  try {
    made_ = state_.add_segment(arena, address, bytes, true)->segment;
  } catch (...) {
    source_.free(address, bytes);
    throw;
  }
  ++state_.stats.num_device_alloc;
  if (bytes >= state_.options.max_split_bytes) state_.stats.oversize_segments.add(1);
  user_.note(TraceAction::segment_alloc, arena.key, address, bytes);
  return true;
}

/// Creates pages until `count` are at hand, including those that were before.
bool HeapExecutor::create(std::uint64_t count) noexcept {
  while (created_.size() < count) {
    anyplace_physical handle = 0;
    result = source_.create(state_.page, &handle);
    if (result != SourceResult::done) return false;
    created_.push_back(handle);
  }
  return true;
}

/// Maps all pages of a move by one call.
bool HeapExecutor::map(const Move& move, const Plan& plan) noexcept {
  Segment& segment = *move.segment;
  std::size_t unused = created_.size();
  handles_.clear();
  for (std::uint64_t i = 0; i < move.count; ++i) {
    const Physical* const physical = plan.pages[mapped_ + i];
    handles_.push_back(physical != nullptr ? physical->handle : created_[--unused]);
  }
  mapped_of_move_ = 0;
  const anyplace_address address = state_.address_of(segment, move.first);
  const SourceResult mapped = source_.map_all(address, handles_.data(), move.count, &mapped_of_move_);
  if (mapped != SourceResult::done) {
    result = mapped;
    map_refused = !mapped_once && mapped_of_move_ == 0;
  }
  for (std::uint64_t i = 0; i < mapped_of_move_; ++i) {
    Physical* physical = plan.pages[mapped_ + i];
    if (physical == nullptr) {
      physical = state_.pages.get(created_.back());
      created_.pop_back();
    }
    state_.attach(segment.pages[move.first + i], physical);
  }
  if (mapped_of_move_ != 0) {
    mapped_once = true;
    if (mapped_ == 0) ++state_.stats.num_device_alloc;
  }
  mapped_ += mapped_of_move_;
  return mapped == SourceResult::done;
}

/// Unmaps pages that aren't backed. The heap treats them as unmapped even if that failed, and then spoils their
/// addresses. Memory without a home goes back to the source.
bool HeapExecutor::unmap(Segment& segment, std::uint64_t first, std::uint64_t count) noexcept {
  const bool unmapped = source_.unmap(state_.address_of(segment, first), count << state_.page_shift);
  if (unmapped) {
    ++state_.stats.num_device_free;
  } else {
    result = SourceResult::failed;
    state_.spoil(segment, first, count);
  }
  for (std::uint64_t i = first; i < first + count; ++i) {
    Physical* const physical = segment.pages[i].physical;
    state_.detach(segment, i, 1);
    if (physical->home != nullptr) continue;
    source_.destroy(physical->handle);
    state_.pages.put(physical);
  }
  return unmapped;
}

/// Unmaps what the plan has mapped. Nothing else before a refusal has to be undone: pages at hand wait for another plan
/// or are dropped, and mappings that were in the way served only other plans.
void HeapExecutor::undo(const Plan& plan, std::size_t failed) noexcept {
  for (std::size_t i = failed + 1; i > 0; --i) {
    const Move& move = plan.moves[i - 1];
    if (move.kind != MoveKind::map) continue;
    const std::uint64_t count = i - 1 == failed ? mapped_of_move_ : move.count;
    if (count != 0) unmap(*move.segment, move.first, count);
  }
}

void HeapExecutor::drop_pages_at_hand() noexcept {
  for (const anyplace_physical handle : created_) source_.destroy(handle);
  created_.clear();
}

// -- Moves that change blocks ----------------------------------------------------------------------------------------

void HeapExecutor::change_blocks(const Move& move, const Plan& plan) noexcept {
  if (move.kind == MoveKind::leave) leave(move);
  if (move.kind == MoveKind::back) back(move, plan);
  if (move.kind == MoveKind::free_segment) free_segment(move.segment);
}

void HeapExecutor::leave(const Move& move) noexcept {
  const ArenaKey& key = move.segment->arena->key;
  changed_blocks_ = true;
  state_.leave(move.block, move.first, move.count);
  user_.note(TraceAction::segment_unmap, key, state_.address_of(*move.segment, move.first),
             move.count << state_.page_shift);
}

/// These moves are in the order of addresses, so the search for their holes continues where the last one ended.
void HeapExecutor::back(const Move& move, const Plan& plan) noexcept {
  const anyplace_address begin = state_.address_of(*move.segment, move.first);
  changed_blocks_ = true;
  Block* hole = last_back_ != nullptr ? last_back_ : plan.place.before_hole;
  if (hole == nullptr) hole = move.segment->first;
  while (end_of(hole) <= begin) hole = hole->after;
  last_back_ = state_.back(hole, move.first, move.count);
  user_.note(TraceAction::segment_map, move.segment->arena->key, begin, move.count << state_.page_shift);
}

bool HeapExecutor::release_pages(const Move& move) noexcept {
  leave(move);
  if (!unmap(*move.segment, move.first, move.count)) return false;
  released_ += move.count << state_.page_shift;
  return true;
}

void HeapExecutor::free_segment(Segment* segment) noexcept {
  Arena& arena = *segment->arena;
  const anyplace_address address = segment->address;
  const std::uint64_t bytes = segment->bytes;
  state_.remove_segment(segment);
  ++state_.stats.num_device_free;
  if (bytes >= state_.options.max_split_bytes) state_.stats.oversize_segments.add(-1);
  source_.free(address, bytes);
  user_.note(TraceAction::segment_free, arena.key, address, bytes);
  released_ += bytes;
}

Block* HeapExecutor::block_at(const PlanPlace& place) const noexcept {
  if (place.segment == nullptr) return made_->first;
  Block* block = place.before_hole != nullptr ? place.before_hole->after : place.segment->first;
  while (end_of(block) <= place.begin) block = block->after;
  return block;
}

// -- The end ---------------------------------------------------------------------------------------------------------

void HeapExecutor::unmap_segments() noexcept {
  // One call unmaps at most this many pages, so that a source without time for all of them can stop in between. The
  // number is a guess: with 128 MiB a call there are few calls, and no vendor takes long for one.
  constexpr std::size_t pages_a_call = 64;
  state_.for_each_segment([&](const Segment& segment) {
    const std::deque<Page>& pages = segment.pages;
    for (std::size_t i = 0; i < pages.size();) {
      const std::size_t begin = i;
      while (i < pages.size() && i - begin < pages_a_call && pages[i].physical != nullptr) ++i;
      if (i == begin) {
        ++i;
      } else {
        source_.unmap(state_.address_of(segment, begin), (i - begin) << state_.page_shift);
      }
    }
  });
}

void HeapExecutor::give_back_everything() noexcept {
  if (state_.page == 0) {
    state_.for_each_segment([&](const Segment& segment) { source_.free(segment.address, segment.bytes); });
    return;
  }
  unmap_segments();
  // Segments are released after all mappings have ended, because memory may have been mapped in several.
  state_.for_each_segment([&](const Segment& segment) {
    for (const Page& at : segment.pages) {
      if (at.backed()) source_.destroy(at.physical->handle);
    }
    source_.release(segment.address, segment.bytes);
  });
}

}  // namespace anyplace::detail
