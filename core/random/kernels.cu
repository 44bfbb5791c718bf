// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the generators, one for each distribution and way to store an element.
//
// A fill is made of groups of 16 Philox counters. In a group of a distribution that makes `per` elements of a counter,
// element e of counter i lies at 16 e + i, so that neighbours write to neighbours: threads on a device, lanes of a
// vector on the host. What an element is depends on its number, the seed and the offset alone, and not on how many
// threads there are.
//
// Every kernel takes where to write, how many elements, the address of the device's copy of seed and offset or null, and
// seed and offset as values. Graphs use the copy, because their launches have other numbers each time. Offsets count
// words of 32 bits; a counter has four.
#include <anyplace/device_code.h>

#include "distributions.h"
#include "permutation.h"

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST) && defined(__x86_64__)
#include "philox_avx2.h"
#endif

namespace anyplace::random {
namespace {

constexpr int group_lanes = 16;

struct Start {
  uint64_t key;
  uint64_t block;
};

ANYPLACE_DEVICE_INLINE Start start_of(const uint64_t* state, uint64_t seed, uint64_t offset) {
  if (state == nullptr) return {seed, offset / 4};
  return {state[0], (state[1] + offset) / 4};
}

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST)

/// Fills the groups [first, last), the last one only as far as there are elements. `philox_of` is philox_from(), or
/// makes the same.
template <auto philox_of, class Distribution>
ANYPLACE_DEVICE_INLINE void fill_groups(typename Distribution::Element* out, uint64_t count, Start start,
                                        uint64_t first, uint64_t last, Distribution distribution) {
  using Element = typename Distribution::Element;
  constexpr uint64_t group_size = group_lanes * Distribution::per;
  for (uint64_t group = first; group < last; ++group) {
    Words<group_lanes> words;
    philox_of(words, start.block + group * group_lanes, start.key);
    Element made[Distribution::per][group_lanes];
    distribution.make(words, made);
    const uint64_t begin = group * group_size;
    if (count - begin >= group_size) {
      memcpy(out + begin, made, sizeof(made));
    } else {
      memcpy(out + begin, made, (count - begin) * sizeof(Element));
    }
  }
}

#if defined(__x86_64__)
/// Does the same with vectors twice as long. No instruction of AVX2 fuses, so the bits are the same, too.
template <class Distribution>
__attribute__((target("avx2"))) void fill_avx2(typename Distribution::Element* out, uint64_t count, Start start,
                                               uint64_t first, uint64_t last, const Distribution& distribution) {
  fill_groups<philox_16_avx2>(out, count, start, first, last, distribution);
}
#endif

template <class Distribution>
void fill(typename Distribution::Element* out, int64_t elements, Start start, const Distribution& distribution) {
  const uint64_t count = static_cast<uint64_t>(elements);
  constexpr uint64_t group_size = group_lanes * Distribution::per;
  const uint64_t groups = (count + group_size - 1) / group_size;
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint64_t each = groups / threads, rest = groups % threads;
  const uint64_t first = thread * each + (thread < rest ? thread : rest);
  const uint64_t last = first + each + (thread < rest ? 1 : 0);
  if (first == last) return;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return fill_avx2(out, count, start, first, last, distribution);
#endif
  fill_groups<philox_from<group_lanes>>(out, count, start, first, last, distribution);
}

#else

template <class Distribution>
ANYPLACE_DEVICE_INLINE void fill(typename Distribution::Element* out, int64_t elements, Start start,
                                 const Distribution& distribution) {
  using Element = typename Distribution::Element;
  constexpr uint64_t group_size = group_lanes * Distribution::per;
  const uint64_t count = static_cast<uint64_t>(elements);
  const uint64_t blocks = (count + group_size - 1) / group_size * group_lanes;
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t block = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; block < blocks;
       block += threads) {
    Words<1> words;
    philox_from(words, start.block + block, start.key);
    Element made[Distribution::per][1];
    distribution.make(words, made);
    const uint64_t begin = block / group_lanes * group_size + block % group_lanes;
    for (int e = 0; e < Distribution::per; ++e) {
      const uint64_t at = begin + static_cast<uint64_t>(e * group_lanes);
      if (at < count) out[at] = made[e][0];
    }
  }
}

#endif

#if defined(ANYPLACE_DEVICE_CODE_ON_HOST)

template <class Number>
ANYPLACE_DEVICE_INLINE void permute_batches(Number* out, int64_t first, int64_t last, const Cipher& cipher) {
  for (int64_t at = first; at < last; at += Cipher::batch) {
    const int64_t size = last - at < Cipher::batch ? last - at : Cipher::batch;
    cipher.encrypt(static_cast<uint64_t>(at), static_cast<int>(size), out + at);
  }
}

#if defined(__x86_64__)
template <class Number>
__attribute__((target("avx2"))) void permute_avx2(Number* out, int64_t first, int64_t last, const Cipher& cipher) {
  permute_batches(out, first, last, cipher);
}
#endif

