// SPDX-License-Identifier: Apache-2.0
//
// What HIP says of a device.
#include "cuda_and_hip/support.h"

namespace selector_test {

using namespace vendor_test;

TEST_CASE("What a device says of itself is what HIP says") {
  const Double hip({{"HIP_DOUBLE_VERSION", "70051831"}, {"HIP_DOUBLE_ARCH", "gfx942"}, {"HIP_DOUBLE_MEMORY", "96M"}});
  const auto properties = Device("hip:0").properties();
  CHECK(properties.vendor == "AMD");
  CHECK(properties.driver_version == "7.0.51831");
  CHECK(properties.architecture == "gfx942");
  check_figures(properties, 1);
  CHECK(properties.max_shared_bytes == 64 * 1024);
  CHECK(properties.image_formats == std::vector<std::string>{"hsaco"});
}

}  // namespace selector_test
