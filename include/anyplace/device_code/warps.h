// SPDX-License-Identifier: Apache-2.0
//
// CUDA's functions of a warp, where neither a vendor's header nor PTX has them: on the host and in AMD's code objects.
// A warp is 32 consecutive threads of a block on both, also where an AMD wave has 64 lanes and so holds two warps. The
// including header has defined four functions, whose lanes and masks are those of the caller's warp:
//
//   warp_lane()                            the caller's lane, 0 to 31
//   warp_read(mask, value, source)         the value that the lane `source` passes; the lanes of the mask meet
//   warp_ballot(mask, predicate)           a bit for each lane of the mask whose predicate is true; they meet
//   warp_meet(mask)                        they meet, and see what each wrote before
#pragma once

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST)
constexpr int warpSize = 32;
#else
#define warpSize 32  // as in CUDA no variable that has an address
#endif

ANYPLACE_DEVICE_FUNCTION void __syncwarp(unsigned int mask = 0xffffffffu) { ::anyplace::device_code::warp_meet(mask); }
ANYPLACE_DEVICE_FUNCTION unsigned int __ballot_sync(unsigned int mask, int x) {
  return ::anyplace::device_code::warp_ballot(mask, x != 0);
}
ANYPLACE_DEVICE_FUNCTION int __any_sync(unsigned int mask, int x) {
  return ::anyplace::device_code::warp_ballot(mask, x != 0) != 0;
}
ANYPLACE_DEVICE_FUNCTION int __all_sync(unsigned int mask, int x) {
  return ::anyplace::device_code::warp_ballot(mask, x == 0) == 0;
}

// The lanes are in groups of `width`, a power of two. A lane that would read outside of its group keeps its value; so
// does one that reads from a lane which doesn't take part.
template <class T>
ANYPLACE_DEVICE_FUNCTION T __shfl_sync(unsigned int mask, T value, int lane, int width = warpSize) {
  const unsigned int own = ::anyplace::device_code::warp_lane(), inside = static_cast<unsigned int>(width) - 1;
  return ::anyplace::device_code::warp_read(mask, value, (own & ~inside) | (static_cast<unsigned int>(lane) & inside));
}
template <class T>
ANYPLACE_DEVICE_FUNCTION T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {
  const unsigned int own = ::anyplace::device_code::warp_lane(), inside = static_cast<unsigned int>(width) - 1;
  return ::anyplace::device_code::warp_read(mask, value, delta <= (own & inside) ? own - delta : own);
}
template <class T>
ANYPLACE_DEVICE_FUNCTION T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {
  const unsigned int own = ::anyplace::device_code::warp_lane(), inside = static_cast<unsigned int>(width) - 1;
  return ::anyplace::device_code::warp_read(mask, value, delta <= inside - (own & inside) ? own + delta : own);
}
template <class T>
ANYPLACE_DEVICE_FUNCTION T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = warpSize) {
  const unsigned int own = ::anyplace::device_code::warp_lane(), inside = static_cast<unsigned int>(width) - 1;
  const unsigned int source = (own ^ static_cast<unsigned int>(lanes)) & 31;
  return ::anyplace::device_code::warp_read(mask, value, source <= (own | inside) ? source : own);
}

/// The lanes whose value has the same bits.
template <class T>
ANYPLACE_DEVICE_FUNCTION unsigned int __match_any_sync(unsigned int mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a value has 4 or 8 bytes");
  const unsigned int taking_part = ::anyplace::device_code::warp_ballot(mask, true);
  unsigned int same = 0;
  for (unsigned int lane = 0; lane < 32; ++lane) {
    if ((taking_part >> lane & 1) == 0) continue;
    const T other = ::anyplace::device_code::warp_read(mask, value, lane);
    bool is_same = false;
    if constexpr (sizeof(T) == 4) {
      is_same = __builtin_bit_cast(unsigned int, other) == __builtin_bit_cast(unsigned int, value);
    } else {
      is_same = __builtin_bit_cast(unsigned long long, other) == __builtin_bit_cast(unsigned long long, value);
    }
    if (is_same) same |= 1u << lane;
  }
  return same;
}
