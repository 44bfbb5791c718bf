// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 of sixteen counters with the vectors of x86-64, the same bits as philox.h: no compiler makes the one
// multiplication of it that the instruction set has (pmuludq) without being told. For the host's image alone.
//
// A word is the lower half of a lane of 64 bits. What the multiplication leaves in the upper half is ignored by the
// next one, so nothing has to be cleared until the words are packed at the end.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "philox.h"

namespace anyplace::random {

#define ANYPLACE_RANDOM_ROUNDS(mul, shift, exclusive, add)   \
  for (int round = 0; round < 10; ++round) {                 \
    for (int v = 0; v < vectors; ++v) {                      \
      const auto a = mul(c0[v], m0), b = mul(c2[v], m1);     \
      c0[v] = exclusive(exclusive(shift(b, 32), c1[v]), k0); \
      c2[v] = exclusive(exclusive(shift(a, 32), c3[v]), k1); \
      c1[v] = b;                                             \
      c3[v] = a;                                             \
    }                                                        \
    k0 = add(k0, w0);                                        \
    k1 = add(k1, w1);                                        \
  }

/// philox_from().
__attribute__((noinline)) inline void philox_16_sse2(Words<16>& out, uint64_t first, uint64_t key) {
  constexpr int vectors = 4;  // of two lanes: eight counters at a time, the even ones and the odd ones apart
  const __m128i m0 = _mm_set1_epi64x(0xD2511F53), m1 = _mm_set1_epi64x(0xCD9E8D57);
  const __m128i w0 = _mm_set1_epi64x(0x9E3779B9), w1 = _mm_set1_epi64x(0xBB67AE85);
  const __m128i low = _mm_set1_epi64x(0xffffffff);
  for (int half = 0; half < 2; ++half) {
    __m128i k0 = _mm_set1_epi64x(static_cast<int64_t>(key & 0xffffffffu));
    __m128i k1 = _mm_set1_epi64x(static_cast<int64_t>(key >> 32));
    __m128i c0[vectors], c1[vectors], c2[vectors], c3[vectors];
    for (int v = 0; v < vectors; ++v) {
      // v 0: counters 0 and 2, v 1: 1 and 3, v 2: 4 and 6, v 3: 5 and 7.
      const uint64_t at = first + static_cast<uint64_t>(half * 8 + v / 2 * 4 + v % 2);
      c0[v] = _mm_set_epi64x(static_cast<int64_t>(at + 2), static_cast<int64_t>(at));
      c1[v] = _mm_srli_epi64(c0[v], 32);
      c2[v] = c3[v] = _mm_setzero_si128();
    }
    ANYPLACE_RANDOM_ROUNDS(_mm_mul_epu32, _mm_srli_epi64, _mm_xor_si128, _mm_add_epi32)
    for (int pair = 0; pair < 2; ++pair) {
      const int even = 2 * pair, odd = even + 1;
      const auto put = [&](int word, const __m128i* c) __attribute__((always_inline)) {
        const __m128i packed = _mm_or_si128(_mm_and_si128(c[even], low), _mm_slli_epi64(c[odd], 32));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out.word[word] + half * 8 + pair * 4), packed);
      };
      put(0, c0);
      put(1, c1);
      put(2, c2);
      put(3, c3);
    }
  }
}

/// The same, on a processor that has AVX2.
__attribute__((noinline, target("avx2"))) inline void philox_16_avx2(Words<16>& out, uint64_t first, uint64_t key) {
  constexpr int vectors = 2;  // of four lanes: eight counters at a time, the even ones and the odd ones apart
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  const __m256i w0 = _mm256_set1_epi64x(0x9E3779B9), w1 = _mm256_set1_epi64x(0xBB67AE85);
  for (int half = 0; half < 2; ++half) {
    __m256i k0 = _mm256_set1_epi64x(static_cast<int64_t>(key & 0xffffffffu));
    __m256i k1 = _mm256_set1_epi64x(static_cast<int64_t>(key >> 32));
    __m256i c0[vectors], c1[vectors], c2[vectors], c3[vectors];
    for (int v = 0; v < vectors; ++v) {
      const __m256i at = _mm256_set1_epi64x(static_cast<int64_t>(first + static_cast<uint64_t>(half * 8 + v)));
      c0[v] = _mm256_add_epi64(at, _mm256_set_epi64x(6, 4, 2, 0));
      c1[v] = _mm256_srli_epi64(c0[v], 32);
      c2[v] = c3[v] = _mm256_setzero_si256();
    }
    ANYPLACE_RANDOM_ROUNDS(_mm256_mul_epu32, _mm256_srli_epi64, _mm256_xor_si256, _mm256_add_epi32)
    const __m256i* const words[4] = {c0, c1, c2, c3};
    for (int word = 0; word < 4; ++word) {
      const __m256i packed = _mm256_blend_epi32(words[word][0], _mm256_slli_epi64(words[word][1], 32), 0xAA);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.word[word] + half * 8), packed);
    }
  }
}
#undef ANYPLACE_RANDOM_ROUNDS

}  // namespace anyplace::random

#endif  // __x86_64__
