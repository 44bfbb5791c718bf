// SPDX-License-Identifier: Apache-2.0
//
// Where a thread sleeps: without a token it does, whatever its stack held before.
#include "cpu_sim/parker.h"

#include <array>
#include <catch2/catch.hpp>

namespace test_parker_cases {

using anyplace::cpu_sim::Parker;

namespace {

/// Leaves `value` in the part of the stack that the next call uses.
[[gnu::noinline]] void fill_stack(std::uint32_t value) {
  std::array<volatile std::uint32_t, 256> words;
  for (auto& word : words) word = value;
}

}  // namespace

TEST_CASE("A parker without a token sleeps until its time is over") {
  for (std::uint32_t before = 0; before < 4; ++before) {
    Parker parker;
    fill_stack(before);
    CHECK_FALSE(parker.park_for(1000));
  }
}

TEST_CASE("A parker's token is taken once, also when it came first") {
  for (std::uint32_t before = 0; before < 4; ++before) {
    Parker parker;
    parker.unpark();
    fill_stack(before);
    CHECK(parker.park_for(1000));
    CHECK_FALSE(parker.park_for(1000));
  }
}

}  // namespace test_parker_cases
