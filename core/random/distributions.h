// SPDX-License-Identifier: Apache-2.0
//
// What becomes of random words. Each distribution is a struct that makes the elements of `lanes` counters: element e of
// lane i is out[e][i]. All lanes do the same, without branches, so that the host's compiler can make vectors of them.
//
// `Element` is what is stored, and `per` is how many of them a counter gives. Both formats of 16 bits are stored as
// uint16_t: Binary16 and Bfloat16 (kit/half.h) say which it is.
#pragma once

#include "anyplace/backend/kit/half.h"
#include "fixed_math.h"
#include "philox.h"

namespace anyplace::random {

// ---- How a value is stored -----------------------------------------------------------------------------------------

using backend::Bfloat16;
using backend::Binary16;

struct Single {
  using Value = float;
  using Element = float;
  ANYPLACE_DEVICE_INLINE static float store(float x) { return x; }
};
struct Double {
  using Value = double;
  using Element = double;
  ANYPLACE_DEVICE_INLINE static double store(double x) { return x; }
};

// ---- Fractions -----------------------------------------------------------------------------------------------------

/// Gives 0 to 1 - 2^-24, of 24 bits of a word.
ANYPLACE_DEVICE_INLINE float fraction(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
}
/// Gives 0 to 1 - 2^-53, of 53 bits of two words. Each half is converted exactly.
ANYPLACE_DEVICE_INLINE double fraction(uint32_t high, uint32_t low) {
  return static_cast<double>(static_cast<int32_t>(high >> 5)) * 0x1p-27 +
         static_cast<double>(static_cast<int32_t>(low >> 6)) * 0x1p-53;
}
/// Gives a number above 0 and below 1, for a logarithm. Small numbers keep all their bits, so that the logarithm has a
/// long tail.
ANYPLACE_DEVICE_INLINE float inner_fraction(uint32_t word) {
  const float x = static_cast<float>(static_cast<int32_t>(word >> 1)) * 0x1p-31f + 0x1p-32f;
  return x < 0x1.fffffep-1f ? x : 0x1.fffffep-1f;
}
ANYPLACE_DEVICE_INLINE double inner_fraction(uint32_t high, uint32_t low) {
  const double x = fraction(high, low) + 0x1p-54;
  return x < 0x1.fffffffffffffp-1 ? x : 0x1.fffffffffffffp-1;
}

/// How values are made of words: a double takes two of them, and what is made of float takes one.
template <class Value>
struct Draw;
template <>
struct Draw<float> {
  static constexpr int per = 4;
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static float fraction_at(const Words<lanes>& words, int e, int i) {
    return fraction(words.word[e][i]);
  }
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static float inner_at(const Words<lanes>& words, int e, int i) {
    return inner_fraction(words.word[e][i]);
  }
  /// The first two bits say how many quarters of a turn, and the others add -1/2 to 1/2 of a quarter.
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static SinCos<float> turn_at(const Words<lanes>& words, int e, int i) {
    const uint32_t word = words.word[e][i];
    return sin_cos(word >> 30, static_cast<float>(static_cast<int32_t>(word << 2)) * 0x1p-32f);
  }
};
template <>
struct Draw<double> {
  static constexpr int per = 2;
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static double fraction_at(const Words<lanes>& words, int e, int i) {
    return fraction(words.word[2 * e][i], words.word[2 * e + 1][i]);
  }
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static double inner_at(const Words<lanes>& words, int e, int i) {
    return inner_fraction(words.word[2 * e][i], words.word[2 * e + 1][i]);
  }
  template <int lanes>
  ANYPLACE_DEVICE_INLINE static SinCos<double> turn_at(const Words<lanes>& words, int e, int i) {
    const uint32_t high = words.word[2 * e][i], low = words.word[2 * e + 1][i];
    const double t = static_cast<double>(static_cast<int32_t>(high << 2)) * 0x1p-32 +
                     static_cast<double>(static_cast<int32_t>(low >> 6)) * 0x1p-56;
    return sin_cos(high >> 30, t);
  }
};

/// Makes `per` elements for every lane: `element(e, i)` is element e of lane i.
template <int per, int lanes, class Element, class Make>
ANYPLACE_DEVICE_INLINE void make_each(Element (*out)[lanes], const Make& element) {
  for (int e = 0; e < per; ++e) {
    for (int i = 0; i < lanes; ++i) out[e][i] = element(e, i);
  }
}

// ---- Distributions -------------------------------------------------------------------------------------------------

/// Numbers are `low` or more, and never above `most`, which is the largest number below the upper end.
template <class Store>
struct Uniform {
  using Value = typename Store::Value;
  using Element = typename Store::Element;
  static constexpr int per = Draw<Value>::per;
  Value low, width, most;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    make_each<per>(out, [&](int e, int i) {
      const Value x = low + Draw<Value>::fraction_at(words, e, i) * width;
      return Store::store(x < most ? x : most);
    });
  }
};

