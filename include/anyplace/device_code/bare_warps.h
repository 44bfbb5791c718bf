// SPDX-License-Identifier: Apache-2.0
//
// The functions of a warp by Clang without a vendor's headers: for PTX from sm_70 on, and for AMD's code objects.
// ANYPLACE_NO_WARPS is defined where there are none: for older PTX, and for SPIR-V, which leaves the size to the
// driver.
#pragma once

#if defined(__SPIRV__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700)
#define ANYPLACE_NO_WARPS 1
#endif

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

#elif defined(__AMDGCN__)

// A wave of 64 lanes holds two warps of 32, whose lanes are the halves of the wave. Lanes of a wave run in lockstep, so
// those of a mask meet by themselves if they run the same instruction.
namespace anyplace::device_code {

ANYPLACE_DEVICE_FUNCTION unsigned int wave_lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
ANYPLACE_DEVICE_FUNCTION unsigned int warp_lane() { return wave_lane() & 31; }

// A value of any size is exchanged word by word. ds_bpermute counts lanes in bytes.
template <class T>
ANYPLACE_DEVICE_FUNCTION T warp_read(unsigned int /*mask*/, T value, unsigned int source) {
  constexpr int words = (sizeof(T) + 3) / 4;
  int all[words] = {};
  __builtin_memcpy(all, &value, sizeof(T));
  const int from = static_cast<int>((wave_lane() & 32) | source) * 4;
  for (int i = 0; i < words; ++i) all[i] = __builtin_amdgcn_ds_bpermute(from, all[i]);
  __builtin_memcpy(&value, all, sizeof(T));
  return value;
}
ANYPLACE_DEVICE_FUNCTION unsigned int warp_ballot(unsigned int mask, bool predicate) {
  constexpr int is_not_equal = 33;  // of LLVM's comparisons
  const unsigned long long wave = __builtin_amdgcn_uicmp(predicate ? 1u : 0u, 0u, is_not_equal);
  return static_cast<unsigned int>(wave >> (wave_lane() & 32)) & mask;
}
ANYPLACE_DEVICE_FUNCTION void warp_meet(unsigned int /*mask*/) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

}  // namespace anyplace::device_code

#include "warps.h"

#endif
