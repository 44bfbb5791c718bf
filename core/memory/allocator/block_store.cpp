// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/block_store.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace anyplace::detail {

void BlockStore::grow(std::size_t count) {
  const std::size_t more = std::max<std::size_t>(count - spare_, 256);
  auto slab = std::make_unique<Block[]>(more);
  slabs_.push_back(nullptr);  // everything that can throw comes before anything is linked
  for (std::size_t i = more; i > 0; --i) {
    slab[i - 1].next = unused_;
    unused_ = &slab[i - 1];
  }
  spare_ += more;
  slabs_.back() = std::move(slab);
}

bool BlockStore::try_ensure(std::size_t count) noexcept {
  try {
    ensure(count);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Block* BlockStore::get() noexcept {
  assert(spare_ > 0);
  Block* block = unused_;
  unused_ = block->next;
  --spare_;
  block->next = nullptr;
  return block;
}

void BlockStore::put(Block* block) noexcept {
  block->use.store(BlockUse::none, std::memory_order_release);
  block->arena = nullptr;
  block->segment = nullptr;
  block->before = block->after = nullptr;
  block->next = unused_;
  unused_ = block;
  ++spare_;
}

}  // namespace anyplace::detail
