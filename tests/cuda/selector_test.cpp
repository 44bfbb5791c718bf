// SPDX-License-Identifier: Apache-2.0
//
// MIG instances by uuid, and what the driver says of a device.
#include <cstdio>
#include "cuda_and_hip/support.h"
#include "support/process.h"

namespace selector_test {

using namespace vendor_test;

TEST_CASE("A MIG instance is found by its uuid as nvidia-smi prints it") {
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}});
  const std::string uuid = Device("cuda:1").properties().uuid;
  CHECK(uuid.size() == 40);
  CHECK_THAT(uuid, Catch::StartsWith("MIG-"));
  CHECK(Device("cuda:uuid=" + uuid).index() == 1);
  CHECK(anyplace::Place("cuda:uuid=" + uuid).to_string() == "cuda:uuid=" + uuid);
  CHECK(uuid != Device("cuda:0").properties().uuid);
  const anyplace::Error error = test::required_error(
      ErrorCode::no_such_device, [] { Device{"cuda:uuid=MIG-00000000-0000-0000-0000-000000000000"}; });
  CHECK_THAT(error.what(), contains(uuid));
}

TEST_CASE("The instance that CUDA_VISIBLE_DEVICES names by its uuid has that uuid") {
  std::string uuid;
  const test::Ended child = test::in_child([] {
    test::set_env("CUDA_DOUBLE_MIG", "1");
    std::printf("%s", Device("cuda:1").properties().uuid.c_str());
    return 0;
  });
  uuid = child.out;
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}, {"CUDA_VISIBLE_DEVICES", uuid.c_str()}});
  REQUIRE(anyplace::device_count("cuda") == 1);
  CHECK(Device("cuda:uuid=" + uuid).index() == 0);
}

TEST_CASE("A driver that does not tell the uuids of instances gives the GPU's") {
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}, {"CUDA_DOUBLE_MISSING", "cuDeviceGetUuid_v2"}});
  const std::string uuid = Device("cuda:1").properties().uuid;
  CHECK_THAT(uuid, Catch::StartsWith("GPU-"));
  CHECK(uuid == Device("cuda:0").properties().uuid);
  // Of two with one uuid the first is meant.
  CHECK(Device("cuda:uuid=" + uuid).index() == 0);
}

TEST_CASE("What a device says of itself is what the driver says") {
  const Double cuda({{"CUDA_DOUBLE_DRIVER_VERSION", "12080"}, {"CUDA_DOUBLE_SM", "80"}, {"CUDA_DOUBLE_MEMORY", "96M"}});
  const auto properties = Device("cuda:0").properties();
  CHECK(properties.vendor == "NVIDIA");
  CHECK(properties.driver_version == "12.8");
  CHECK(properties.architecture == "sm_80");
  check_figures(properties, 0);
  CHECK(properties.max_shared_bytes > 48 * 1024);
  CHECK(properties.image_formats == std::vector<std::string>{"ptx", "cubin", "fatbin"});
}

}  // namespace selector_test
