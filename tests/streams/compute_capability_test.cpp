// SPDX-License-Identifier: Apache-2.0
// The numbers in architectures' names.
#include <catch2/catch.hpp>

#include "devices/compute_capability.h"

namespace compute_capability_test {

using anyplace::ComputeCapability;
using anyplace::detail::compute_capability_of;

TEST_CASE("The numbers of a vendor's architecture are read from its name") {
  CHECK(compute_capability_of("sm_80") == ComputeCapability{8, 0});
  CHECK(compute_capability_of("sm_90a") == ComputeCapability{9, 0});
  CHECK(compute_capability_of("sm_103") == ComputeCapability{10, 3});
  CHECK(compute_capability_of("sm_121f") == ComputeCapability{12, 1});
  CHECK(compute_capability_of("gfx803") == ComputeCapability{8, 0});
  CHECK(compute_capability_of("gfx90a") == ComputeCapability{9, 0});
  CHECK(compute_capability_of("gfx942") == ComputeCapability{9, 4});
  CHECK(compute_capability_of("gfx90c:xnack-") == ComputeCapability{9, 0});
  CHECK(compute_capability_of("gfx1030") == ComputeCapability{10, 3});
  CHECK(compute_capability_of("gfx1201:sramecc+:xnack-") == ComputeCapability{12, 0});
}

TEST_CASE("Names that have no such numbers give none") {
  for (const char* name : {"",
                           "x86-64",
                           "sm_",
                           "sm_9",
                           "sm_a",
                           "sm_9x0",
                           "sm_90aa",
                           "sm_-10",
                           "sm_9 0",
                           "SM_90",
                           "gfx",
                           "gfx9",
                           "gfx90",
                           "gfx9-generic",
                           "gfx:90a",
                           "gfx90z",
                           "gfxabc",
                           "gfx-10a",
                           "gfx9-4-generic",
                           "gfx99999999999999999930",
                           "sm_99999999999999999990",
                           "pvc",
                           "compute_90"}) {
    CAPTURE(name);
    CHECK_FALSE(compute_capability_of(name));
  }
}

TEST_CASE("Compute capabilities compare by the major number first") {
  CHECK(ComputeCapability{9, 0} > ComputeCapability{8, 9});
  CHECK(ComputeCapability{8, 6} > ComputeCapability{8, 0});
  CHECK(ComputeCapability{10, 0} == ComputeCapability{10, 0});
}

}  // namespace compute_capability_test
