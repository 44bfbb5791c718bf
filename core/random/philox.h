// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 makes 128 random bits of a counter of 128 bits and a key of 64 (Salmon, Moraes, Dror, Shaw: "Parallel
// Random Numbers: As Easy as 1, 2, 3", SC'11). It has no state, so counters may be taken in any order.
//
// Counters are kept side by side, in arrays, and each goes through all rounds by itself: the host's compiler makes
// vectors of the loop over them.
#pragma once

#include <stdint.h>

#include "anyplace/backend/kit/device_inline.h"

namespace anyplace::random {

/// Words has four words of 32 bits for each of `lanes` counters.
template <int lanes>
struct Words {
  uint32_t word[4][lanes];
};

/// Replaces counters, whose lowest word is the first, by their random bits.
template <int lanes>
ANYPLACE_DEVICE_INLINE void philox(Words<lanes>& at, uint64_t key) {
  for (int i = 0; i < lanes; ++i) {
    uint32_t c0 = at.word[0][i], c1 = at.word[1][i], c2 = at.word[2][i], c3 = at.word[3][i];
    uint32_t low_key = static_cast<uint32_t>(key), high_key = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * c0;
      const uint64_t b = uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ low_key;
      c1 = static_cast<uint32_t>(b);
      c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ high_key;
      c3 = static_cast<uint32_t>(a);
      low_key += 0x9E3779B9u;
      high_key += 0xBB67AE85u;
    }
    at.word[0][i] = c0;
    at.word[1][i] = c1;
    at.word[2][i] = c2;
    at.word[3][i] = c3;
  }
}

/// Makes the random bits of the counters from `first` on, which count in 64 bits.
template <int lanes>
ANYPLACE_DEVICE_INLINE void philox_from(Words<lanes>& out, uint64_t first, uint64_t key) {
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
