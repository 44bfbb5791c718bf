// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/window.h"

#include <algorithm>

namespace anyplace::detail {

const Window* WindowSearch::find(const Arena& arena, std::uint64_t bytes, std::uint64_t page,
                                 const WindowLimits& limits, PageNotes& notes) noexcept {
  bytes_ = bytes;
  page_ = page;
  limits_ = limits;
  notes_ = &notes;
  best_ = Window{};
  arena.unbacked.for_each(0, [&](Block* block) {
    // Each hole is searched once, at its first unbacked block.
    Block* first = block;
    if (is_free(first->before)) {
      first = first->before;
      if (is_free(first->before)) return;
    }
    look_at(first);
  });
  return best_.segment != nullptr ? &best_ : nullptr;
}

void WindowSearch::look_at(Block* first) noexcept {
  candidate_ = notes_->next_candidate();
  Window window;
  window.segment = first->segment;
  window.before_hole = first->before;
  window.begin = first->address;
  window.end = window.begin + bytes_;
  anyplace_address hole_end = window.begin;
  for (const Block* piece = first; is_free(piece); piece = piece->after) {
    if (!piece->backed && piece->address < window.end && !add_piece(piece, window)) return;
    hole_end = end_of(piece);
  }
  window.hole = hole_end - window.begin;
  if (window.hole < bytes_) return;
  if (best_.segment == nullptr || is_better(window, best_)) best_ = window;
}

bool WindowSearch::can_switch(const Physical& physical, const Window& window) const noexcept {
  if (!notes_->is_free(physical) || notes_->of(physical).seen_in == candidate_) return false;
  const Page& home = *physical.home;
  return home.segment != window.segment || home.index < window.first_page(page_) ||
         home.index >= window.last_page(page_);
}

bool WindowSearch::too_much(const Window& window) const noexcept {
  if (!limits_.calls && window.calls() != 0) return true;
  return best_.segment != nullptr && window.calls() > best_.calls();
}

/// Adds what one page lacks. False: it can't be had.
bool WindowSearch::add_page(const Page& at, Window& window) const noexcept {
  if (at.physical == nullptr) {
    ++window.maps;
  } else if (can_switch(*at.physical, window)) {
    notes_->of(*at.physical).seen_in = candidate_;
    ++window.switched;
  } else if (limits_.remap) {
    ++window.remaps;
  } else {
    return false;
  }
  return true;
}

/// Adds what an unbacked piece of the window lacks. False: it can't be had, or is too much.
bool WindowSearch::add_piece(const Block* piece, Window& window) const noexcept {
  const Segment& segment = *window.segment;
  std::uint64_t at = (piece->address - segment.address) / page_;
  const std::uint64_t end = std::min(window.last_page(page_), (end_of(piece) - segment.address) / page_);
  for (const std::uint64_t known = std::min<std::uint64_t>(end, segment.pages.size()); at < known; ++at) {
    if (!add_page(segment.pages[at], window) || too_much(window)) return false;
  }
  window.maps += end > at ? end - at : 0;
  return !too_much(window);
}

bool WindowSearch::is_better(const Window& a, const Window& b) noexcept {
  if (a.calls() != b.calls()) return a.calls() < b.calls();
  if (a.hole != b.hole) return a.hole < b.hole;
  if (a.switched != b.switched) return a.switched < b.switched;
  return a.begin < b.begin;
}

}  // namespace anyplace::detail
