// SPDX-License-Identifier: Apache-2.0
//
// Permutations of 0 to n - 1.
//
// Up to `shuffled` elements are shuffled by one thread as Fisher and Yates do, so that every order is as likely as any
// other. If there are more, an element is its own index encrypted, so no thread waits for another. The cipher is a
// Feistel network over the least 2^bits that is n or more, with keys of random words. What falls beyond n goes through
// it again until it doesn't (Black and Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
#pragma once

#include "philox.h"

namespace anyplace::random {

inline constexpr int64_t shuffled = 256;
/// A permutation uses so many Philox counters, whatever its size.
inline constexpr uint64_t permutation_blocks = shuffled / 2;

/// Gives a number below `count`, as Integers does: floor(count x / 2^64). The 64 bits x are the first or the second
/// half of counter `at` / 2, for an even or an odd `at`.
ANYPLACE_DEVICE_INLINE uint64_t below(uint64_t count, uint64_t at, uint64_t first_block, uint64_t key) {
  Words<1> words;
  philox_from(words, first_block + at / 2, key);
  const uint64_t high = at % 2 == 0 ? words.word[0][0] : words.word[2][0];
  const uint64_t low = at % 2 == 0 ? words.word[1][0] : words.word[3][0];
  return (high * count + (low * count >> 32)) >> 32;
}

template <class Number>
ANYPLACE_DEVICE_INLINE void shuffle(Number* out, int64_t count, uint64_t first_block, uint64_t key) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other =
        static_cast<int64_t>(below(static_cast<uint64_t>(i) + 1, static_cast<uint64_t>(i), first_block, key));
    out[i] = out[other];
    out[other] = static_cast<Number>(i);
  }
}

/// Maps the numbers below `count` to each other, one to one.
class Cipher {
 public:
  ANYPLACE_DEVICE_INLINE Cipher(uint64_t count, uint64_t first_block, uint64_t key) : count_(count) {
    int bits = 2;
    while (bits < 64 && (uint64_t{1} << bits) < count) ++bits;
    right_bits_ = bits / 2;
    left_mask_ = mask(bits - right_bits_);
    right_mask_ = mask(right_bits_);
    Words<1> words;
    for (int i = 0; i < rounds * 2; ++i) {
      if (i % 4 == 0) philox_from(words, first_block + static_cast<uint64_t>(i / 4), key);
      keys_[i] = words.word[i % 4][0];
    }
  }

  ANYPLACE_DEVICE_INLINE uint64_t operator()(uint64_t x) const {
    do x = encrypted(x);
    while (x >= count_);
    return x;
  }

  /// Encrypts `size` numbers from `first` on, at most `batch`, into `out`. All go through the network side by side, so
  /// that the host's compiler makes vectors of them; then those that fell beyond the count go through it again.
  template <class Number>
  ANYPLACE_DEVICE_INLINE void encrypt(uint64_t first, int size, Number* out) const {
    uint32_t left[batch] = {}, right[batch] = {};
    int place[batch];
    for (int i = 0; i < size; ++i) {
      const uint64_t x = first + static_cast<uint64_t>(i);
      left[i] = static_cast<uint32_t>(x >> right_bits_);
      right[i] = static_cast<uint32_t>(x) & right_mask_;
      place[i] = i;
    }
    while (size != 0) {
      for (int begin = 0; begin < size; begin += lanes) encrypt_lanes(left + begin, right + begin);
      int beyond = 0;
      // This loop has no branch on x, which the processor would guess wrongly half of the time.
      for (int i = 0; i < size; ++i) {
        const uint64_t x = static_cast<uint64_t>(left[i]) << right_bits_ | right[i];
        out[place[i]] = static_cast<Number>(x);
        left[beyond] = left[i];
        right[beyond] = right[i];
        place[beyond] = place[i];
        beyond += x >= count_ ? 1 : 0;
      }
      size = beyond;
    }
  }

  static constexpr int batch = 512;

 private:
  static constexpr int rounds = 12;
  static constexpr int lanes = 64;
  static_assert(batch % lanes == 0, "the last lanes of a batch may be none of its numbers, but are its memory");

  ANYPLACE_DEVICE_INLINE static uint32_t mask(int bits) {
    return bits >= 32 ? 0xffffffffu : (uint32_t{1} << bits) - 1u;
  }
  /// Mixes x with two keys: each bit of the result depends on each bit of x and of the keys.
  ANYPLACE_DEVICE_INLINE static uint32_t mixed(uint32_t x, uint32_t before, uint32_t between) {
    x = (x ^ before) * 0x9E3779B1u;
    x ^= x >> 15;
    x = (x + between) * 0x85EBCA77u;
    x ^= x >> 13;
    x *= 0xC2B2AE3Du;
    return x ^ x >> 16;
  }
  ANYPLACE_DEVICE_INLINE uint64_t encrypted(uint64_t x) const {
    uint32_t left = static_cast<uint32_t>(x >> right_bits_), right = static_cast<uint32_t>(x) & right_mask_;
    for (int i = 0; i < rounds; i += 2) {
      left ^= mixed(right, keys_[2 * i], keys_[2 * i + 1]) & left_mask_;
      right ^= mixed(left, keys_[2 * i + 2], keys_[2 * i + 3]) & right_mask_;
    }
    return static_cast<uint64_t>(left) << right_bits_ | right;
  }

  ANYPLACE_DEVICE_INLINE void encrypt_lanes(uint32_t* __restrict__ left, uint32_t* __restrict__ right) const {
    for (int i = 0; i < rounds; i += 2) {
      const uint32_t* const key = keys_ + 2 * i;
      const uint32_t a = key[0], b = key[1], c = key[2], d = key[3];
      for (int lane = 0; lane < lanes; ++lane) left[lane] ^= mixed(right[lane], a, b) & left_mask_;
      for (int lane = 0; lane < lanes; ++lane) right[lane] ^= mixed(left[lane], c, d) & right_mask_;
    }
  }

  uint64_t count_;
  int right_bits_;
  uint32_t left_mask_, right_mask_;
  uint32_t keys_[rounds * 2];
};

}  // namespace anyplace::random
