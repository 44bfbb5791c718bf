// SPDX-License-Identifier: Apache-2.0
// What the distributions make of some words, as a number for each. Compiled several times, each with another level of
// optimisation, under a name of its own.
#include <cstdint>
#include <cstring>
#include <vector>

#include "random/distributions.h"

namespace bits_test {

namespace {

using namespace anyplace::random;

template <class Distribution>
std::uint64_t digest(const Distribution& distribution) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::uint64_t group = 0; group < 500; ++group) {
    Words<16> words;
    philox_from(words, group * 16, 42);
    typename Distribution::Element made[Distribution::per][16];
    distribution.make(words, made);
    unsigned char bytes[sizeof(made)];
    std::memcpy(bytes, made, sizeof(made));
    for (const unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  }
  return sum;
}

}  // namespace

std::vector<std::uint64_t> RANDOM_BITS_NAME();
std::vector<std::uint64_t> RANDOM_BITS_NAME() {
  return {digest(Uniform<Binary16>{-1.5f, 3.25f, 1.749f}),
          digest(Uniform<Bfloat16>{-1.5f, 3.25f, 1.74f}),
          digest(Uniform<Single>{-1.1f, 3.3f, 2.19999f}),
          digest(Uniform<Double>{-1.1, 3.3, 2.19999}),
          digest(Normal<Binary16>{0.1f, 1.7f}),
          digest(Normal<Bfloat16>{0.1f, 1.7f}),
          digest(Normal<Single>{0.1f, 1.7f}),
          digest(Normal<Double>{0.1, 1.7}),
          digest(Exponential<Binary16>{0.7f}),
          digest(Exponential<Bfloat16>{0.7f}),
          digest(Exponential<Single>{0.7f}),
          digest(Exponential<Double>{0.7}),
          digest(Integers<std::uint8_t>{3, 100}),
          digest(Integers<std::uint64_t>{3, 1000003}),
          digest(WideIntegers{3, 0x123456789abcdef}),
          digest(WideIntegers{0, 0}),
          digest(Bernoulli<float>{1, 0x40000000})};
}

}  // namespace bits_test
