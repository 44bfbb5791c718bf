// SPDX-License-Identifier: Apache-2.0
//
// HeapLayout: a heap's state made by hand, without a source: ranges whose pages are backed, free or taken as a case
// needs them. Plans over it are shown as text, one line for a move: "map A 2+3" maps three pages of segment A from its
// page 2 on. Segments are named in the order of their addresses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "memory/allocator/heap_check.h"
#include "memory/allocator/heap_plan.h"
#include "memory/allocator/heap_state.h"

namespace anyplace::test {

inline constexpr std::uint64_t layout_page = 2 * 1024 * 1024;

/// Arenas are idle unless their stream is said to be busy.
class LayoutUser final : public detail::HeapUser {
 public:
  std::map<std::uint64_t, bool> busy;
  bool idle(const detail::ArenaKey& arena) noexcept override {
    const auto found = busy.find(arena.stream);
    return found == busy.end() || !found->second;
  }
  void note(detail::TraceAction /*action*/, const detail::ArenaKey& /*arena*/, std::uint64_t /*address*/,
            std::uint64_t /*bytes*/) noexcept override {}
};

class HeapLayout {
 public:
  explicit HeapLayout(bool virtual_memory = true, const detail::HeapOptions& options = {})
      : state(stats, options, virtual_memory ? layout_page : 0) {}

  detail::Arena& arena(std::uint64_t stream, std::uint64_t pool = 0, bool small = false) {
    const detail::ArenaKey key{stream, pool, small};
    if (const auto found = state.by_key.find(key); found != state.by_key.end()) return *found->second;
    state.arenas.push_back(std::make_unique<detail::Arena>());
    state.arenas.back()->key = key;
    state.arenas.back()->pool = &state.pool_of(pool);
    state.by_key.emplace(key, state.arenas.back().get());
    return *state.arenas.back();
  }
  /// A range of addresses without memory.
  detail::Segment& range(detail::Arena& arena, std::uint64_t pages) { return add(arena, pages * layout_page, false); }
  /// A classic segment, one free block.
  detail::Segment& segment(detail::Arena& arena, std::uint64_t bytes) { return add(arena, bytes, true); }

  /// Free pages with new memory.
  void hold(detail::Segment& segment, std::uint64_t first, std::uint64_t count) {
    detail::HeapState::extend_pages(segment, first + count);
    state.pages.ensure(count);
    for (std::uint64_t i = first; i < first + count; ++i) {
      state.attach(segment.pages[i], state.pages.get(++last_handle_));
    }
    come_home(segment, first, count);
  }
  /// The memory of free pages goes where it is wanted; it stays mapped where it was.
  void move(detail::Segment& from, std::uint64_t first, std::uint64_t count, detail::Segment& to, std::uint64_t at) {
    ++state.clock;
    state.store.ensure(8);
    state.leave(block_at(from, first), first, count);
    detail::HeapState::extend_pages(to, at + count);
    for (std::uint64_t i = 0; i < count; ++i) state.attach(to.pages[at + i], from.pages[first + i].physical);
    come_home(to, at, count);
  }
  /// Takes bytes that begin at a page.
  detail::Block* take(detail::Segment& segment, std::uint64_t first, std::uint64_t bytes) {
    detail::Block* const block = state.carve(block_at(segment, first), segment.address + first * layout_page, bytes);
    state.settle(segment.arena->key.small);
    return block;
  }
  detail::Block* take_pages(detail::Segment& segment, std::uint64_t first, std::uint64_t count) {
    return take(segment, first, count * layout_page);
  }
  void give(detail::Block* block) {
    ++state.clock;
    const bool small = block->arena->key.small;
    state.give(block);
    state.settle(small);
  }

  detail::Block* block_at(const detail::Segment& segment, std::uint64_t page) const {
    detail::Block* block = segment.first;
    while (detail::end_of(block) <= segment.address + page * layout_page) block = block->after;
    return block;
  }

  std::vector<std::string> moves(const detail::Plan& plan) const {
    std::vector<std::string> lines;
    for (const detail::Move& move : plan.moves) lines.push_back(text(move));
    return lines;
  }
  /// What is mapped, page by page: where it is at home, or "new".
  std::vector<std::string> pages(const detail::Plan& plan) const {
    std::vector<std::string> lines;
    for (const detail::Physical* physical : plan.pages) {
      lines.push_back(
          physical == nullptr ? "new" : name(physical->home->segment) + " " + std::to_string(physical->home->index));
    }
    return lines;
  }
  /// Where the request goes, in pages; "new" in the segment that the plan allocates.
  std::string place(const detail::Plan& plan) const {
    if (plan.end != detail::PlanEnd::block) return plan.end == detail::PlanEnd::again ? "again" : "refused";
    if (plan.place.segment == nullptr) return "new";
    return name(plan.place.segment) + " " +
           std::to_string((plan.place.begin - plan.place.segment->address) / layout_page);
  }

  detail::StatTable stats;
  LayoutUser user;
  detail::HeapState state;

 private:
  detail::Segment& add(detail::Arena& arena, std::uint64_t bytes, bool backed) {
    ++state.clock;
    detail::Segment& made = *state.add_segment(arena, next_, bytes, backed)->segment;
    next_ += (bytes / (std::uint64_t{1} << 30U) + 1) << 30U;
    return made;
  }
  void come_home(detail::Segment& segment, std::uint64_t first, std::uint64_t count) {
    ++state.clock;
    state.store.ensure(8);
    state.back(block_at(segment, first), first, count);
  }

  std::string name(const detail::Segment* segment) const {
    char letter = 'A';
    for (const auto& [address, known] : state.segments) {
      if (known == segment) break;
      ++letter;
    }
    return {letter};
  }
  std::string text(const detail::Move& move) const {
    using detail::MoveKind;
    const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; };
    switch (move.kind) {
      case MoveKind::reserve_range:
        return "reserve " + mebibytes(move.bytes) + ", at least " + mebibytes(move.least);
      case MoveKind::allocate_segment:
        return "allocate " + mebibytes(move.bytes);
      case MoveKind::create_pages:
        return "create " + std::to_string(move.count);
      case MoveKind::free_segment:
        return "free " + name(move.segment);
      default:
        break;
    }
    static const std::map<MoveKind, std::string> words = {{MoveKind::unmap, "unmap"},
                                                          {MoveKind::map, "map"},
                                                          {MoveKind::leave, "leave"},
                                                          {MoveKind::back, "back"},
                                                          {MoveKind::release_pages, "release"}};
    return words.at(move.kind) + " " + name(move.segment) + " " + std::to_string(move.first) + "+" +
           std::to_string(move.count);
  }

  std::uint64_t next_ = std::uint64_t{1} << 40U;
  anyplace_physical last_handle_ = 0;
};

}  // namespace anyplace::test
