// SPDX-License-Identifier: Apache-2.0
//
// AddressIndex: finds the block that begins at an address. It is a table of three levels, indexed by the address's
// mebibyte. A mebibyte in which more than one block begins has a table of its own for them.
//
// Its resolution is a unit of block_unit bytes. A block may begin anywhere in a unit, because a device may align its
// allocations to less. Blocks are at least a unit long and don't overlap, so no two begin in the same unit.
//
// There is one writer at a time. find() needs no lock: what it reads is published with release order, and stays until
// the index is destroyed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/allocator/block.h"

namespace anyplace::detail {

class AddressIndex {
 public:
  AddressIndex();
  ~AddressIndex();
  AddressIndex(const AddressIndex&) = delete;  // tables point to each other
  AddressIndex& operator=(const AddressIndex&) = delete;

  /// Makes room for a block that begins at the address, so that set() can't fail. Throws std::bad_alloc.
  void prepare(anyplace_address address);
  void set(anyplace_address address, Block* block) noexcept;
  void clear(anyplace_address address) noexcept;
  /// The block that begins in the same unit as the address, maybe not at the address itself; null if none does.
  Block* find(anyplace_address address) const noexcept;
  /// The last block that begins in [lowest, address]; null if none does. It takes a step for each mebibyte in which no
  /// block begins. Only the writer may call it.
  Block* find_last(anyplace_address address, anyplace_address lowest) const noexcept;

 private:
  static constexpr unsigned unit_bits = 9;       // a unit has block_unit bytes
  static constexpr unsigned mebibyte_bits = 20;  // an entry covers a mebibyte
  static constexpr unsigned level_bits = 15;     // 20 + 15 + 15 + 14 = 64

  /// 0 if no block begins in the mebibyte. Otherwise either one block and, in the 11 top bits, the unit where it
  /// begins, or a Crowd with `crowded` set.
  using Entry = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t crowded = 1;
  static constexpr unsigned offset_shift = 53;

  struct Crowd {
    std::array<std::atomic<Block*>, std::size_t{1} << (mebibyte_bits - unit_bits)> blocks{};
  };
  struct Leaf {
    std::array<Entry, std::size_t{1} << level_bits> entries{};
  };
  struct Branch {
    std::array<std::atomic<Leaf*>, std::size_t{1} << level_bits> leaves{};
  };
  struct Root {
    std::array<std::atomic<Branch*>, std::size_t{1} << (64 - mebibyte_bits - 2 * level_bits)> branches{};
  };

  static std::size_t unit_of(anyplace_address address) noexcept;
  Entry* entry_of(anyplace_address address) const noexcept;
  Entry& make_entry(anyplace_address address);

  std::unique_ptr<Root> root_;
  std::vector<std::unique_ptr<Branch>> branches_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::vector<std::unique_ptr<Crowd>> crowds_;
};

}  // namespace anyplace::detail
