// SPDX-License-Identifier: Apache-2.0
//
// The functions of a warp on the host: its lanes meet as threads meet at a barrier, each on its stack (host_block.h,
// host_threads.cpp). The last one to arrive hands each lane what it asks for, so that nothing is read from a stack
// whose thread has gone on. A kernel that uses them doesn't become loops (docs/barriers.md).
#pragma once

#include <stdint.h>

#include <type_traits>

#include "host_block.h"

namespace anyplace::device_code {

inline uint32_t warp_lane() noexcept { return number_in_block(block_state.thread, block_state.block_size) % warp_size; }

template <class T>
inline T warp_read(uint32_t mask, const T& value, uint32_t source) {
  static_assert(std::is_trivially_copyable_v<T>, "what lanes pass to each other is copied as bytes");
  const T own = value;
  T result = value;
  WarpExchange exchange{mask, false, &own, &result, sizeof(T), source, 0, false};
  anyplace_meet_warp(&exchange);
  return result;
}
inline uint32_t warp_ballot(uint32_t mask, bool predicate) {
  WarpExchange exchange{mask, predicate, nullptr, nullptr, 0, 0, 0, false};
  anyplace_meet_warp(&exchange);
  return exchange.votes;
}
inline void warp_meet(uint32_t mask) { warp_ballot(mask, false); }

}  // namespace anyplace::device_code

#include "warps.h"
