// SPDX-License-Identifier: Apache-2.0
//
// One thread makes these copies and fills, which are short entries of a stream's queue (command_queue.h). copy.h has
// the others.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>

namespace anyplace::cpu_sim {

/// More bytes than this are worth several threads.
inline constexpr std::uint64_t short_bytes = 256 << 10;
/// At most so many bytes are a short entry. It is 0 where memory is protected (protection.h), because these entries
/// have no access to it. It is set before there is a stream.
inline constinit std::uint64_t short_limit = short_bytes;

void run_copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes) noexcept;
/// Elements of 1, 2 or 4 bytes get the low bits of the value.
void run_fill(anyplace_address address, std::uint32_t value, std::uint64_t width, std::uint64_t count) noexcept;

}  // namespace anyplace::cpu_sim
