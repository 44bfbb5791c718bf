// SPDX-License-Identifier: Apache-2.0
//
// The functions of a warp for PTX, by Clang without NVIDIA's headers, from sm_70 on. The other targets have none of
// them here: an AMD wave has 64 lanes on some devices, SPIR-V leaves the size to the driver, and a thread of the host
// is no lane of anything.
#pragma once

#if defined(__NVPTX__)

#define warpSize 32
ANYPLACE_DEVICE_FUNCTION void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
ANYPLACE_DEVICE_FUNCTION int __all_sync(unsigned int mask, int x) { return __nvvm_vote_all_sync(mask, x != 0); }
ANYPLACE_DEVICE_FUNCTION int __any_sync(unsigned int mask, int x) { return __nvvm_vote_any_sync(mask, x != 0); }
ANYPLACE_DEVICE_FUNCTION unsigned int __ballot_sync(unsigned int mask, int x) {
  return static_cast<unsigned int>(__nvvm_vote_ballot_sync(mask, x != 0));
}

// A value of any size is exchanged word by word. Bits 8 to 12 of the last argument say which lanes are one group, and
// the others which lane is the last that may be read.
#define ANYPLACE_SHUFFLE(name, instruction, lane_type, last_lane)                                     \
  template <class T>                                                                                  \
  ANYPLACE_DEVICE_FUNCTION T name(unsigned int mask, T value, lane_type lane, int width = warpSize) { \
    constexpr int words = (sizeof(T) + 3) / 4;                                                        \
    int all[words] = {};                                                                              \
    __builtin_memcpy(all, &value, sizeof(T));                                                         \
    for (int i = 0; i < words; ++i) {                                                                 \
      all[i] = __nvvm_shfl_sync_##instruction##_i32(mask, all[i], static_cast<int>(lane),             \
                                                    (warpSize - width) << 8 | last_lane);             \
    }                                                                                                 \
    __builtin_memcpy(&value, all, sizeof(T));                                                         \
    return value;                                                                                     \
  }
ANYPLACE_SHUFFLE(__shfl_sync, idx, int, 31)
ANYPLACE_SHUFFLE(__shfl_up_sync, up, unsigned int, 0)
ANYPLACE_SHUFFLE(__shfl_down_sync, down, unsigned int, 31)
ANYPLACE_SHUFFLE(__shfl_xor_sync, bfly, int, 31)
#undef ANYPLACE_SHUFFLE

/// The lanes whose value has the same bits.
template <class T>
ANYPLACE_DEVICE_FUNCTION unsigned int __match_any_sync(unsigned int mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a value has 4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    return static_cast<unsigned int>(__nvvm_match_any_sync_i32(mask, __builtin_bit_cast(unsigned int, value)));
  } else {
    return static_cast<unsigned int>(__nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, value)));
  }
}

#endif  // __NVPTX__
