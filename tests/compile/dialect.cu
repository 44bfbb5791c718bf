// SPDX-License-Identifier: Apache-2.0
//
// Kernels that together use everything that docs/kernels.md promises of the language. Each is launched by dialect_test.cpp with 2 x 2 blocks
// of 16 x 2 x 2 threads and `shared_words` of dynamic shared memory; it reads `count` words and writes `count` words, one for each thread,
// which are exact: the same bits on every device.

#include <assert.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math.h>

using Word = unsigned;
constexpr Word threads = 64, blocks = 4, count = threads * blocks, shared_words = 2 * threads;

__device__ Word thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ Word block() { return blockIdx.x + gridDim.x * blockIdx.y; }
__device__ Word place() { return block() * threads + thread(); }

// ---- Where a thread is

extern "C" __global__ void positions(Word* out, const Word*) {
  out[place()] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16;
}

extern "C" __global__ void dimensions(Word* out, const Word*) {
  const dim3 whole(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
  out[place()] = whole.x | whole.y << 8 | whole.z << 16;
}

extern "C" __global__ void grid_stride(Word* out, const Word* in) {
  for (Word i = place(); i < 4 * count; i += count) out[place()] += in[i % count] + i;
}

// ---- The language

template <class T, int times>
__device__ T repeated(T value) {
  for (int i = 0; i < times; ++i) value = value * 3 + 1;
  return value;
}

extern "C" __global__ void templates(Word* out, const Word* in) {
  out[place()] = repeated<Word, 5>(in[place()]) ^ static_cast<Word>(repeated<long long, 20>(in[place()]) >> 32);
}

struct Complex {
  int real, imaginary;
  __device__ Complex operator*(const Complex& other) const {
    return {real * other.real - imaginary * other.imaginary, real * other.imaginary + imaginary * other.real};
  }
};

extern "C" __global__ void classes(Word* out, const Word* in) {
  Complex value{static_cast<int>(in[place()] % 7), 1};
  for (int i = 0; i < 6; ++i) value = value * Complex{2, -1};
  out[place()] = static_cast<Word>(value.real * 31 + value.imaginary);
}

template <class Function>
__device__ Word for_each_bit(Word bits, Function function) {
  Word sum = 0;
  for (int bit = 0; bit < 32; ++bit) {
    if (bits >> bit & 1) sum += function(bit);
  }
  return sum;
}

extern "C" __global__ void lambdas(Word* out, const Word* in) {
  const Word own = thread();
  out[place()] = for_each_bit(in[place()], [own](int bit) { return own * static_cast<Word>(bit); });
}

extern "C" __global__ void switches(Word* out, const Word* in) {
  Word value = in[place()] % 1000 + 1, steps = 0;
  for (; value != 1 && steps < 100; ++steps) {
    switch (value % 4) {
      case 0:
        value /= 4;
        break;
      case 2:
        value /= 2;
        [[fallthrough]];
      default:
        value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    }
  }
  out[place()] = steps << 16 | value;
}

extern "C" __global__ void local_arrays(Word* out, const Word* in) {
  Word own[8];
  for (Word i = 0; i < 8; ++i) own[i] = in[(place() + 5 * i) % count];
  for (Word i = 1; i < 8; ++i) {
    const Word value = own[i];
    Word at = i;
    for (; at > 0 && own[at - 1] > value; --at) own[at] = own[at - 1];
    own[at] = value;
  }
  out[place()] = own[3];
}

__constant__ Word primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

extern "C" __global__ void constants(Word* out, const Word* in) { out[place()] = primes[in[place()] % 8] * primes[thread() % 8]; }

union Bits {
  Word word;
  unsigned char bytes[4];
};

extern "C" __global__ void unions(Word* out, const Word* in) {
  Bits bits;
  bits.word = in[place()];
  const unsigned char first = bits.bytes[0];
  bits.bytes[0] = bits.bytes[3];
  bits.bytes[3] = first;
  out[place()] = bits.word;
}

extern "C" __global__ void __launch_bounds__(64) returns_early(Word* __restrict__ out, const Word* __restrict__ in) {
  if (thread() % 3 == 0) return;
  out[place()] = __ldg(in + place()) + 1;
}

// ---- Numbers

extern "C" __global__ void long_integers(Word* out, const Word* in) {
  const unsigned long long wide = in[place()] * 0x100000001ull + thread();
  const long long negative = -static_cast<long long>(wide >> 3);
  const auto folded = static_cast<unsigned long long>(negative / 1000 * 7 + negative % 1000) ^ wide << 5;
  out[place()] = static_cast<Word>(folded) ^ static_cast<Word>(folded >> 32);
}

extern "C" __global__ void small_integers(Word* out, const Word* in) {
  const auto byte = static_cast<signed char>(in[place()]);
  const auto half = static_cast<short>(in[place()] >> 8);
  out[place()] = static_cast<Word>(byte * half) + static_cast<unsigned char>(byte + 1) + static_cast<unsigned short>(half - 1);
}

extern "C" __global__ void floats(Word* out, const Word* in) {
  const float value = static_cast<float>(in[place()] % 4096) / 16.0f - 100.0f;
  const float sum = floor(value) + ceil(value) * 2 + trunc(value) * 3 + rint(value) * 5 + fabs(value) + fmin(value, 7.0f) + fmax(value, 9.0f);
  out[place()] = __float_as_uint(fmaf(sum, 0.5f, 0.25f));
}

extern "C" __global__ void roots(Word* out, const Word* in) {
  const float whole = static_cast<float>(in[place()] % 1024);
  out[place()] = static_cast<Word>(rintf(sqrtf(whole * whole))) | __float_as_uint(__int_as_float(0x3f800000)) >> 12;
}

extern "C" __global__ void doubles(Word* out, const Word* in) {
  const double value = static_cast<double>(in[place()]) * 1048577.0;
  out[place()] = static_cast<Word>(value / 1048577.0) ^ static_cast<Word>(fabs(floor(value / 1024.0) - value / 1024.0) * 1024.0);
}

extern "C" __global__ void least_and_greatest(Word* out, const Word* in) {
  const int value = static_cast<int>(in[place()] % 200) - 100;
  out[place()] = static_cast<Word>(min(value, 10) * 1000 + max(value, -10) * 100 + abs(value)) + max(in[place()], 5u);
}

extern "C" __global__ void bits(Word* out, const Word* in) {
  const Word value = in[place()];
  out[place()] = static_cast<Word>(__popc(value) | __clz(static_cast<int>(value)) << 8 | __ffs(static_cast<int>(value)) << 16) ^
                 __brev(value) ^ __umulhi(value, 0x9e3779b9u);
}

extern "C" __global__ void long_bits(Word* out, const Word* in) {
  const unsigned long long value = in[place()] * 0x100000001ull << 3;
  out[place()] = static_cast<Word>(__brevll(value)) + static_cast<Word>(__popcll(value)) * 3 +
                 static_cast<Word>(__clzll(static_cast<long long>(value >> 9))) * 5 + static_cast<Word>(__ffsll(static_cast<long long>(value))) * 7;
}

// Whole numbers, which each function is near enough to.
extern "C" __global__ void mathematics(Word* out, const Word* in) {
  const float x = static_cast<float>(in[place()] % 8 + 1);
  const float near = powf(x, 2.0f) + log2f(exp2f(x)) + pow(x, 1.0f) + cosf(0.0f) + atan2f(0.0f, x) + logf(expf(x)) + hypotf(3.0f * x, 4.0f * x) +
                     tanhf(20.0f) + erff(4.0f) + sinf(x) * sinf(x) + cosf(x) * cosf(x) + sqrt(x * x) + fmodf(x, 1.0f) + cbrtf(x * x * x);
  const float fast = __fdividef(x, 1.0f) + __powf(2.0f, x) + __log2f(4.0f) + __logf(__expf(x));
  assert(in != nullptr);
  out[place()] = static_cast<Word>(rintf(near)) << 16 | static_cast<Word>(rintf(fast));
}

extern "C" __global__ void vectors(Word* out, const Word* in) {
  const uint4 four = make_uint4(in[place()], in[(place() + 1) % count], thread(), block());
  const float2 two = make_float2(1.5f, static_cast<float>(four.z));
  const uchar3 three = make_uchar3(static_cast<unsigned char>(four.x), 2, 3);
  out[place()] = four.x + four.y * four.z + four.w + static_cast<Word>(two.x * two.y) + three.x + three.y * three.z;
}

// ---- Shared memory and barriers

extern "C" __global__ void reverses(Word* out, const Word* in) {
  __shared__ Word own[threads];
  own[thread()] = in[place()];
  __syncthreads();
  out[place()] = own[threads - 1 - thread()];
}

extern "C" __global__ void dynamic_arrays(Word* out, const Word* in) {
  ANYPLACE_DYNAMIC_SHARED(Word, all);
  Word* const second = all + threads;
  all[thread()] = in[place()];
  second[threads - 1 - thread()] = thread();
  __syncthreads();
  out[place()] = all[(thread() + 1) % threads] + second[thread()];
}

extern "C" __global__ void extern_arrays(Word* out, const Word* in) {
  extern __shared__ __align__(16) unsigned char
      bytes_of_the_launch[];
  Word* const words = reinterpret_cast<Word*>(bytes_of_the_launch);
  words[thread()] = in[place()];
  __syncthreads();
  out[place()] = words[(thread() + 3) % threads];
}

extern __shared__ Word words_of_the_file[];

extern "C" __global__ void extern_arrays_of_the_file(Word* out, const Word* in) {
  Word* const words = words_of_the_file + 0;
  words_of_the_file[thread()] = in[place()];
  *(words_of_the_file + threads + thread()) = 0;
  __syncthreads();
  Word* const second = reinterpret_cast<Word*>(words_of_the_file) + threads;
  second[threads - 1 - thread()] += thread() + ((Word*)words_of_the_file)[thread()] - words[thread()];
  __syncthreads();
  out[place()] = words_of_the_file[(thread() + 1) % threads] + second[thread()];
}

template <class T>
__device__ T* extern_array() {
  extern __shared__ T of_template[];
  return of_template;
}

extern "C" __global__ void extern_arrays_of_a_template(Word* out, const Word* in) {
  Word* const words = extern_array<Word>();
  words[thread()] = in[place()];
  __syncthreads();
  out[place()] = words[(thread() + 3) % threads];
}

extern "C" __global__ void tree_sum(Word* out, const Word* in) {
  __shared__ Word own[threads];
  own[thread()] = in[place()];
  __syncthreads();
  for (Word half = threads / 2; half > 0; half /= 2) {
    if (thread() < half) own[thread()] += own[thread() + half];
    __syncthreads();
  }
  out[place()] = own[0] + thread();
}

extern "C" __global__ void running_sum(Word* out, const Word* in) {
  __shared__ Word own[threads];
  own[thread()] = in[place()];
  for (Word offset = 1; offset < threads; offset *= 2) {
    __syncthreads();
    const Word left = thread() >= offset ? own[thread() - offset] : 0;
    __syncthreads();
    own[thread()] += left;
  }
  out[place()] = own[thread()];
}

extern "C" __global__ void transpose(Word* out, const Word* in) {
  __shared__ Word tile[8][9];
  tile[thread() / 8][thread() % 8] = in[place()];
  __syncthreads();
  out[place()] = tile[thread() % 8][thread() / 8];
}

extern "C" __global__ void product(Word* out, const Word* in) {
  __shared__ Word left[8][8], right[8][8];
  const Word row = thread() / 8, column = thread() % 8;
  Word sum = 0;
  for (Word part = 0; part < blocks; ++part) {
    left[row][column] = in[(block() * threads + part * 16 + thread()) % count];
    right[row][column] = in[(part * threads + thread()) % count];
    __syncthreads();
    for (Word i = 0; i < 8; ++i) sum += left[row][i] * right[i][column];
    __syncthreads();
  }
  out[place()] = sum;
}

extern "C" __global__ void barrier_under_a_condition(Word* out, const Word* in) {
  __shared__ Word own[threads];
  own[thread()] = in[place()];
  if (block() % 2 == 0) {
    __syncthreads();
    const Word other = own[thread() ^ 1];
    __syncthreads();
    own[thread()] = other + 1;
  }
  __syncthreads();
  out[place()] = own[(thread() + 2) % threads];
}

// ---- Atomic functions and fences

extern "C" __global__ void histogram(Word* out, const Word* in) {
  __shared__ Word bins[threads];
  bins[thread()] = 0;
  __syncthreads();
  atomicAdd(&bins[in[place()] % 16], 1u);
  __syncthreads();
  out[place()] = bins[thread()];
}

extern "C" __global__ void atomics_of_words(Word* out, const Word* in) {
  const Word value = in[place()];
  atomicAdd(&out[0], value);
  atomicSub(&out[1], value);
  atomicMax(&out[2], value);
  atomicMin(reinterpret_cast<int*>(&out[3]), -static_cast<int>(value % 1000));
  atomicOr(&out[4], value);
  atomicXor(&out[5], value);
  atomicInc(&out[6], 99u);
  atomicDec(&out[7], 99u);
  atomicAdd(reinterpret_cast<unsigned long long*>(&out[8]), static_cast<unsigned long long>(value) << 16);
  atomicAdd(reinterpret_cast<float*>(&out[10]), 0.5f);
  atomicAdd(reinterpret_cast<double*>(&out[12]), 0.25);
  if (place() == 7) atomicExch(&out[14], value);
}

extern "C" __global__ void compare_and_swap(Word* out, const Word* in) {
  const Word value = in[place()] % 10007;
  Word seen = out[0];
  for (;;) {
    const Word before = atomicCAS(&out[0], seen, max(seen, value));
    if (before == seen) break;
    seen = before;
  }
}

extern "C" __global__ void last_block(Word* out, const Word* in) {
  __shared__ bool last;
  atomicAdd(&out[1 + block()], in[place()]);
  __threadfence();
  __syncthreads();
  if (thread() == 0) last = atomicAdd(&out[10], 1u) == blocks - 1;
  __syncthreads();
  if (last && thread() == 0) {
    __threadfence();
    for (Word i = 0; i < blocks; ++i) out[0] += atomicAdd(&out[1 + i], 0u) * (i + 1);
  }
}
