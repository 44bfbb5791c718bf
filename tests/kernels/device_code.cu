// SPDX-License-Identifier: Apache-2.0
//
// Kernels that use what device_code.h promises, each result something that a plain loop can check. Compiled for every kind
// of device that there is a compiler for; run by device_code_test.cpp.
#include <anyplace/device_code.h>

#include "device_code_types.h"
#include "extern_shared_first.h"

// -- Where a thread is.

extern "C" __global__ void indices(uint3* out) {
  const unsigned long long x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned long long z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned long long width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  uint3* const own = out + 4 * ((z * height + y) * width + x);
  const dim3 grid = gridDim, block = blockDim;
  own[0] = blockIdx;
  own[1] = threadIdx;
  own[2] = make_uint3(grid.x, grid.y, grid.z);
  own[3] = make_uint3(block.x, block.y, block.z);
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void __launch_bounds__(256) count_threads(unsigned long long* count) { atomicAdd(count, 1ull); }

// -- Shared memory and barriers.

__device__ unsigned sum_of_block(unsigned* values) {
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
    __syncthreads();
  }
  return values[0];
}

extern "C" __global__ void sum_static(unsigned* sums, const unsigned* values) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned sum = sum_of_block(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void sum_dynamic(unsigned* sums, const unsigned* values) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  own[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned sum = sum_of_block(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void sum_extern(unsigned* sums, const unsigned* values) {
  extern __shared__ __align__(16) unsigned
      of_the_launch[];
  of_the_launch[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned sum = sum_of_block(of_the_launch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern __shared__ unsigned char of_the_file[];

extern "C" __global__ void sum_extern_of_the_file(unsigned* sums, const unsigned* values) {
  unsigned* const own = reinterpret_cast<unsigned*>(of_the_file);
  own[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned sum = sum_of_block((unsigned*)of_the_file);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum + (of_the_file[0] - *(of_the_file + 0));
}

extern "C" __global__ void sum_extern_in_a_header(unsigned* sums, const unsigned* values) {
  unsigned* const own = memory_of_the_launch<unsigned>();
  own[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const unsigned sum = sum_of_block(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void transpose(float* to, const float* from, unsigned size) {
  __shared__ float tile[16][17];
  const unsigned left = blockIdx.x * 16, top = blockIdx.y * 16;
  tile[threadIdx.y][threadIdx.x] = from[(top + threadIdx.y) * size + left + threadIdx.x];
  __syncthreads();
  to[(left + threadIdx.y) * size + top + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// Each value goes once around the block, a place at each barrier.
extern "C" __global__ void rotate(unsigned* values, unsigned rounds) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  unsigned value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned round = 0; round < rounds; ++round) {
    own[threadIdx.x] = value;
    __syncthreads();
    value = own[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Threads from `staying` on leave before the first barrier; the others don't miss them.
extern "C" __global__ void leave_early(unsigned* sums, unsigned staying) {
  __shared__ unsigned arrived;
  if (threadIdx.x >= staying) return;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  atomicAdd(&arrived, threadIdx.x + 1);
  __syncthreads();
  if (threadIdx.x == staying - 1) sums[blockIdx.x] = arrived;
}

// The first to begin leaves, the last goes on: thread t passes t barriers.
extern "C" __global__ void leave_one_by_one(unsigned* seen) {
  __shared__ unsigned round;
  if (threadIdx.x == blockDim.x - 1) round = 0;
  __syncthreads();
  for (unsigned i = 0; i < threadIdx.x; ++i) {
    if (threadIdx.x == blockDim.x - 1) ++round;
    __syncthreads();
    seen[blockIdx.x * blockDim.x + threadIdx.x] = round;
    __syncthreads();
  }
}

// What a thread keeps across barriers is its own: registers, an array, its place.
extern "C" __global__ void keep(unsigned* wrong) {
  double numbers[128];
  const unsigned own = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  for (unsigned i = 0; i < 128; ++i) numbers[i] = own * 1000.0 + i;
  const uint3 place = threadIdx;
  for (unsigned i = 0; i < 8; ++i) __syncthreads();
  for (unsigned i = 0; i < 128; ++i) {
    if (numbers[i] != own * 1000.0 + i) atomicAdd(wrong, 1u);
  }
  if (place.x != threadIdx.x || place.y != threadIdx.y || place.z != threadIdx.z) atomicAdd(wrong, 1u);
}

// -- Atomic functions. What each makes of all threads together doesn't depend on their order.

extern "C" __global__ void atomics(AtomicResults* results) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&results->add_int, -1);
  atomicAdd(&results->add_unsigned, i);
  atomicAdd(&results->add_long, 1ull << 33);
  atomicAdd(&results->add_float, 0.5f);
  atomicAdd(&results->add_double, 0.25);
  atomicSub(&results->sub_int, 2);
  atomicSub(&results->sub_unsigned, 1u);
  atomicMin(&results->min_int, -static_cast<int>(i));
  atomicMax(&results->max_int, static_cast<int>(i));
  atomicMin(&results->min_unsigned, 1000000u - i);
  atomicMax(&results->max_unsigned, i);
  atomicMin(&results->min_long, (1ull << 40) - i);
  atomicMax(&results->max_long, (1ull << 40) + i);
  atomicAnd(&results->and_unsigned, ~(1u << i % 32));
  atomicOr(&results->or_unsigned, 1u << i % 32);
  atomicXor(&results->xor_unsigned, i);
  atomicInc(&results->inc, 6u);
  atomicDec(&results->dec, 6u);
  // Each thread leaves its number plus one and takes what lay there: nothing is lost.
  atomicAdd(&results->exchanged, static_cast<unsigned long long>(atomicExch(&results->slot, i + 1)));
  // Addition by compare-and-swap.
  int seen = atomicAdd(&results->cas, 0);
  for (;;) {
    const int before = atomicCAS(&results->cas, seen, seen + 3);
    if (before == seen) break;
    seen = before;
  }
}

// The block that comes last adds up what the others left, as they see each other's memory behind the fence.
extern "C" __global__ void last_block(unsigned* partial, unsigned* done, unsigned* total) {
  __shared__ unsigned last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last != 0 && threadIdx.x == 0) {
    __threadfence();
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
    *total = sum;
  }
}

// -- Functions, types, constants.

__constant__ unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

template <class T>
__device__ __forceinline__ T clamped(T value, T least, T most) {
  return min(max(value, least), most);
}

extern "C" __global__ void functions(FunctionResults* out, float x, int i) {
  out->popc = __popc(0xf0f0u) + __popcll(0xffull << 40);
  out->clz = __clz(1) + __clz(0) + __clzll(1ll << 40);
  out->ffs = __ffs(8) + __ffs(0) + __ffsll(1ll << 40);
  out->brev = __brev(0x80000001u << 1);
  out->umulhi = __umulhi(0x80000000u, 6u);
  out->bits = __float_as_uint(1.0f);
  out->mul24 = __mul24(0x7f000003, i) + static_cast<int>(__umul24(0xff000002u, 5u));
  const float half = x + 0.5f;  // 4.5
  out->rounded[0] = __float2int_rd(-half), out->rounded[1] = __float2int_rn(half);
  out->rounded[2] = __float2int_ru(half), out->rounded[3] = __float2int_rz(-half);
  out->clamped = clamped(i, -5, 5) + static_cast<int>(clamped(2.5f, 0.0f, 1.0f));
  out->unsigned_wins = max(-1, 1u);
  out->roots = sqrtf(x) + rsqrtf(x) + floorf(2.7f) + ceilf(2.2f) + truncf(-1.5f) + fabsf(-1.0f) + fmaf(2.0f, 3.0f, 4.0f) +
               fminf(1.0f, 2.0f) + fmaxf(1.0f, 2.0f);
  out->primes = 0;
  for (const unsigned prime : primes) out->primes += prime;
  out->vector = make_float4(1, 2, 3, 4);
  out->pixel = make_uchar4(5, 6, 7, 8);
  out->sizes[0] = sizeof(uchar4), out->sizes[1] = sizeof(float3), out->sizes[2] = alignof(float4);
  out->sizes[3] = sizeof(double2), out->sizes[4] = alignof(short4), out->sizes[5] = alignof(uint3);
}

// Parameters of every size and a struct, whole and in order.
extern "C" __global__ void parameters(ParameterResults* out, uint8_t a, int16_t b, float c, unsigned long long d,
                                      Parameter e, const unsigned* f) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  out->a = a;
  out->b = b;
  out->c = c;
  out->d = d;
  out->e = e;
  out->f = f;
}

ANYPLACE_EXPORT_KERNELS(indices, nothing, count_threads, sum_static, sum_dynamic, sum_extern, sum_extern_of_the_file, sum_extern_in_a_header, transpose, rotate, leave_early,
                        leave_one_by_one, keep);
ANYPLACE_EXPORT_KERNELS(atomics, last_block);
ANYPLACE_EXPORT_KERNELS(functions, parameters);