/// Each thread fills a range of its own.
template <class Number>
ANYPLACE_DEVICE_INLINE void permute_large(Number* out, int64_t count, int64_t thread, int64_t threads,
                                          const Cipher& cipher) {
  const int64_t each = (count + threads - 1) / threads;
  const int64_t first = thread * each, last = first + each < count ? first + each : count;
  if (first >= last) return;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return permute_avx2(out, first, last, cipher);
#endif
  permute_batches(out, first, last, cipher);
}

#else

template <class Number>
ANYPLACE_DEVICE_INLINE void permute_large(Number* out, int64_t count, int64_t thread, int64_t threads,
                                          const Cipher& cipher) {
  for (int64_t i = thread; i < count; i += threads) out[i] = static_cast<Number>(cipher(static_cast<uint64_t>(i)));
}

#endif

template <class Number>
ANYPLACE_DEVICE_INLINE void permute(Number* out, int64_t count, Start start) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (count <= shuffled) {
    if (thread == 0) shuffle(out, count, start.block, start.key);
  } else if (thread < count) {
    permute_large(out, count, thread, threads, Cipher(static_cast<uint64_t>(count), start.block, start.key));
  }
}

}  // namespace
}  // namespace anyplace::random

#define ANYPLACE_RANDOM_START const uint64_t *state, uint64_t seed, uint64_t offset
#define ANYPLACE_RANDOM_FILL(...)                                                         \
  ::anyplace::random::fill(out, count, ::anyplace::random::start_of(state, seed, offset), \
                           ::anyplace::random::__VA_ARGS__)

#define ANYPLACE_RANDOM_FLOATING(name, store, element, value)                                                      \
  extern "C" __global__ void uniform_##name(element* out, int64_t count, ANYPLACE_RANDOM_START, value low,         \
                                            value width, value most) {                                             \
    ANYPLACE_RANDOM_FILL(Uniform<::anyplace::random::store>{low, width, most});                                    \
  }                                                                                                                \
  extern "C" __global__ void normal_##name(element* out, int64_t count, ANYPLACE_RANDOM_START, value mean,         \
                                           value deviation) {                                                      \
    ANYPLACE_RANDOM_FILL(Normal<::anyplace::random::store>{mean, deviation});                                      \
  }                                                                                                                \
  extern "C" __global__ void exponential_##name(element* out, int64_t count, ANYPLACE_RANDOM_START, value scale) { \
    ANYPLACE_RANDOM_FILL(Exponential<::anyplace::random::store>{scale});                                           \
  }
ANYPLACE_RANDOM_FLOATING(f16, Binary16, uint16_t, float)
ANYPLACE_RANDOM_FLOATING(bf16, Bfloat16, uint16_t, float)
ANYPLACE_RANDOM_FLOATING(f32, Single, float, float)

#define ANYPLACE_RANDOM_BITS(bits, element)                                                                      \
  extern "C" __global__ void integers_##bits(element* out, int64_t count, ANYPLACE_RANDOM_START, uint64_t first, \
                                             uint64_t numbers) {                                                 \
    ANYPLACE_RANDOM_FILL(Integers<element>{first, numbers});                                                     \
  }                                                                                                              \
  extern "C" __global__ void bernoulli_##bits(element* out, int64_t count, ANYPLACE_RANDOM_START, uint64_t one,  \
                                              uint32_t last) {                                                   \
    ANYPLACE_RANDOM_FILL(Bernoulli<element>{one, last});                                                         \
  }
ANYPLACE_RANDOM_BITS(8, uint8_t)
ANYPLACE_RANDOM_BITS(16, uint16_t)
ANYPLACE_RANDOM_BITS(32, uint32_t)
ANYPLACE_RANDOM_BITS(64, uint64_t)

extern "C" __global__ void integers_wide(uint64_t* out, int64_t count, ANYPLACE_RANDOM_START, uint64_t first,
                                         uint64_t numbers) {
  ANYPLACE_RANDOM_FILL(WideIntegers{first, numbers});
}
extern "C" __global__ void permutation_32(int32_t* out, int64_t count, ANYPLACE_RANDOM_START) {
  ::anyplace::random::permute(out, count, ::anyplace::random::start_of(state, seed, offset));
}
extern "C" __global__ void permutation_64(int64_t* out, int64_t count, ANYPLACE_RANDOM_START) {
  ::anyplace::random::permute(out, count, ::anyplace::random::start_of(state, seed, offset));
}
/// Writes what the launches of a graph read. It is launched with one thread ahead of each of them.
extern "C" __global__ void set_state(uint64_t* state, uint64_t seed, uint64_t offset) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  state[0] = seed;
  state[1] = offset;
}

ANYPLACE_EXPORT_KERNELS(uniform_f16, uniform_bf16, uniform_f32, normal_f16, normal_bf16, normal_f32, exponential_f16,
                        exponential_bf16, exponential_f32);
ANYPLACE_EXPORT_KERNELS(integers_8, integers_16, integers_32, integers_64, integers_wide, bernoulli_8, bernoulli_16,
                        bernoulli_32, bernoulli_64, permutation_32, permutation_64, set_state);

#if !defined(ANYPLACE_NO_DOUBLES)
ANYPLACE_RANDOM_FLOATING(f64, Double, double, double)
ANYPLACE_EXPORT_KERNELS(uniform_f64, normal_f64, exponential_f64);
#endif
