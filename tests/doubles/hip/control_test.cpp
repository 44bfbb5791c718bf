// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double, the environment, and the thread's last error.
#include <csignal>

#include "test_support.h"

namespace control_test {

using Catch::Contains;
using test::Control;
using test::ok;

TEST_CASE("the nth call fails once or for good with the code asked for and does nothing") {
  ok(hipInit(0));
  const Control control;
  REQUIRE(control.fail_nth("hipMalloc", 2, hipErrorUnknown));
  REQUIRE(control.fail_nth("hipStreamCreateWithFlags", 2, hipErrorOutOfMemory, true));
  CHECK_FALSE(control.fail_nth("hipNoSuchEntry", 1, 1));
  CHECK_FALSE(control.fail_nth("hipMalloc", 0, 1));
  for (int i = 1; i <= 4; ++i) {
    void* memory = nullptr;
    hipStream_t stream = nullptr;
    CHECK(hipMalloc(&memory, 16) == (i == 2 ? hipErrorUnknown : hipSuccess));
    CHECK(hipStreamCreateWithFlags(&stream, 0) == (i >= 2 ? hipErrorOutOfMemory : hipSuccess));
  }
  CHECK(control.live("memory") == 3);
  CHECK(control.live("stream") == 1);
  CHECK(control.failures() == 4);
  CHECK(control.calls_of("hipMalloc") == 4);
  control.clear_failures();
  test::create_stream();
}

TEST_CASE("every entry can be made to fail") {
  ok(hipInit(0));
  const Control control;
  std::size_t index = 0;
  for (; control.entry(index) != nullptr; ++index) {
    INFO(control.entry(index));
    CHECK(control.fail_nth(control.entry(index), 1, hipErrorUnknown));
  }
  CHECK(index > 70);
}

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

TEST_CASE("everything that is made and not given back is listed") {
  void* memory = nullptr;
  void* pinned = nullptr;
  ok(hipMalloc(&memory, 4711));
  ok(hipHostMalloc(&pinned, 16, 0));
  static char bytes[64];
  ok(hipHostRegister(bytes, 64, 0));
  test::create_stream();
  test::create_event();
  test::kernel("count");
  const Control control;
  test::check_one_of_each(control, {"memory", "host", "registered", "stream", "event", "module"});
  CHECK(control.live() == 6);
  CHECK_THAT(control.live_text(), Contains("4711 bytes"));
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

TEST_CASE("the nth kernel can be made to fault") {
  const hipFunction_t count = test::kernel("count");
  std::uint32_t* const counter = test::words({0});
  REQUIRE(Control().fault_kernel(0, 2, hipErrorAssert));
  ok(test::launch(nullptr, count, counter, 1U));
  ok(hipDeviceSynchronize());
  ok(test::launch(nullptr, count, counter, 1U));
  CHECK(hipDeviceSynchronize() == hipErrorAssert);
  CHECK(*counter == 1);
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

TEST_CASE("visible devices are chosen by index") {
  test::set_env("HIP_DOUBLE_DEVICES", "4");
  test::set_env("HIP_VISIBLE_DEVICES", "2,0");
  int count = 0;
  ok(hipGetDeviceCount(&count));
  CHECK(count == 2);
}

TEST_CASE("without a device the count is none and the code says so") {
  test::set_env("HIP_DOUBLE_DEVICES", "0");
  int count = 7;
  CHECK(hipGetDeviceCount(&count) == hipErrorNoDevice);
  CHECK(count == 0);
  CHECK(hipSetDevice(0) == hipErrorNoDevice);
}

TEST_CASE("an environment that can't be read ends the process with what would be right") {
  for (const auto& [name, value] : {std::pair{"HIP_DOUBLE_DEVICES", "many"}, std::pair{"HIP_DOUBLE_MEMORY", "1T"},
                                    std::pair{"HIP_DOUBLE_FAIL", "hipInit:once"}}) {
    INFO(name << "=" << value);
    const test::ChildResult ended = test::in_child([&n = name, &v = value] {
      test::set_env(n, v);
      return hipInit(0) == hipSuccess ? 0 : 1;
    });
    CHECK(ended.signal == SIGABRT);
    CHECK_THAT(ended.output, Contains(name));
  }
}

TEST_CASE("a report of calls and what is alive and misuse is written when the process ends") {
  const test::TempDir folder;
  const std::string path = (folder / "report").string();
  const test::ChildResult ended = test::in_child([&path] {
    test::set_env("HIP_DOUBLE_REPORT", path);
    test::words({1, 2, 3});
    int own = 0;
    static_cast<void>(hipFree(&own));
    return 0;
  });
  REQUIRE(ended.status == 0);
  const std::string report = test::read_bytes(path);
  CHECK_THAT(report, Contains("call hipMalloc 1\n") && Contains("failures 0\n") && Contains("live memory 1 ") &&
                         Contains("12 bytes") && Contains("misuse hipFree of what is no allocation"));
}

}  // namespace control_test
