// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "anyplace/backend/kit/deadline.h"

namespace deadline_test {

using anyplace::backend::Deadline;
using namespace std::chrono_literals;

TEST_CASE("A deadline of 0 has passed and has nothing left") {
  const Deadline deadline(0);
  CHECK(deadline.passed());
  CHECK(deadline.left() == 0);
  CHECK(deadline.left(1s) == 0ns);
}

TEST_CASE("A deadline for ever never passes and is left for ever") {
  const Deadline deadline(ANYPLACE_FOREVER);
  CHECK(deadline.forever());
  CHECK_FALSE(deadline.passed());
  CHECK(deadline.left() == ANYPLACE_FOREVER);
  CHECK(deadline.left(1s) == 1s);
}

TEST_CASE("A timeout near the greatest number is far away and not in the past") {
  for (const std::uint64_t timeout : {ANYPLACE_FOREVER - 1, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1}) {
    const Deadline deadline(timeout);
    INFO(timeout);
    CHECK_FALSE(deadline.forever());
    CHECK_FALSE(deadline.passed());
    CHECK(deadline.left(1h) == 1h);
    CHECK(deadline.left() < ANYPLACE_FOREVER);
  }
}

TEST_CASE("Polling asks at least once and says whether it was answered") {
  int asked = 0;
  CHECK_FALSE(anyplace::backend::poll_until(Deadline(0), [&] { return ++asked > 1; }));
  CHECK(asked == 1);
  CHECK(anyplace::backend::poll_until(Deadline(ANYPLACE_FOREVER), [&] { return ++asked == 5; }));
  CHECK(asked == 5);
}

}  // namespace deadline_test
