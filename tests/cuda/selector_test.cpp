// SPDX-License-Identifier: Apache-2.0
//
// Devices by uuid and pci address, and CUDA_VISIBLE_DEVICES.
#include "support.h"
#include "support/child.h"

namespace {

using namespace cuda_test;
using anyplace::Device;

}  // namespace

TEST_CASE("A device is found by its uuid as nvidia-smi prints it") {
  const Double cuda;
  const std::string uuid = Device("cuda:1").properties().uuid;
  CHECK(uuid.size() == 40);
  CHECK_THAT(uuid, Catch::StartsWith("GPU-"));
  CHECK(Device("cuda:uuid=" + uuid).index() == 1);
  CHECK(anyplace::Place("cuda:uuid=" + uuid).to_string() == "cuda:uuid=" + uuid);
  CHECK(uuid != Device("cuda:0").properties().uuid);
}

TEST_CASE("A MIG instance is found by its uuid as nvidia-smi prints it") {
  const Double cuda({{"CUDA_DOUBLE_MIG", "1"}});
  const std::string uuid = Device("cuda:1").properties().uuid;
  CHECK(uuid.size() == 40);
  CHECK_THAT(uuid, Catch::StartsWith("MIG-"));
  CHECK(Device("cuda:uuid=" + uuid).index() == 1);
  CHECK(anyplace::Place("cuda:uuid=" + uuid).to_string() == "cuda:uuid=" + uuid);
  CHECK(uuid != Device("cuda:0").properties().uuid);
  const auto error = test::error_of([] { Device{"cuda:uuid=MIG-00000000-0000-0000-0000-000000000000"}; });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_such_device);
  CHECK_THAT(error->what(), contains(uuid));
}

TEST_CASE("The instance that CUDA_VISIBLE_DEVICES names by its uuid has that uuid") {
  std::string uuid;
  const test::ChildResult child = test::in_child([] {
    test::set_env("CUDA_DOUBLE_MIG", "1");
    std::printf("%s", Device("cuda:1").properties().uuid.c_str());
    return 0;
  });
  uuid = child.output;
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

TEST_CASE("A device is found by its pci address") {
  const Double cuda;
  const std::string pci = Device("cuda:1").properties().pci;
  CHECK(pci.size() == 12);
  CHECK(Device("cuda:pci=" + pci).index() == 1);
}

TEST_CASE("A selector that no device has says which devices there are") {
  const Double cuda;
  for (const char* place : {"cuda:uuid=GPU-00000000-0000-0000-0000-000000000000", "cuda:pci=00ff:ff:00.0", "cuda:2"}) {
    const auto error = test::error_of([&] { Device{place}; });
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::no_such_device);
    CHECK_THAT(error->what(), contains("cuda:0") && contains("cuda:1"));
  }
}

TEST_CASE("The driver counts the devices that CUDA_VISIBLE_DEVICES leaves") {
  const Double cuda({{"CUDA_DOUBLE_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "2,0"}});
  REQUIRE(anyplace::device_count("cuda") == 2);
  const std::string first = Device("cuda:0").properties().uuid;
  const std::string second = Device("cuda:1").properties().uuid;
  CHECK(first != second);
  CHECK(Device("cuda:uuid=" + first).index() == 0);
  const anyplace::Stream stream(Device("cuda:1"));
  stream.synchronize();
}

TEST_CASE("What a device says of itself is what the driver says") {
  const Double cuda({{"CUDA_DOUBLE_DRIVER_VERSION", "12080"}, {"CUDA_DOUBLE_SM", "80"}, {"CUDA_DOUBLE_MEMORY", "96M"}});
  const auto properties = Device("cuda:0").properties();
  CHECK(properties.vendor == "NVIDIA");
  CHECK(properties.driver_version == "12.8");
  CHECK(properties.architecture == "sm_80");
  CHECK(properties.total_memory == 96u << 20);
  CHECK(properties.max_threads_per_block == 1024);
  CHECK(properties.max_shared_bytes > 48 * 1024);
  CHECK(properties.image_formats == std::vector<std::string>{"ptx", "cubin", "fatbin"});
  CHECK(properties.priorities.least == 0);
  CHECK(properties.priorities.greatest < 0);
}
