// SPDX-License-Identifier: Apache-2.0
//
// Launches with AMD's own limits.
#include "cuda_and_hip/launching.h"

namespace launch_test {

using namespace vendor_test;

TEST_CASE("All the shared memory of the device is used without asking for leave") {
  Launching on;
  const std::uint64_t limit = on.device.properties().max_shared_bytes;
  REQUIRE(limit == 64 * 1024);
  on.check_sums_with({4096, 48 * 1024 + 4, limit});
}

TEST_CASE("More threads in a direction than AMD counts are refused with HIPs own code") {
  Launching on;
  const anyplace::Error error = test::required_error(ErrorCode::invalid_argument, [&] {
    on.stream.launch(on.fill, {8u << 20, 1024}, on.numbers, 1024u, 1u);
  });
  CHECK(error.vendor_code() == hipErrorInvalidConfiguration);
}

}  // namespace launch_test
