// SPDX-License-Identifier: Apache-2.0
// The formats of 16 bits: how they are loaded as float, and how floats are stored in them.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include "anyplace/backend/kit/half.h"

namespace half_test {

using anyplace::backend::Bfloat16;
using anyplace::backend::Binary16;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Whether every element is the same after a way over float; of a NaN, once it is quiet.
template <class Format>
bool all_come_back(std::uint16_t infinity, std::uint16_t quiet) {
  bool same = true;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto element = static_cast<std::uint16_t>(bits);
    const bool is_nan = (element & 0x7fffu) > infinity;
    same = same && std::isnan(Format::load(element)) == is_nan;
    same = same && Format::store(Format::load(element)) == (is_nan ? element | quiet : element);
  }
  return same;
}

TEST_CASE("Given every element of 16 bits then it is the same after a way over float") {
  CHECK(all_come_back<Binary16>(0x7c00, 0x0200));
  CHECK(all_come_back<Bfloat16>(0x7f80, 0x0040));
}

TEST_CASE("Given a NaN then it becomes quiet and keeps its sign and the upper bits of its payload") {
  // Signalling ones, whose payload has its highest and its lowest bit.
  CHECK(bits_of(Binary16::load(0xfd01)) == 0xffe02000);
  CHECK(bits_of(Bfloat16::load(0xffa1)) == 0xffe10000);
  CHECK(Binary16::store(from_bits(0xffa00001)) == 0xff00);
  CHECK(Bfloat16::store(from_bits(0xffa00001)) == 0xffe0);
  // Nothing of these payloads fits, and they aren't infinity either.
  CHECK(Binary16::store(from_bits(0x7f800001)) == 0x7e00);
  CHECK(Bfloat16::store(from_bits(0x7f800001)) == 0x7fc0);
}

TEST_CASE("Given a float between two elements then the nearer one is taken, and the even one of two as near") {
  CHECK(Binary16::store(1.0f) == 0x3c00);
  CHECK(Binary16::store(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(Binary16::store(1.0f + 0x1p-11f + 0x1p-20f) == 0x3c01);
  CHECK(Binary16::store(1.0f + 3 * 0x1p-11f) == 0x3c02);
  CHECK(Binary16::store(65519.0f) == 0x7bff);
  CHECK(Binary16::store(65520.0f) == 0x7c00);
  CHECK(Binary16::store(-0x1p127f) == 0xfc00);
  CHECK(Binary16::store(0x1p-25f) == 0x0000);
  CHECK(Binary16::store(0x1.8p-25f) == 0x0001);
  CHECK(Binary16::store(-0x1p-24f) == 0x8001);
  CHECK(Bfloat16::store(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(Bfloat16::store(1.0f + 3 * 0x1p-8f) == 0x3f82);
  CHECK(Bfloat16::store(0x1.ffp127f) == 0x7f80);
}

}  // namespace half_test
