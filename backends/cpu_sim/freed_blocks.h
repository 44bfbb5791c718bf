// SPDX-License-Identifier: Apache-2.0
//
// FreedBlocks keeps device memory that was freed, in the deterministic mode, so that the director can choose which
// memory an allocation gets: fresh memory, or a block of its size that was freed before. A use after free does harm
// when somebody else has the memory, and a program may rely on getting what it freed; either is found by a choice.
//
// What was freed in a stream's order stays accessible, as in the pool of a device's driver. What was freed at once
// isn't, as after a driver's own free.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace anyplace::cpu_sim {

class FreedBlocks {
 public:
  FreedBlocks() = default;
  FreedBlocks(const FreedBlocks&) = delete;  // Its blocks have one owner.
  FreedBlocks& operator=(const FreedBlocks&) = delete;
  ~FreedBlocks();

  /// Takes a block of take_host_memory() that was freed, and gives the oldest ones to the host if it has too much.
  /// Returns false if it takes none: in threads mode, and for a large block.
  bool keep(anyplace_address address, std::uint64_t bytes, bool stays_accessible) noexcept;
  /// Returns a block of that size if the director chooses one, else 0: the caller takes fresh memory.
  anyplace_address take(std::uint64_t bytes);

 private:
  struct Block {
    anyplace_address address;
    std::uint64_t bytes;
  };

  void give_away(std::size_t index) noexcept;

  std::mutex mutex_;           // The director's own is taken under it.
  std::vector<Block> blocks_;  // mutex_ guards it; they are in the order in which they were freed.
  std::uint64_t bytes_ = 0;    // mutex_ guards it; blocks_ have so many.
};

}  // namespace anyplace::cpu_sim
