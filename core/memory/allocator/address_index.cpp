// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/address_index.h"

#include <cassert>

namespace anyplace::detail {
namespace {

constexpr std::uint64_t pointer_mask = (std::uint64_t{1} << 53U) - 1;

Block* block_in(std::uint64_t value) noexcept {
  return reinterpret_cast<Block*>(static_cast<std::uintptr_t>(value & pointer_mask));  // NOLINT: packed
}

}  // namespace

AddressIndex::AddressIndex() : root_(std::make_unique<Root>()) {}
AddressIndex::~AddressIndex() = default;

std::size_t AddressIndex::unit_of(anyplace_address address) noexcept {
  return (address >> unit_bits) & ((std::size_t{1} << (mebibyte_bits - unit_bits)) - 1);
}

AddressIndex::Entry* AddressIndex::entry_of(anyplace_address address) const noexcept {
  constexpr std::uint64_t mask = (std::uint64_t{1} << level_bits) - 1;
  const std::uint64_t mebibyte = address >> mebibyte_bits;
  Branch* branch = root_->branches[mebibyte >> (2 * level_bits)].load(std::memory_order_acquire);
  if (branch == nullptr) return nullptr;
  Leaf* leaf = branch->leaves[(mebibyte >> level_bits) & mask].load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : &leaf->entries[mebibyte & mask];
}

AddressIndex::Entry& AddressIndex::make_entry(anyplace_address address) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << level_bits) - 1;
  const std::uint64_t mebibyte = address >> mebibyte_bits;
  auto& branch_link = root_->branches[mebibyte >> (2 * level_bits)];
  Branch* branch = branch_link.load(std::memory_order_relaxed);
  if (branch == nullptr) {
    branches_.push_back(std::make_unique<Branch>());
    branch = branches_.back().get();
    branch_link.store(branch, std::memory_order_release);
  }
  auto& leaf_link = branch->leaves[(mebibyte >> level_bits) & mask];
  Leaf* leaf = leaf_link.load(std::memory_order_relaxed);
  if (leaf == nullptr) {
    leaves_.push_back(std::make_unique<Leaf>());
    leaf = leaves_.back().get();
    leaf_link.store(leaf, std::memory_order_release);
  }
  return leaf->entries[mebibyte & mask];
}

void AddressIndex::prepare(anyplace_address address) {
  Entry* known = entry_of(address);
  Entry& entry = known != nullptr ? *known : make_entry(address);
  const std::uint64_t value = entry.load(std::memory_order_relaxed);
  if (value == 0 || (value & crowded) != 0) return;
  crowds_.push_back(std::make_unique<Crowd>());
  Crowd* crowd = crowds_.back().get();
  crowd->blocks[value >> offset_shift].store(block_in(value), std::memory_order_relaxed);
  entry.store(reinterpret_cast<std::uintptr_t>(crowd) | crowded, std::memory_order_release);
}

void AddressIndex::set(anyplace_address address, Block* block) noexcept {
  Entry* entry = entry_of(address);
  assert(entry != nullptr);
  const std::uint64_t value = entry->load(std::memory_order_relaxed);
  const std::uint64_t unit = unit_of(address);
  if ((value & crowded) != 0) {
    reinterpret_cast<Crowd*>(value & ~crowded)->blocks[unit].store(block, std::memory_order_release);  // NOLINT: packed
    return;
  }
  assert(value == 0);
  entry->store(reinterpret_cast<std::uintptr_t>(block) | unit << offset_shift, std::memory_order_release);
}

void AddressIndex::clear(anyplace_address address) noexcept {
  Entry* entry = entry_of(address);
  assert(entry != nullptr);
  const std::uint64_t value = entry->load(std::memory_order_relaxed);
  if ((value & crowded) != 0) {
    reinterpret_cast<Crowd*>(value & ~crowded)
        ->blocks[unit_of(address)]
        .store(nullptr,  // NOLINT: packed
               std::memory_order_release);
  } else {
    entry->store(0, std::memory_order_release);
  }
}

Block* AddressIndex::find_last(anyplace_address address, anyplace_address lowest) const noexcept {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << mebibyte_bits;
  const auto fits = [&](const Block* block) {
    return block != nullptr && block->address <= address && block->address >= lowest;
  };
  for (anyplace_address at = address; at >= lowest; at = (at & ~(mebibyte - 1)) - 1) {
    const Entry* entry = entry_of(at);
    const std::uint64_t value = entry == nullptr ? 0 : entry->load(std::memory_order_relaxed);
    if ((value & crowded) != 0) {
      const auto& blocks = reinterpret_cast<const Crowd*>(value & ~crowded)->blocks;  // NOLINT: packed
      for (std::size_t unit = unit_of(at) + 1; unit > 0; --unit) {
        Block* const block = blocks[unit - 1].load(std::memory_order_relaxed);
        if (fits(block)) return block;
      }
    } else if (value != 0 && fits(block_in(value))) {
      return block_in(value);
    }
    if (at < mebibyte) break;  // nothing is below
  }
  return nullptr;
}

Block* AddressIndex::find(anyplace_address address) const noexcept {
  const Entry* entry = entry_of(address);
  if (entry == nullptr) return nullptr;
  const std::uint64_t value = entry->load(std::memory_order_acquire);
  const std::uint64_t unit = unit_of(address);
  if ((value & crowded) != 0) {
    return reinterpret_cast<const Crowd*>(value & ~crowded)->blocks[unit].load(std::memory_order_acquire);  // NOLINT
  }
  return value != 0 && value >> offset_shift == unit ? block_in(value) : nullptr;
}

}  // namespace anyplace::detail
