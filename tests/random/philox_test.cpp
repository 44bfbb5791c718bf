// SPDX-License-Identifier: Apache-2.0
// Philox itself: the answers that Random123 publishes (its file kat_vectors), and the forms that are for speed.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>

#include "random/philox.h"
#if defined(__x86_64__)
#include "random/philox_avx2.h"
#endif

namespace philox_test {

using anyplace::random::Words;

std::array<std::uint32_t, 4> philox_of(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  Words<1> words{};
  for (std::size_t i = 0; i < 4; ++i) words.word[i][0] = counter[i];
  anyplace::random::philox(words, key);
  return {words.word[0][0], words.word[1][0], words.word[2][0], words.word[3][0]};
}

TEST_CASE("Philox4x32-10 gives the answers that Random123 publishes") {
  using Four = std::array<std::uint32_t, 4>;
  CHECK(philox_of({0, 0, 0, 0}, 0) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox_of({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_of({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Counters go on from 32 bits into 64, and from the last to the first") {
  for (const std::uint64_t first : {std::uint64_t{0xfffffffe}, ~std::uint64_t{0} - 1}) {
    Words<4> together;
    anyplace::random::philox_from(together, first, 7);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t at = first + i;
      const auto alone = philox_of({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), 0, 0}, 7);
      for (std::size_t word = 0; word < 4; ++word) CHECK(together.word[word][i] == alone[word]);
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("The vectors of AVX2 give the same bits as the plain form") {
  if (!__builtin_cpu_supports("avx2")) return;
  for (std::uint64_t n = 0; n < 300; ++n) {
    const std::uint64_t first = n < 20 ? 0xfffffff0 + n : n * 0x9E3779B97F4A7C15, key = n * 0xD1B54A32D192ED03;
    Words<16> plain, vectors;
    anyplace::random::philox_from(plain, first, key);
    anyplace::random::philox_16_avx2(vectors, first, key);
    CHECK(std::memcmp(&plain, &vectors, sizeof(plain)) == 0);
  }
}
#endif

}  // namespace philox_test
