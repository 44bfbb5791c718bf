// SPDX-License-Identifier: Apache-2.0
//
// Addresses of this process that are reserved for memory, and where memory begins.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>

namespace anyplace::cpu_sim {

/// No process has as many addresses. The limit keeps sums of sizes and addresses from wrapping.
inline constexpr std::uint64_t most_addresses = std::uint64_t{1} << 56;

std::uint64_t page_bytes() noexcept;
/// `bytes` is most_addresses at most, here and below.
std::uint64_t whole_pages(std::uint64_t bytes) noexcept;

/// Reserves addresses without memory, from a multiple of `alignment` on. Returns 0, and sets errno, if there are none.
anyplace_address take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept;

/// From here on each block begins at a multiple of its size, rounded up to a power of two. A part of it that the core
/// aligns is then at the same offset in each run, wherever the system has put the block: the deterministic mode asks
/// for that.
void align_blocks_by_size() noexcept;
/// Returns what the address of a block has to be a multiple of, at least `least`.
std::uint64_t block_alignment(std::uint64_t bytes, std::uint64_t least) noexcept;

}  // namespace anyplace::cpu_sim
