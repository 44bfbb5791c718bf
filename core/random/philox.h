// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10: 128 random bits of a counter of 128 bits and a key of 64 (Salmon, Moraes, Dror, Shaw: "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC'11). Plain C++ that devices and the host compile: no state, no order.
//
// Several counters are worked on side by side, in arrays: on the host the compiler makes vectors of them.
#pragma once

#include <stdint.h>

#if defined(__CUDACC__) || defined(__HIP__) || defined(ANYPLACE_BARE_DEVICE)
#define ANYPLACE_RANDOM_FUNCTION static __forceinline__ __device__
#define ANYPLACE_RANDOM_METHOD __forceinline__ __device__
#else
#define ANYPLACE_RANDOM_FUNCTION static inline __attribute__((always_inline))
#define ANYPLACE_RANDOM_METHOD inline __attribute__((always_inline))
#endif

namespace anyplace::random {

/// Four words of 32 bits for each of so many counters.
template <int lanes>
struct Words {
  uint32_t word[4][lanes];
};

/// In: the counters, lowest word first. Out: their random bits.
template <int lanes>
ANYPLACE_RANDOM_FUNCTION void philox(Words<lanes>& at, uint64_t key) {
  uint32_t low_key = static_cast<uint32_t>(key), high_key = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < lanes; ++i) {
      const uint64_t a = uint64_t{0xD2511F53u} * at.word[0][i];
      const uint64_t b = uint64_t{0xCD9E8D57u} * at.word[2][i];
      at.word[0][i] = static_cast<uint32_t>(b >> 32) ^ at.word[1][i] ^ low_key;
      at.word[1][i] = static_cast<uint32_t>(b);
      at.word[2][i] = static_cast<uint32_t>(a >> 32) ^ at.word[3][i] ^ high_key;
      at.word[3][i] = static_cast<uint32_t>(a);
    }
    low_key += 0x9E3779B9u;
    high_key += 0xBB67AE85u;
  }
}

/// The random bits of the counters from `first` on, which count in 64 bits.
template <int lanes>
ANYPLACE_RANDOM_FUNCTION void philox_from(Words<lanes>& out, uint64_t first, uint64_t key) {
  for (int i = 0; i < lanes; ++i) {
    const uint64_t counter = first + static_cast<uint64_t>(i);
    out.word[0][i] = static_cast<uint32_t>(counter);
    out.word[1][i] = static_cast<uint32_t>(counter >> 32);
    out.word[2][i] = 0;
    out.word[3][i] = 0;
  }
  philox(out, key);
}

}  // namespace anyplace::random
