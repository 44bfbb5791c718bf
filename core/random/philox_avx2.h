// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 of sixteen counters with the vectors of AVX2, which gives the same bits as philox.h. It is there
// because GCC doesn't multiply the lower halves of lanes by the one instruction for that (vpmuludq): what it makes of
// philox.h takes more than twice as long, and fills of integers and doubles would be slower than NumPy's. It is for the
// host's image alone.
//
// A word is the lower half of a lane of 64 bits. The next multiplication ignores what the one before leaves in the
// upper half, so nothing has to be cleared until the words are packed at the end.
#pragma once

#include <immintrin.h>

#include "philox.h"

namespace anyplace::random {

/// Makes what philox_from() makes, on a processor that has AVX2. Eight counters are worked on at a time, the even ones
/// and the odd ones apart.
__attribute__((noinline, target("avx2"))) inline void philox_16_avx2(Words<16>& out, uint64_t first, uint64_t key) {
  constexpr int vectors = 2;
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
    for (int round = 0; round < 10; ++round) {
      for (int v = 0; v < vectors; ++v) {
        const __m256i a = _mm256_mul_epu32(c0[v], m0), b = _mm256_mul_epu32(c2[v], m1);
        c0[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(b, 32), c1[v]), k0);
        c2[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(a, 32), c3[v]), k1);
        c1[v] = b;
        c3[v] = a;
      }
      k0 = _mm256_add_epi32(k0, w0);
      k1 = _mm256_add_epi32(k1, w1);
    }
    const __m256i* const words[4] = {c0, c1, c2, c3};
    for (int word = 0; word < 4; ++word) {
      const __m256i packed = _mm256_blend_epi32(words[word][0], _mm256_slli_epi64(words[word][1], 32), 0xAA);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.word[word] + half * 8), packed);
    }
  }
}

}  // namespace anyplace::random
