// SPDX-License-Identifier: Apache-2.0
//
// BlockStore: allocates Blocks. The memory of a Block is reused for other blocks, and goes back to the system only with
// the store (block.h says why).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "memory/allocator/block.h"

namespace anyplace::detail {

class BlockStore {
 public:
  /// Makes sure that the next `count` calls of get() succeed. Throws std::bad_alloc.
  void ensure(std::size_t count) {
    if (spare_ < count) grow(count);
  }
  /// Like ensure(), but returns false instead of throwing.
  bool try_ensure(std::size_t count) noexcept;

  Block* get() noexcept;  ///< may be called as often as ensure() has promised
  void put(Block* block) noexcept;

 private:
  void grow(std::size_t count);

  std::vector<std::unique_ptr<Block[]>> slabs_;
  Block* unused_ = nullptr;  ///< linked by `next`
  std::size_t spare_ = 0;
};

}  // namespace anyplace::detail
