// SPDX-License-Identifier: Apache-2.0
//
// The search for a window: it weighs the places that the holes of an arena have for a request.
#include <algorithm>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

/// Pages looked at by one search; what is found by then will do.
constexpr std::uint64_t patience = 8'000;

class HoleSearch {
 public:
  HoleSearch(std::uint64_t bytes, std::uint64_t page, const WindowLimits& limits, Window* best)
      : bytes_(bytes), page_(page), limits_(limits), best_(best) {}

  bool tired() const { return looked_at_ > patience && best_->segment != nullptr; }

  void look_at(Block* first) {
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

 private:
  bool could_switch(const Page& at) const {
    return at.physical != nullptr && at.physical->home != &at && at.physical->free_in == limits_.search;
  }

  /// Where runs of pages begin and end that could be switched.
  void consider_switches(const Block* piece) {
    if (best_->segment != nullptr && (best_->calls() == 0 || tired())) return;
    std::uint64_t at = (piece->address - segment_->address) / page_;
    const std::uint64_t last =
        std::min<std::uint64_t>((end_of(piece) - segment_->address) / page_, segment_->pages.size());
    if (at >= last) return;
    auto page = segment_->pages.begin() + static_cast<std::ptrdiff_t>(at);
    bool before = false;
    for (; at < last; ++at, ++page, ++looked_at_) {
      const bool here = could_switch(*page);
      if (here == before) continue;
      before = here;
      const anyplace_address edge = segment_->address + at * page_;
      consider(here ? edge : edge - bytes_);
    }
    if (before) consider(segment_->address + last * page_ - bytes_);
  }

  /// Adds up what an unbacked piece of the window lacks. False: it can't be had, or is too much.
  bool add_piece(const Block* piece, Window& window) {
    const std::uint64_t first = window.first_page(page_);
    const std::uint64_t last = window.last_page(page_);
    std::uint64_t at = std::max(first, (piece->address - segment_->address) / page_);
    const std::uint64_t end = std::min(last, (end_of(piece) - segment_->address) / page_);
    for (const std::uint64_t mapped = std::min<std::uint64_t>(end, segment_->pages.size()); at < mapped; ++at) {
      ++looked_at_;
      const Page& here = segment_->pages[at];
      if (here.physical == nullptr) {
        ++window.maps;
      } else if (can_switch(*here.physical, first, last)) {
        here.physical->seen_in = candidates_;
        ++window.switched;
      } else if (limits_.remap) {
        ++window.remaps;
      } else {
        return false;
      }
      if (too_much(window)) return false;
    }
    window.maps += end > at ? end - at : 0;
    return !too_much(window);
  }

  bool can_switch(const Physical& physical, std::uint64_t first, std::uint64_t last) const {
    if (physical.free_in != limits_.search || physical.seen_in == candidates_) return false;
    const Page& home = *physical.home;
    return home.segment != segment_ || home.index < first || home.index >= last;
  }

  bool too_much(const Window& window) const {
    if (!limits_.calls && window.calls() != 0) return true;
    return !limits_.save_pages && best_->segment != nullptr && window.calls() > best_->calls();
  }

  void consider(anyplace_address begin) {
    if (begin < begin_ || begin > end_ - bytes_) return;  // modulo 2^64, so also what would begin below 0
    ++candidates_;
    Window window;
    window.segment = segment_;
    window.before_hole = pieces_.front()->before;
    window.begin = begin;
    window.end = begin + bytes_;
    window.hole = end_ - begin_;
    window.whole_pages = window.last_page(page_) - window.first_page(page_);
    const bool shares_first = segment_->address + window.first_page(page_) * page_ < begin_;
    const bool shares_last = segment_->address + window.last_page(page_) * page_ > end_;
    window.whole_pages -=
        std::min<std::uint64_t>(window.whole_pages, (shares_first ? 1U : 0U) + (shares_last ? 1U : 0U));
    auto at =
        std::partition_point(pieces_.begin(), pieces_.end(), [&](Block* piece) { return end_of(piece) <= begin; });
    for (; at != pieces_.end() && (*at)->address < window.end; ++at, ++looked_at_) {
      if (!(*at)->backed && !add_piece(*at, window)) return;
    }
    if (best_->segment == nullptr || better(window, *best_)) *best_ = window;
  }

  bool better(const Window& a, const Window& b) const {
    if (limits_.save_pages && a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
    if (a.calls() != b.calls()) return a.calls() < b.calls();
    if (a.hole != b.hole) return a.hole < b.hole;
    if (a.whole_pages != b.whole_pages) return a.whole_pages < b.whole_pages;
    if (a.switched != b.switched) return a.switched < b.switched;
    return a.begin < b.begin;
  }

  std::uint64_t bytes_;
  std::uint64_t page_;
  WindowLimits limits_;
  Window* best_;
  Segment* segment_ = nullptr;
  anyplace_address begin_ = 0;
  anyplace_address end_ = 0;
  std::vector<Block*> pieces_;
  std::uint64_t candidates_ = limits_.search << 32U;
  std::uint64_t looked_at_ = 0;
};

}  // namespace

bool find_window(const Arena& arena, std::uint64_t bytes, std::uint64_t page, const WindowLimits& limits,
                 Window* window) {
  *window = Window{};
  HoleSearch search(bytes, page, limits, window);
  arena.unbacked.for_each(0, [&](Block* block) {
    // Each hole once: at the first of it that isn't backed.
    Block* first = block;
    if (is_free(first->before)) {
      first = first->before;
      if (is_free(first->before)) return;
    }
    if (!search.tired()) search.look_at(first);
  });
  return window->segment != nullptr;
}

}  // namespace anyplace::detail
