// SPDX-License-Identifier: Apache-2.0
//
// Window: a place for a request that fits into no backed block. It lies inside one hole, a run of free blocks, backed
// or not. WindowSearch compares the places in the holes of an arena.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator/arena.h"
#include "memory/allocator/page_notes.h"

namespace anyplace::detail {

struct Window {
  Segment* segment = nullptr;
  Block* before_hole = nullptr;  ///< the block before the hole; null at the segment's beginning
  anyplace_address begin = 0;
  anyplace_address end = 0;
  std::uint64_t switched = 0;     ///< pages whose memory is still mapped there, and free elsewhere
  std::uint64_t maps = 0;         ///< pages where nothing is mapped
  std::uint64_t remaps = 0;       ///< pages where memory is mapped that is in use elsewhere
  std::uint64_t whole_pages = 0;  ///< free pages that it occupies, backed or not
  std::uint64_t hole = 0;         ///< the hole's bytes

  std::uint64_t calls() const noexcept { return maps + 2 * remaps; }
  std::uint64_t lacking() const noexcept { return maps + remaps; }
  std::uint64_t first_page(std::uint64_t page) const noexcept { return (begin - segment->address) / page; }
  std::uint64_t last_page(std::uint64_t page) const noexcept { return (end - segment->address + page - 1) / page; }
};

/// What a search for a window may do, and what it prefers.
struct WindowLimits {
  bool calls = false;       ///< the source may be called
  bool remap = false;       ///< mappings may be ended, because no work uses the arena
  bool save_pages = false;  ///< the fewest occupied whole pages come first
};

class WindowSearch {
 public:
  /// The best place for `bytes` in an arena whose pages have `page` bytes; null if there is none. `notes` tell which
  /// pages may be switched. Throws std::bad_alloc.
  const Window* find(const Arena& arena, std::uint64_t bytes, std::uint64_t page, const WindowLimits& limits,
                     PageNotes& notes);

 private:
  bool tired() const noexcept;
  void look_at(Block* first);
  void consider_switches(const Block* piece);
  std::uint64_t next_edge(std::uint64_t at, std::uint64_t last, bool inside) const;
  void consider(anyplace_address begin);
  bool add_pieces(Window& window);
  bool add_piece(const Block* piece, Window& window);
  bool add_page(const Page& at, std::uint64_t first, std::uint64_t last, Window& window);
  std::uint64_t whole_pages_of(const Window& window) const noexcept;
  bool could_switch(const Page& at) const noexcept;
  bool can_switch(const Physical& physical, std::uint64_t first, std::uint64_t last) const noexcept;
  bool too_much(const Window& window) const noexcept;
  bool is_better(const Window& a, const Window& b) const noexcept;

  // -- State of one search.
  std::uint64_t bytes_ = 0;
  std::uint64_t page_ = 0;
  WindowLimits limits_;
  PageNotes* notes_ = nullptr;
  Window best_;
  std::uint64_t looked_at_ = 0;
  // -- State of one hole.
  Segment* segment_ = nullptr;
  anyplace_address begin_ = 0;
  anyplace_address end_ = 0;
  std::vector<Block*> pieces_;
  // -- State of one place.
  std::uint64_t candidate_ = 0;
};

}  // namespace anyplace::detail
