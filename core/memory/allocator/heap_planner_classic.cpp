// SPDX-License-Identifier: Apache-2.0
//
// Plans without virtual memory: segments of fixed size, each one allocation of the source.
#include <algorithm>

#include "memory/allocator/heap_planner.h"

namespace anyplace::detail {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

// The sizes are PyTorch's (c10/cuda/CUDACachingAllocator.cpp: kSmallBuffer, kMinLargeAlloc, kLargeBuffer, kRoundLarge),
// so that a program needs no more segments than with PyTorch.
constexpr std::uint64_t small_segment = 2 * mebibyte;
constexpr std::uint64_t shared_below = 10 * mebibyte;  ///< smaller requests share a segment of shared_segment
constexpr std::uint64_t shared_segment = 20 * mebibyte;
constexpr std::uint64_t segment_unit = 2 * mebibyte;  ///< larger segments are a multiple of it

/// A block that isn't split serves requests that are smaller by less than this. It is PyTorch's kLargeBuffer again.
constexpr std::uint64_t unsplit_slack = 20 * mebibyte;

bool is_unused(const Segment& segment) { return is_free(segment.first) && is_whole(segment.first); }

}  // namespace

std::uint64_t HeapPlanner::segment_bytes(bool small, std::uint64_t bytes) noexcept {
  if (small && bytes <= small_limit) return small_segment;
  if (bytes < shared_below) return shared_segment;
  return (bytes + segment_unit - 1) / segment_unit * segment_unit;
}

/// With classic segments, blocks above max_split_bytes aren't split: they serve requests of about their size only.
Block* HeapPlanner::find_fit(const Arena& arena, std::uint64_t bytes) const noexcept {
  Block* block = arena.cached.best_fit(bytes);
  const std::uint64_t most = state_.options.max_split_bytes;
  if (block == nullptr || most == UINT64_MAX || state_.page != 0) return block;
  if (bytes < most) return block->bytes >= most ? nullptr : block;
  return block->bytes >= bytes + unsplit_slack ? nullptr : block;
}

/// The bytes that the limits leave after the moves that are planned so far.
std::uint64_t HeapPlanner::room_after_plan(const Arena& arena) const noexcept {
  const std::uint64_t reserved = state_.reserved - freed_;
  const std::uint64_t in_pool = arena.pool->reserved - freed_in_pool_;
  return std::min(state_.options.limit > reserved ? state_.options.limit - reserved : 0,
                  arena.pool->limit > in_pool ? arena.pool->limit - in_pool : 0);
}

void HeapPlanner::add_free_segment(Segment* segment, const Arena& arena) {
  plan_.moves.push_back({.kind = MoveKind::free_segment, .segment = segment});
  freed_ += segment->bytes;
  if (segment->arena->pool == arena.pool) freed_in_pool_ += segment->bytes;
}

/// Lists the unused segments of idle arenas that aren't in the plan yet, those unused for longest first. If `wanted`
/// more bytes would exceed the pool's limit, it lists only segments of that pool.
void HeapPlanner::list_unused(const Arena& arena, std::uint64_t wanted) {
  const bool own_pool = arena.pool->limit < arena.pool->reserved - freed_in_pool_ + wanted;
  const auto is_planned = [&](const Segment* segment) {
    return std::any_of(plan_.moves.begin(), plan_.moves.end(),
                       [&](const Move& move) { return move.segment == segment; });
  };
  unused_.clear();
  for (const auto& other : state_.arenas) {
    if (other->cached_bytes == 0 || (own_pool && other->pool != arena.pool) || !idle(*other)) continue;
    for (const auto& segment : other->segments) {
      if (is_unused(*segment) && !is_planned(segment.get())) unused_.push_back(segment.get());
    }
  }
  std::stable_sort(unused_.begin(), unused_.end(),
                   [](const Segment* a, const Segment* b) { return a->first->freed_at < b->first->freed_at; });
}

/// Plans to give back as many unused bytes as will be allocated, or all there are, instead of growing.
void HeapPlanner::free_for_growth(const Arena& arena, std::uint64_t wanted) {
  list_unused(arena, wanted);
  std::uint64_t released = 0;
  for (Segment* segment : unused_) {
    if (released >= wanted) return;
    released += segment->bytes;
    add_free_segment(segment, arena);
  }
}

/// Plans to give unused segments back until the limits leave room, or all of them.
void HeapPlanner::free_for_room(const Arena& arena, std::uint64_t wanted) {
  list_unused(arena, wanted);
  for (Segment* segment : unused_) {
    if (room_after_plan(arena) >= wanted) return;
    add_free_segment(segment, arena);
  }
}

/// Plans the segment that the request needs and, before it, what goes back so that less is wasted or the limits have
/// room.
void HeapPlanner::plan_classic(const Arena& arena, std::uint64_t bytes, Reach reach, const SourceNews& news) {
  if (reach == Reach::cached) return;
  const std::uint64_t wanted = segment_bytes(arena.key.small, bytes);
  freed_ = freed_in_pool_ = 0;
  if (news.refused) {
    plan_segment_release(arena.pool->limit != UINT64_MAX ? &arena.key.pool : nullptr);
  } else {
    if (wanted > room_to_grow(bytes)) free_for_growth(arena, wanted);
    if (reach == Reach::scavenge && room_after_plan(arena) < wanted) free_for_room(arena, wanted);
  }
  if (room_after_plan(arena) < wanted) return;
  plan_.moves.push_back({.kind = MoveKind::allocate_segment, .bytes = wanted});
  plan_.end = PlanEnd::block;
}

void HeapPlanner::plan_segment_release(const std::uint64_t* pool) {
  for (const auto& arena : state_.arenas) {
    if (!may_release(*arena, pool)) continue;
    for (auto segment = arena->segments.rbegin(); segment != arena->segments.rend(); ++segment) {
      if (!is_unused(**segment)) continue;
      plan_.moves.push_back({.kind = MoveKind::free_segment, .segment = segment->get()});
    }
  }
}

}  // namespace anyplace::detail
