// SPDX-License-Identifier: Apache-2.0
// What both engines do with what crosses the boundary: questions about an operation, and a guard for their entries.
#pragma once

#include <cstdint>
#include <exception>

#include "anyplace/backend/engine.h"

namespace anyplace::engines {

/// Returns the bytes of an element of the type.
inline std::uint64_t bytes_of(std::uint32_t type) noexcept {
#define ANYPLACE_BYTES(upper, lower, number, bytes) bytes,
  constexpr std::uint64_t all[] = {ANYPLACE_DTYPE_LIST(ANYPLACE_BYTES)};
#undef ANYPLACE_BYTES
  return all[type];
}

inline bool reduces(const anyplace_engine_part& part) noexcept {
  return part.collective == ANYPLACE_COLLECTIVE_ALL_REDUCE || part.collective == ANYPLACE_COLLECTIVE_REDUCE ||
         part.collective == ANYPLACE_COLLECTIVE_REDUCE_SCATTER;
}

inline bool is_between_two(const anyplace_engine_part& part) noexcept {
  return part.collective == ANYPLACE_COLLECTIVE_SEND || part.collective == ANYPLACE_COLLECTIVE_RECV;
}

/// Returns part `index` of an array whose elements begin `stride` bytes apart.
inline const anyplace_engine_part& part_of(const anyplace_engine_part* parts, std::uint32_t index,
                                           std::uint32_t stride) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(parts);
  return *reinterpret_cast<const anyplace_engine_part*>(bytes + std::uint64_t{index} * stride);
}

/// Returns the address as the pointer that libraries take.
inline void* pointer(anyplace_address address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// Calls `call`, whose only exception is that memory runs out, and returns a status for that, too.
template <class Call>
anyplace_status guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const std::exception&) {
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  }
}

}  // namespace anyplace::engines
