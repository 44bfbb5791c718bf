// SPDX-License-Identifier: Apache-2.0
//
// The functions of a warp. Each kernel is launched by warps_test.cpp with one block, whose threads pass `in` and write
// `out`, a word each; what must come out is written there.
#include <anyplace/device_code.h>

#if !defined(ANYPLACE_NO_WARPS)

__device__ unsigned number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ unsigned lane() { return number() % warpSize; }
constexpr unsigned whole_warp = 0xffffffffu;

extern "C" __global__ void from_a_lane(unsigned* out, const unsigned* in) {
  out[number()] = __shfl_sync(whole_warp, in[number()], static_cast<int>(lane() * 7 + 3));
}
extern "C" __global__ void from_a_lane_of_eight(unsigned* out, const unsigned* in) {
  out[number()] = __shfl_sync(whole_warp, in[number()], static_cast<int>(lane() + 3), 8);
}
extern "C" __global__ void from_below(unsigned* out, const unsigned* in) {
  out[number()] = __shfl_up_sync(whole_warp, in[number()], 3) + 3 * __shfl_up_sync(whole_warp, in[number()], 5, 16);
}
extern "C" __global__ void from_above(unsigned* out, const unsigned* in) {
  out[number()] = __shfl_down_sync(whole_warp, in[number()], 3) + 3 * __shfl_down_sync(whole_warp, in[number()], 5, 16);
}
extern "C" __global__ void from_across(unsigned* out, const unsigned* in) {
  out[number()] = __shfl_xor_sync(whole_warp, in[number()], 21) + 3 * __shfl_xor_sync(whole_warp, in[number()], 12, 8);
}

extern "C" __global__ void wide_values(unsigned* out, const unsigned* in) {
  const double number_of_other = __shfl_xor_sync(whole_warp, in[number()] % 1000 * 0.5, 1);
  const unsigned long long own = in[number()] * 0x100000001ull;
  out[number()] = static_cast<unsigned>(number_of_other * 2) + static_cast<unsigned>(__shfl_sync(whole_warp, own, 9) >> 32);
}

extern "C" __global__ void votes(unsigned* out, const unsigned* in) {
  const unsigned own = in[number()];
  const unsigned odd = __ballot_sync(whole_warp, static_cast<int>(own & 1));
  out[number()] = odd ^ (__any_sync(whole_warp, own % 64 == 0) ? 2u : 0u) ^ (__all_sync(whole_warp, own % 64 != 0) ? 4u : 0u);
}
extern "C" __global__ void equal_values(unsigned* out, const unsigned* in) {
  out[number()] = __match_any_sync(whole_warp, in[number()] % 5);
}

// The sum of a block: of each warp in five steps, then of these by the first warp.
extern "C" __global__ void sum_of_block(unsigned* out, const unsigned* in) {
  __shared__ unsigned of_warp[32];
  unsigned sum = in[number()];
  for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_down_sync(whole_warp, sum, half);
  if (lane() == 0) of_warp[number() / warpSize] = sum;
  __syncthreads();
  if (number() < warpSize) {
    const unsigned warps = blockDim.x * blockDim.y * blockDim.z / warpSize;
    unsigned all = lane() < warps ? of_warp[lane()] : 0;
    for (int half = 16; half > 0; half /= 2) all += __shfl_xor_sync(whole_warp, all, half);
    of_warp[lane()] = all;
  }
  __syncthreads();
  out[number()] = of_warp[0];
}

// Halves of a warp meet apart, under a condition.
extern "C" __global__ void halves(unsigned* out, const unsigned* in) {
  unsigned own = in[number()];
  if (lane() < 16) {
    own += __shfl_xor_sync(0x0000ffffu, own, 1);
  } else {
    own -= __shfl_xor_sync(0xffff0000u, own, 3);
    __syncwarp(0xffff0000u);
  }
  __syncwarp();
  out[number()] = own + __shfl_sync(whole_warp, own, 16);
}

// What one lane writes others see behind __syncwarp.
extern "C" __global__ void through_shared_memory(unsigned* out, const unsigned* in) {
  __shared__ unsigned own[1024];
  own[number()] = in[number()];
  __syncwarp();
  const unsigned next = own[number() / warpSize * warpSize + (lane() + 1) % warpSize];
  __syncwarp();
  own[number()] = next * 2;
  __syncwarp();
  out[number()] = own[number() / warpSize * warpSize + (lane() + 31) % warpSize];
}

// Lanes that have returned aren't waited for.
extern "C" __global__ void some_return(unsigned* out, const unsigned* in) {
  if (lane() % 4 == 1) return;
  out[number()] = __ballot_sync(whole_warp, 1) + __shfl_sync(whole_warp, in[number()], 2);
}

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST)
struct Three {
  double large;
  unsigned word;
  unsigned char byte;
};
// Where no vendor's header has the functions, values of any type are passed.
extern "C" __global__ void structures(unsigned* out, const unsigned* in) {
  const unsigned own = in[number()] % 1000;
  const Three got = __shfl_xor_sync(whole_warp, Three{own * 0.5, own + 1, static_cast<unsigned char>(own)}, 1);
  out[number()] = static_cast<unsigned>(got.large * 2) + got.word * 1000 + got.byte * 1000000u;
}

// No device can do this: half of a warp waits for lanes that wait in the block's barrier.
extern "C" __global__ void never_meet(unsigned* out, const unsigned* in) {
  if (lane() < 16) {
    out[number()] = __shfl_sync(whole_warp, in[number()], 20);
  } else {
    __syncthreads();
  }
}
ANYPLACE_EXPORT_KERNELS(structures, never_meet);
#endif

ANYPLACE_EXPORT_KERNELS(from_a_lane, from_a_lane_of_eight, from_below, from_above, from_across, wide_values, votes, equal_values,
                        sum_of_block, halves, through_shared_memory, some_return);
#endif
