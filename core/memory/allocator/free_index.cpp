// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/free_index.h"

#include <bit>
#include <cassert>

namespace anyplace::detail {
namespace {

bool less(const Block* a, const Block* b) noexcept {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

/// The priority balances the trees. A hash of the address is as good as a random number, and the same in every run.
std::uint64_t priority_of(const Block* block) noexcept {
  std::uint64_t x = block->address * 0x9e3779b97f4a7c15U;
  x ^= x >> 29U;
  x *= 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 32U);
}

/// Splits a tree into the blocks before `block` and those after it.
void split(Block* tree, const Block* block, Block** before, Block** after) noexcept {
  while (tree != nullptr) {
    if (less(tree, block)) {
      *before = tree;
      before = &tree->index_right;
      tree = tree->index_right;
    } else {
      *after = tree;
      after = &tree->index_left;
      tree = tree->index_left;
    }
  }
  *before = *after = nullptr;
}

/// Merges two trees; all blocks of `before` come before all of `after`.
void merge(Block** link, Block* before, Block* after) noexcept {
  while (before != nullptr && after != nullptr) {
    if (before->index_key > after->index_key) {
      *link = before;
      link = &before->index_right;
      before = before->index_right;
    } else {
      *link = after;
      link = &after->index_left;
      after = after->index_left;
    }
  }
  *link = before != nullptr ? before : after;
}

}  // namespace

std::size_t FreeIndex::class_of(std::uint64_t bytes) noexcept {
  if (bytes < 8) return 0;
  const auto high = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  return high * 8 + ((bytes >> (high - 3)) & 7U);
}

std::size_t FreeIndex::next_class(std::size_t from) const noexcept {
  if (from >= classes) return classes;
  std::size_t word = from / 64;
  std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++word == filled_.size()) return classes;
    bits = filled_[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

void FreeIndex::insert(Block* block) noexcept {
  block->index_key = priority_of(block);
  const std::size_t at = class_of(block->bytes);
  Block** link = &roots_[at];
  while (*link != nullptr && (*link)->index_key >= block->index_key) {
    link = less(*link, block) ? &(*link)->index_right : &(*link)->index_left;
  }
  split(*link, block, &block->index_left, &block->index_right);
  *link = block;
  filled_[at / 64] |= std::uint64_t{1} << (at % 64);
  ++size_;
}

void FreeIndex::remove(Block* block) noexcept {
  const std::size_t at = class_of(block->bytes);
  Block** link = &roots_[at];
  while (*link != block) {
    assert(*link != nullptr);
    link = less(*link, block) ? &(*link)->index_right : &(*link)->index_left;
  }
  merge(link, block->index_left, block->index_right);
  block->index_left = block->index_right = nullptr;
  if (roots_[at] == nullptr) filled_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
  --size_;
}

Block* FreeIndex::best_fit(std::uint64_t bytes) const noexcept {
  const std::size_t own = class_of(bytes);
  Block* best = nullptr;
  for (Block* node = roots_[own]; node != nullptr;) {
    if (node->bytes >= bytes) {
      best = node;
      node = node->index_left;
    } else {
      node = node->index_right;
    }
  }
  if (best != nullptr) return best;
  const std::size_t at = next_class(own + 1);
  if (at == classes) return nullptr;
  best = roots_[at];
  while (best->index_left != nullptr) best = best->index_left;
  return best;
}

bool FreeIndex::contains(const Block* block) const noexcept {
  const Block* node = roots_[class_of(block->bytes)];
  while (node != nullptr && node != block) node = less(node, block) ? node->index_right : node->index_left;
  return node != nullptr;
}

}  // namespace anyplace::detail
