// SPDX-License-Identifier: Apache-2.0
//
// Devices by uuid and pci address, and the variable of the vendor that hides devices.
#include <string>

#include "support.h"

namespace selector_test {

namespace {

using namespace vendor_test;

/// "cuda:uuid=GPU-..."
std::string selector(const char* kind, const std::string& value) {
  return std::string(backend) + ":" + kind + "=" + value;
}

}  // namespace

TEST_CASE("A device is found by its uuid as " UUID_TOOL " prints it") {
  const Double driver;
  const std::string uuid = Device(place(1)).properties().uuid;
  CHECK(uuid.size() == std::string(uuid_of_nobody).size());
  CHECK_THAT(uuid, Catch::StartsWith("GPU-"));
  CHECK(Device(selector("uuid", uuid)).index() == 1);
  CHECK(anyplace::Place(selector("uuid", uuid)).to_string() == selector("uuid", uuid));
  CHECK(uuid != Device(place(0)).properties().uuid);
}

TEST_CASE("A selector that no device has says which devices there are") {
  const Double driver;
  for (const std::string& nobody : {selector("uuid", uuid_of_nobody), selector("pci", "00ff:ff:00.0"), place(2)}) {
    const anyplace::Error error = test::required_error(ErrorCode::no_such_device, [&] { Device{nobody}; });
    CHECK_THAT(error.what(), contains(place(0)) && contains(place(1)));
  }
}

TEST_CASE(LIBRARY_FIRST " counts the devices that " VISIBLE_DEVICES " leaves") {
  const Double driver({{DOUBLE_VARIABLE("DEVICES"), "3"}, {VISIBLE_DEVICES, "2,0"}});
  REQUIRE(anyplace::device_count(backend) == 2);
  const std::string first = Device(place(0)).properties().uuid;
  const std::string second = Device(place(1)).properties().uuid;
  CHECK(first != second);
  CHECK(Device(selector("uuid", first)).index() == 0);
  const Stream stream(Device(place(1)));
  stream.synchronize();
}

TEST_CASE("A device that " VISIBLE_DEVICES " hides is said to be hidden, also when others are there") {
  const Double driver({{DOUBLE_VARIABLE("DEVICES"), "3"}, {VISIBLE_DEVICES, "2,0"}});
  for (const std::string& hidden : {place(2), selector("uuid", uuid_of_nobody), selector("pci", "00ff:ff:00.0")}) {
    const anyplace::Error error = test::required_error(ErrorCode::no_such_device, [&] { Device{hidden}; });
    CHECK_THAT(error.what(), contains(place(1)) && contains(VISIBLE_DEVICES " is \"2,0\" and may hide it"));
  }
}

TEST_CASE("The beginning of a uuid is enough where one device alone begins so") {
  const Double driver;
  const std::string first = Device(place(0)).properties().uuid, second = Device(place(1)).properties().uuid;
  std::size_t same = 0;
  while (first[same] == second[same]) ++same;
  CHECK(Device(selector("uuid", second.substr(0, same + 1))).index() == 1);
  const anyplace::Error error =
      test::required_error(ErrorCode::no_such_device, [&] { Device{selector("uuid", first.substr(0, same))}; });
  CHECK_THAT(error.what(), contains(first) && contains(second));
}

TEST_CASE("The last device is as good as the first") {
  const Double driver({{DOUBLE_VARIABLE("DEVICES"), "9"}});
  const Stream stream(Device(place(8)));
  const Buffer numbers(stream, 4096);
  stream.memset32(numbers, 1);
  stream.synchronize();
}

}  // namespace selector_test
