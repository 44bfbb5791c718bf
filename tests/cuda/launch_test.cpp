// SPDX-License-Identifier: Apache-2.0
//
// Launches with CUDA's own limits: shared memory that a kernel has to be allowed, parameters that some drivers tell.
#include "cuda_and_hip/launching.h"

namespace launch_test {

using namespace vendor_test;

TEST_CASE("Shared memory over 48 KiB is allowed once and then used") {
  Launching on;
  const std::uint64_t limit = on.device.properties().max_shared_bytes;
  REQUIRE(limit > 48 * 1024);
  on.check_sums_with({48 * 1024, 64 * 1024, limit});
  CHECK(on.driver.calls_of("cuFuncSetAttribute") == 1);
}

TEST_CASE("Arguments of the wrong number or size are refused before anything runs") {
  Launching on;
  on.check_refused(on.fill, {1}, {64}, 0);
  on.check_refused(on.fill, {1}, {64}, 0, on.numbers, 1u);
  on.check_refused(on.fill, {1}, {64}, 0, on.numbers, 1u, 1u, 1u);
  on.check_refused(on.fill, {1}, {64}, 0, on.numbers, std::uint64_t{1}, 1u);
  on.check_refused(on.fill, {1}, {64}, 0, on.numbers, 1u, std::uint8_t{1});
}

TEST_CASE("A driver that can not tell the parameters of a kernel launches all the same") {
  Launching on({{"CUDA_DOUBLE_DRIVER_VERSION", "12030"}});
  std::vector<std::uint32_t> back(64);
  on.stream.launch(on.fill, {1, 64}, on.numbers, 64u, 5u);
  on.stream.copy(back, on.numbers.sub(0, 256));
  on.stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(64, 5));
  CHECK(on.driver.calls_of("cuFuncGetParamInfo") == 0);
}

}  // namespace launch_test
