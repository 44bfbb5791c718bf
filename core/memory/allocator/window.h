// SPDX-License-Identifier: Apache-2.0
//
// Window: a place for a request that fits into no backed block. It lies inside one hole, a run of free blocks, backed
// or not. WindowSearch compares the places in the holes of an arena.
#pragma once

#include <cstdint>

#include "memory/allocator/arena.h"
#include "memory/allocator/page_notes.h"

namespace anyplace::detail {

struct Window {
  Segment* segment = nullptr;
  Block* before_hole = nullptr;  ///< the block before the hole; null at the segment's beginning
  anyplace_address begin = 0;
  anyplace_address end = 0;
  std::uint64_t switched = 0;  ///< pages whose memory is mapped there already, and free elsewhere
  std::uint64_t maps = 0;      ///< pages where nothing is mapped
  std::uint64_t remaps = 0;    ///< pages where memory is mapped that is in use elsewhere
  std::uint64_t hole = 0;      ///< bytes

  std::uint64_t calls() const noexcept { return maps + 2 * remaps; }
  std::uint64_t lacking() const noexcept { return maps + remaps; }
  std::uint64_t first_page(std::uint64_t page) const noexcept { return (begin - segment->address) / page; }
  std::uint64_t last_page(std::uint64_t page) const noexcept { return (end - segment->address + page - 1) / page; }
};

/// What a search for a window may do, and what it prefers.
struct WindowLimits {
  bool calls = false;  ///< The source may be called.
  bool remap = false;  ///< Mappings may be ended: no work uses the arena.
};

class WindowSearch {
 public:
  /// The best place for `bytes` in an arena whose pages have `page` bytes; null if there is none. `notes` tell which
  /// pages may be switched. Throws std::bad_alloc.
  const Window* find(const Arena& arena, std::uint64_t bytes, std::uint64_t page, const WindowLimits& limits,
                     PageNotes& notes) noexcept;

 private:
  void look_at(Block* first) noexcept;
  bool add_piece(const Block* piece, Window& window) const noexcept;
  bool add_page(const Page& at, Window& window) const noexcept;
  bool can_switch(const Physical& physical, const Window& window) const noexcept;
  bool too_much(const Window& window) const noexcept;
  static bool is_better(const Window& a, const Window& b) noexcept;

  // -- State of one search.
  std::uint64_t bytes_ = 0;
  std::uint64_t page_ = 0;
  WindowLimits limits_;
  PageNotes* notes_ = nullptr;
  Window best_;
  std::uint64_t candidate_ = 0;  ///< the window that is looked at
};

}  // namespace anyplace::detail
