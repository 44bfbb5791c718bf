// SPDX-License-Identifier: Apache-2.0
//
// What another library in the same process would notice: which device is current, and the thread's last error. It must
// notice nothing.
#include "cuda_and_hip/calls.h"

namespace context_test {

using namespace vendor_test;

TEST_CASE("Counting devices and asking what they are begins nothing on them") {
  const Double hip;
  ask_what_devices_are();
  CHECK(hip.live() == 0);
  { const Stream stream(Device("hip:0")); }
  CHECK(hip.live("stream") == 1);  // the backend's own
}

TEST_CASE("A thread that never chose a device has the first through every call") {
  const Double hip;
  const Device device("hip:1"), other("hip:0");
  after_each_call(device, other, [] { CHECK(current_device() == 0); });
}

TEST_CASE("The device of another library stays current through every call") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  REQUIRE(anyplace::device_count("hip") == 2);
  set_current_device(1);
  after_each_call(device, other, [] { CHECK(current_device() == 1); });
}

TEST_CASE("A thread that has the device current is left alone") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  set_current_device(0);
  check_that_none_is_made_current(hip, stream, "hipSetDevice");
}

TEST_CASE("No error of ours is left as the last error of the thread") {
  const Double hip;
  const Device device("hip:0"), other("hip:1");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  const auto peek = vendor<hipError_t()>("hipPeekAtLastError");
  stream.synchronize();
  hip.hold(0, true);
  stream.memset32(numbers, 1);
  CHECK_FALSE(stream.query());
  CHECK(peek() == hipSuccess);
  CHECK_FALSE(stream.synchronize(std::chrono::milliseconds(1)));
  CHECK(peek() == hipSuccess);
  hip.hold(0, false);
  after_each_call(device, other, [&] { CHECK(peek() == hipSuccess); });
}

TEST_CASE("An error of another library stays the last error of the thread where HIP keeps it") {
  const Double hip({{"HIP_DOUBLE_VERSION", "70051831"}});
  const Device device("hip:0");
  const Stream stream(device);
  const Buffer numbers(stream, 4096);
  const auto peek = vendor<hipError_t()>("hipPeekAtLastError");
  stream.synchronize();
  REQUIRE(vendor<hipError_t(int)>("hipSetDevice")(99) == hipErrorInvalidDevice);
  hip.hold(0, true);
  stream.memset32(numbers, 1);
  CHECK_FALSE(stream.query());
  hip.hold(0, false);
  stream.synchronize();
  CHECK(peek() == hipErrorInvalidDevice);
}

}  // namespace context_test
