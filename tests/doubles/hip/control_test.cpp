// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double, the environment, and the thread's last error.
#include <csignal>

#include "test_support.h"

namespace control_test {

using Catch::Contains;
using test::Control;
using test::ok;

TEST_CASE("what gives something back does so even where it is made to fail") {
  std::uint32_t* const memory = test::words({1});
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  const Control control;
  for (const char* entry : {"hipFree", "hipStreamDestroy", "hipEventDestroy"})
    REQUIRE(control.fail_nth(entry, 1, hipErrorUnknown));
  CHECK(hipFree(memory) == hipErrorUnknown);
  CHECK(hipStreamDestroy(stream) == hipErrorUnknown);
  CHECK(hipEventDestroy(event) == hipErrorUnknown);
  CHECK(control.live() == 0);
  CHECK(control.misuses() == 0);
}

TEST_CASE("a device that is made to fail fails its calls and what it has is given back") {
  ok(hipSetDevice(1));
  const hipStream_t there = test::create_stream();
  ok(hipSetDevice(0));
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const memory = test::words({1});
  const Control control;
  CHECK_FALSE(control.fail_device(2, hipErrorLaunchFailure));
  REQUIRE(control.hold(0, true));
  ok(test::fill(memory, 2, 1, stream));
  REQUIRE(control.fail_device(0, hipErrorLaunchFailure));
  CHECK(hipStreamSynchronize(stream) == hipErrorLaunchFailure);
  CHECK(hipStreamQuery(stream) == hipErrorLaunchFailure);
  void* more = nullptr;
  CHECK(hipMalloc(&more, 4) == hipErrorLaunchFailure);
  CHECK(hipStreamSynchronize(there) == hipSuccess);
  CHECK(hipFree(memory) == hipErrorLaunchFailure);
  CHECK(hipStreamDestroy(stream) == hipErrorLaunchFailure);
  CHECK(control.misuses() == 0);
}

TEST_CASE("a sticky code that a call is made to fail with loses its device") {
  test::set_env("HIP_DOUBLE_FAIL", "hipMalloc:1:700");
  void* memory = nullptr;
  CHECK(hipMalloc(&memory, 4) == hipErrorIllegalAddress);
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  ok(hipSetDevice(1));
  ok(hipDeviceSynchronize());
}

TEST_CASE("the device that is lost by a sticky code is the one that the call is about") {
  test::set_env("HIP_DOUBLE_FAIL", "hipMemGetAllocationGranularity:1:700");
  anyplace::doubles::hip::AllocationProperties properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 1;
  std::size_t bytes = 0;
  CHECK(hipMemGetAllocationGranularity(&bytes, reinterpret_cast<const hipMemAllocationProp*>(&properties),
                                       hipMemAllocationGranularityMinimum) == hipErrorIllegalAddress);
  ok(hipDeviceSynchronize());
  ok(hipSetDevice(1));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
}

TEST_CASE("the last error is what the last call returned up to HIP 6 and the last error from 7 on") {
  const test::ChildResult seven = test::in_child([] {
    test::set_env("HIP_DOUBLE_VERSION", "70051831");
    const bool kept = hipSetDevice(9) != hipSuccess && hipSetDevice(0) == hipSuccess;
    return kept && hipGetLastError() == hipErrorInvalidDevice && hipGetLastError() == hipSuccess ? 7 : 1;
  });
  CHECK(seven.status == 7);
  CHECK(hipSetDevice(9) == hipErrorInvalidDevice);
  CHECK(hipPeekAtLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(hipSetDevice(9) == hipErrorInvalidDevice);
  ok(hipSetDevice(0));
  CHECK(hipGetLastError() == hipSuccess);
}

TEST_CASE("devices and what they have are those of the environment") {
  test::set_env("HIP_DOUBLE_DEVICES", "3");
  test::set_env("HIP_DOUBLE_PEERS", "0");
  test::set_env("HIP_DOUBLE_MANAGED", "0");
  test::set_env("HIP_DOUBLE_POOLS", "0");
  test::set_env("HIP_DOUBLE_WAIT_VALUE", "0");
  int count = 0;
  ok(hipGetDeviceCount(&count));
  CHECK(count == 3);
  int can = 1;
  ok(hipDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 0);
  CHECK(hipDeviceEnablePeerAccess(1, 0) == hipErrorInvalidDevice);
  void* memory = nullptr;
  CHECK(hipMallocManaged(&memory, 4, hipMemAttachGlobal) == hipErrorNotSupported);
  hipMemPoolProps properties{};
  hipMemPool_t pool = nullptr;
  CHECK(hipMemPoolCreate(&pool, &properties) == hipErrorNotSupported);
  CHECK(hipStreamWaitValue64(nullptr, &memory, 0, 0, ~0ULL) == hipErrorNotSupported);
}

TEST_CASE("visible devices are chosen by index, and without one the code says so") {
  const auto count_with = [](const char* devices, const char* visible) {
    return test::in_child([devices, visible] {
      test::set_env("HIP_DOUBLE_DEVICES", devices);
      if (visible != nullptr) test::set_env("HIP_VISIBLE_DEVICES", visible);
      int count = 7;
      const hipError_t result = hipGetDeviceCount(&count);
      if (count == 0 && hipSetDevice(0) != hipErrorNoDevice) return -1;
      return 10 * static_cast<int>(result) / static_cast<int>(hipErrorNoDevice) + count;
    });
  };
  CHECK(count_with("4", "2,0").status == 2);
  CHECK(count_with("0", nullptr).status == 10);
}

}  // namespace control_test
