// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase and its scopes, and Results, on a vendor that is made up.
#include <catch2/catch.hpp>

#include "made_up.h"

namespace device_base_test {

using namespace made_up;

TEST_CASE("A result has the table's status and one that isn't in it is BACKEND_FAILED") {
  using R = DeviceCalls::Results;
  CHECK(R::status_of(1) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(R::status_of(3) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(R::is_sticky(7));
  CHECK_FALSE(R::is_sticky(3));
  try {
    R::fail(7, "do_it", ANYPLACE_STATUS_DEVICE_LOST, "buy another");
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()) == "do_it: it broke; buy another");
    CHECK(failure.vendor_code() == 7);
    CHECK(failure.vendor_name() == "BROKEN");
  }
}

TEST_CASE("A context is begun at the first use and current in a scope only") {
  House house;
  CHECK_FALSE(house.device.has_begun());
  {
    const InContext scope(house.device);
    CHECK(current == 1);
  }
  CHECK(current == 0);
  CHECK(house.device.internal_stream() == 99);
  CHECK(driver.count("make_stream") == 1);
}

TEST_CASE("A context that couldn't be begun is tried again at the next use") {
  House house;
  driver.fail["make_stream"] = 1;
  CHECK(status_of([&] { house.device.context(); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  driver.fail.clear();
  CHECK(house.device.context() == 1);
}

TEST_CASE("A sticky result loses the device for good and nothing is ended any more") {
  House house;
  house.device.context();
  CHECK(status_of([&] { house.device.check(7, "do_it"); }) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(house.device.lost());
  CHECK(status_of([&] { house.device.context(); }) == ANYPLACE_STATUS_DEVICE_LOST);
  const AtEnd scope(house.device);
  scope.end("end_it", [] { return driver.call("end_it"); });
  CHECK(driver.count("end_it") == 0);
}

TEST_CASE("A sticky result of another context is a failure and loses nothing") {
  House house;
  driver.fail["foreign"] = 1;
  CHECK(status_of([&] { house.device.check(7, "do_it"); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK_FALSE(house.device.lost());
}

TEST_CASE("What ends while the process exits fails silently and any other way it throws") {
  House house;
  house.device.context();
  const AtEnd scope(house.device);
  CHECK(status_of([&] { scope.end("end_it", [] { return 4; }); }) == ANYPLACE_STATUS_OK);
  CHECK(status_of([&] { scope.end("end_it", [] { return 1; }); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
}

TEST_CASE("A lost peer is no loss of the device whose call it is") {
  House house;
  house.peer.context();
  house.peer.lose(7);
  CHECK(status_of([&] { house.device.context_of(house.peer); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK_FALSE(house.device.lost());
  CHECK(house.device.context_of(house.device) == 1);
  // The device itself answers that it is well.
  CHECK(status_of([&] { house.device.fail_with(7, "copy", house.peer); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK_FALSE(house.device.lost());
}

TEST_CASE("Asking a device that broke loses it") {
  House house;
  CHECK(house.device.is_healthy());
  house.device.context();
  driver.fail["query"] = 2;
  CHECK(house.device.is_healthy());
  driver.fail["query"] = 7;
  CHECK_FALSE(house.device.is_healthy());
  CHECK(house.device.lost());
}

}  // namespace device_base_test
