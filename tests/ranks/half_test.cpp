// SPDX-License-Identifier: Apache-2.0
// Half precision as MPI's reductions of it compute.
#include <catch2/catch.hpp>
#include <cmath>

#include "mpi/half.h"

namespace half_test {

using namespace anyplace::mpi;

TEST_CASE("Given every half then it is the same after a way over float") {
  bool same = true;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool is_nan = (half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0;
    if (!is_nan) same = same && to_f16(from_f16(half)) == half;
    if (is_nan) same = same && std::isnan(from_f16(half)) && std::isnan(from_f16(to_f16(from_f16(half))));
    const bool is_wide_nan = (half & 0x7f80u) == 0x7f80u && (half & 0x7fu) != 0;
    if (!is_wide_nan) same = same && to_bf16(from_bf16(half)) == half;
  }
  CHECK(same);
}

TEST_CASE("Given a float between two halves then the nearer one is taken, and the even one of two as near") {
  CHECK(to_f16(1.0f) == 0x3c00);
  CHECK(to_f16(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(to_f16(1.0f + 0x1p-11f + 0x1p-20f) == 0x3c01);
  CHECK(to_f16(1.0f + 3 * 0x1p-11f) == 0x3c02);
  CHECK(to_f16(65519.0f) == 0x7bff);
  CHECK(to_f16(65520.0f) == 0x7c00);
  CHECK(to_f16(0x1p-25f) == 0x0000);
  CHECK(to_f16(0x1.8p-25f) == 0x0001);
  CHECK(to_f16(-0x1p-24f) == 0x8001);
  CHECK(to_bf16(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(to_bf16(1.0f + 3 * 0x1p-8f) == 0x3f82);
  CHECK(std::isnan(from_bf16(to_bf16(std::nanf("")))));
}

}  // namespace half_test
