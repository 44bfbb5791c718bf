// SPDX-License-Identifier: Apache-2.0
//
// Devices by uuid and pci address, and HIP_VISIBLE_DEVICES.
#include "support.h"

namespace {

using namespace hip_test;
using anyplace::Device;

}  // namespace

TEST_CASE("A device is found by its uuid as rocminfo prints it") {
  const Double hip;
  const std::string uuid = Device("hip:1").properties().uuid;
  CHECK(uuid.size() == 20);
  CHECK_THAT(uuid, Catch::StartsWith("GPU-"));
  CHECK(Device("hip:uuid=" + uuid).index() == 1);
  CHECK(anyplace::Place("hip:uuid=" + uuid).to_string() == "hip:uuid=" + uuid);
  CHECK(uuid != Device("hip:0").properties().uuid);
}

TEST_CASE("A device is found by its pci address") {
  const Double hip;
  const std::string pci = Device("hip:1").properties().pci;
  CHECK(pci.size() == 12);
  CHECK(Device("hip:pci=" + pci).index() == 1);
}

TEST_CASE("A selector that no device has says which devices there are") {
  const Double hip;
  for (const char* place : {"hip:uuid=GPU-0000000000000000", "hip:pci=00ff:ff:00.0", "hip:2"}) {
    const auto error = test::error_of([&] { Device{place}; });
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::no_such_device);
    CHECK_THAT(error->what(), contains("hip:0") && contains("hip:1"));
  }
}

TEST_CASE("HIP counts the devices that HIP_VISIBLE_DEVICES leaves") {
  const Double hip({{"HIP_DOUBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "2,0"}});
  REQUIRE(anyplace::device_count("hip") == 2);
  const std::string first = Device("hip:0").properties().uuid;
  const std::string second = Device("hip:1").properties().uuid;
  CHECK(first != second);
  CHECK(Device("hip:uuid=" + first).index() == 0);
  const anyplace::Stream stream(Device("hip:1"));
  stream.synchronize();
}

TEST_CASE("What a device says of itself is what HIP says") {
  const Double hip({{"HIP_DOUBLE_VERSION", "70051831"}, {"HIP_DOUBLE_ARCH", "gfx942"}, {"HIP_DOUBLE_MEMORY", "96M"}});
  const auto properties = Device("hip:0").properties();
  CHECK(properties.vendor == "AMD");
  CHECK(properties.driver_version == "7.0.51831");
  CHECK(properties.architecture == "gfx942");
  CHECK(properties.total_memory == 96u << 20);
  CHECK(properties.max_threads_per_block == 1024);
  CHECK(properties.max_shared_bytes == 64 * 1024);
  CHECK(properties.image_formats == std::vector<std::string>{"hsaco"});
  CHECK(properties.priorities.least == 1);
  CHECK(properties.priorities.greatest < 0);
}