/// The method is Box and Muller's, which makes two numbers at a time.
template <class Store>
struct Normal {
  using Value = typename Store::Value;
  using Element = typename Store::Element;
  static constexpr int per = Draw<Value>::per;
  Value mean, deviation;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    for (int e = 0; e < per; e += 2) {
      for (int i = 0; i < lanes; ++i) {
        const Value radius = root_of(Value(-2) * log_of(Draw<Value>::inner_at(words, e, i)));
        const SinCos<Value> turn = Draw<Value>::turn_at(words, e + 1, i);
        out[e][i] = Store::store(mean + deviation * (radius * turn.cosine));
        out[e + 1][i] = Store::store(mean + deviation * (radius * turn.sine));
      }
    }
  }
};

/// The rate is 1 / `scale`.
template <class Store>
struct Exponential {
  using Value = typename Store::Value;
  using Element = typename Store::Element;
  static constexpr int per = Draw<Value>::per;
  Value scale;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    make_each<per>(out,
                   [&](int e, int i) { return Store::store(-log_of(Draw<Value>::inner_at(words, e, i)) * scale); });
  }
};

/// Numbers are `first` plus a whole number below `count`, which is 2^32 at most: floor(count x / 2^64) of 64 random
/// bits x. They are added modulo 2^64, so a `Number` with a sign works the same.
template <class Number>
struct Integers {
  using Element = Number;
  static constexpr int per = 2;
  uint64_t first, count;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    make_each<per>(out, [&](int e, int i) {
      const uint64_t high = words.word[2 * e][i], low = words.word[2 * e + 1][i];
      return static_cast<Number>(first + ((high * count + (low * count >> 32)) >> 32));
    });
  }
};

/// Gives the upper 64 bits of a product of 128.
ANYPLACE_DEVICE_INLINE uint64_t upper_product(uint64_t a, uint64_t b) {
  const uint64_t a1 = a >> 32, a0 = a & 0xffffffffu, b1 = b >> 32, b0 = b & 0xffffffffu;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  const uint64_t other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/// Integers for counts above 2^32, which takes 128 random bits for each number. A count of 0 stands for 2^64.
struct WideIntegers {
  using Element = uint64_t;
  static constexpr int per = 1;
  uint64_t first, count;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    for (int i = 0; i < lanes; ++i) {
      const uint64_t high = static_cast<uint64_t>(words.word[0][i]) << 32 | words.word[1][i];
      const uint64_t low = static_cast<uint64_t>(words.word[2][i]) << 32 | words.word[3][i];
      const uint64_t sum = high * count + upper_product(low, count);
      const uint64_t carry = sum < upper_product(low, count) ? 1 : 0;
      out[0][i] = first + (count == 0 ? high : upper_product(high, count) + carry);
    }
  }
};

/// A number is `one` where its word is `last` at most, else 0.
template <class Number>
struct Bernoulli {
  using Element = Number;
  static constexpr int per = 4;
  uint64_t one;
  uint32_t last;

  template <int lanes>
  ANYPLACE_DEVICE_INLINE void make(const Words<lanes>& words, Element (*out)[lanes]) const {
    const Number hit = static_cast<Number>(one);
    make_each<per>(out, [&](int e, int i) { return words.word[e][i] <= last ? hit : Number(0); });
  }
};

}  // namespace anyplace::random
