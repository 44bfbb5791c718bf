// SPDX-License-Identifier: Apache-2.0
//
// Memory of this process as blocks: what device memory is made of where it is neither protected (protection.h) nor
// shared (file_memory.h).
#pragma once

#include <cstdint>

namespace anyplace::cpu_sim {

inline constexpr std::uint64_t address_alignment = 256;

/// Returns memory from the host, or null if it has none.
void* take_host_memory(std::uint64_t bytes) noexcept;
void give_host_memory(void* memory, std::uint64_t bytes) noexcept;

/// Makes an access of the block an error until it is opened again: a fault from 64 KiB on, and below that a report of
/// AddressSanitizer in programs that have it. The block's bytes are kept.
void close_host_memory(void* memory, std::uint64_t bytes) noexcept;
/// Returns false if the host can't open it. A block that wasn't closed is open already.
bool open_host_memory(void* memory, std::uint64_t bytes) noexcept;

}  // namespace anyplace::cpu_sim
