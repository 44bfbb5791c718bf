// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/window.h"

#include <algorithm>

namespace anyplace::detail {
namespace {

/// A search that has looked at so many pages ends with the best place that it has, because searches are the cost of
/// requests that fit nowhere. With 500 rather than 8,000 the GPT-2 traces, and copies of them whose sizes are 0.13 to
/// 1.33 times as large, reserve as much, make as many calls and fit under the same limits. Random sizes on eight
/// streams reserve as much, too, with 3 % more requests that map something.
constexpr std::uint64_t patience = 500;

/// The limit while the best place is one where other memory has to be unmapped first. With 500 here too, a training
/// step of 24 layers (training_step in heap_test.cpp) unmaps 39 times in its first round rather than once.
constexpr std::uint64_t patience_with_remaps = 4'000;

}  // namespace

/// Whether the search has run for long enough. If it may not call the source it can end without a place: the request
/// then searches again with calls allowed.
bool WindowSearch::tired() const noexcept {
  if (best_.segment == nullptr) return !limits_.calls && looked_at_ > patience_with_remaps;
  return looked_at_ > (best_.remaps != 0 ? patience_with_remaps : patience);
}

const Window* WindowSearch::find(const Arena& arena, std::uint64_t bytes, std::uint64_t page,
                                 const WindowLimits& limits, PageNotes& notes) {
  bytes_ = bytes;
  page_ = page;
  limits_ = limits;
  notes_ = &notes;
  best_ = Window{};
  looked_at_ = 0;
  arena.unbacked.for_each(0, [&](Block* block) {
    // Each hole is searched once, at its first unbacked block.
    Block* first = block;
    if (is_free(first->before)) {
      first = first->before;
      if (is_free(first->before)) return;
    }
    if (!tired()) look_at(first);
  });
  return best_.segment != nullptr ? &best_ : nullptr;
}

void WindowSearch::look_at(Block* first) {
  segment_ = first->segment;
  begin_ = first->address;
  pieces_.clear();
  for (Block* piece = first; is_free(piece); piece = piece->after) pieces_.push_back(piece);
  end_ = end_of(pieces_.back());
  if (end_ - begin_ < bytes_) return;
  consider(begin_);
  for (const Block* piece : pieces_) {
    if (tired()) break;
    if (piece->backed) {
      consider(piece->address);
      consider(end_of(piece) - bytes_);
    } else {
      consider_switches(piece);
    }
  }
  consider(end_ - bytes_);
}

bool WindowSearch::could_switch(const Page& at) const noexcept {
  return at.physical != nullptr && at.physical->home != &at && notes_->is_free(*at.physical);
}

/// Considers the places that begin or end where a run of switchable pages begins or ends.
void WindowSearch::consider_switches(const Block* piece) {
  if (best_.segment != nullptr && (best_.calls() == 0 || tired())) return;
  std::uint64_t at = (piece->address - segment_->address) / page_;
  const std::uint64_t known =
      std::min<std::uint64_t>((end_of(piece) - segment_->address) / page_, segment_->pages.size());
  const std::uint64_t last = std::min(known, at + patience_with_remaps);  // in any one piece
  looked_at_ += last > at ? last - at : 0;
  while (at < last) {
    at = next_edge(at, last, false);
    if (at == last) return;
    consider(segment_->address + at * page_);
    at = next_edge(at, last, true);
    consider(segment_->address + at * page_ - bytes_);
  }
}

/// The first page from `at` on that can be switched or, `inside` a run of such pages, that can't; `last` if there is
/// none before it.
std::uint64_t WindowSearch::next_edge(std::uint64_t at, std::uint64_t last, bool inside) const {
  auto page = segment_->pages.begin() + static_cast<std::ptrdiff_t>(at);
  while (at < last && could_switch(*page) == inside) {
    ++at;
    ++page;
  }
  return at;
}

bool WindowSearch::can_switch(const Physical& physical, std::uint64_t first, std::uint64_t last) const noexcept {
  if (!notes_->is_free(physical) || notes_->of(physical).seen_in == candidate_) return false;
  const Page& home = *physical.home;
  return home.segment != segment_ || home.index < first || home.index >= last;
}

bool WindowSearch::too_much(const Window& window) const noexcept {
  if (!limits_.calls && window.calls() != 0) return true;
  return !limits_.save_pages && best_.segment != nullptr && window.calls() > best_.calls();
}

/// Adds what one page lacks. Returns false if the page can't be used.
inline bool WindowSearch::add_page(const Page& at, std::uint64_t first, std::uint64_t last, Window& window) {
  if (at.physical == nullptr) {
    ++window.maps;
  } else if (can_switch(*at.physical, first, last)) {
    notes_->of(*at.physical).seen_in = candidate_;
    ++window.switched;
  } else if (limits_.remap) {
    ++window.remaps;
  } else {
    return false;
  }
  return true;
}

/// Adds what an unbacked piece of the window lacks. Returns false if the piece can't be used, or lacks too much.
bool WindowSearch::add_piece(const Block* piece, Window& window) {
  const std::uint64_t first = window.first_page(page_);
  const std::uint64_t last = window.last_page(page_);
  std::uint64_t at = std::max(first, (piece->address - segment_->address) / page_);
  const std::uint64_t end = std::min(last, (end_of(piece) - segment_->address) / page_);
  for (const std::uint64_t known = std::min<std::uint64_t>(end, segment_->pages.size()); at < known; ++at) {
    ++looked_at_;
    if (!add_page(segment_->pages[at], first, last, window) || too_much(window)) return false;
  }
  window.maps += end > at ? end - at : 0;
  return !too_much(window);
}

bool WindowSearch::add_pieces(Window& window) {
  auto at =
      std::partition_point(pieces_.begin(), pieces_.end(), [&](Block* piece) { return end_of(piece) <= window.begin; });
  for (; at != pieces_.end() && (*at)->address < window.end; ++at, ++looked_at_) {
    if (!(*at)->backed && !add_piece(*at, window)) return false;
  }
  return true;
}

/// The free pages that the window occupies: all of its pages except those that it shares with the hole's neighbours.
std::uint64_t WindowSearch::whole_pages_of(const Window& window) const noexcept {
  const std::uint64_t first = window.first_page(page_);
  const std::uint64_t last = window.last_page(page_);
  const bool shares_first = segment_->address + first * page_ < begin_;
  const bool shares_last = segment_->address + last * page_ > end_;
  const std::uint64_t shared = (shares_first ? 1U : 0U) + (shares_last ? 1U : 0U);
  return last - first - std::min(last - first, shared);
}

void WindowSearch::consider(anyplace_address begin) {
  // The difference is modulo 2^64, so this also excludes places that would begin below 0.
  if (begin < begin_ || begin > end_ - bytes_) return;
  candidate_ = notes_->next_candidate();
  Window window;
  window.segment = segment_;
  window.before_hole = pieces_.front()->before;
  window.begin = begin;
  window.end = begin + bytes_;
  window.hole = end_ - begin_;
  window.whole_pages = whole_pages_of(window);
  if (!add_pieces(window)) return;
  if (best_.segment == nullptr || is_better(window, best_)) best_ = window;
}

bool WindowSearch::is_better(const Window& a, const Window& b) const noexcept {
  if (limits_.save_pages && a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
  if (a.calls() != b.calls()) return a.calls() < b.calls();
  if (a.hole != b.hole) return a.hole < b.hole;
  if (a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
  if (a.switched != b.switched) return a.switched < b.switched;
  return a.begin < b.begin;
}

}  // namespace anyplace::detail
