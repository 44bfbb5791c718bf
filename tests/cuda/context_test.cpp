// SPDX-License-Identifier: Apache-2.0
//
// What another library in the same process would notice: contexts that are made or kept, and which one is current. It
// must notice nothing.
#include "cuda_and_hip/calls.h"
#include "support.h"

namespace context_test {

using namespace cuda_test;

TEST_CASE("Counting devices and asking what they are makes no context") {
  const Double cuda;
  ask_what_devices_are();
  for (const Device& device : anyplace::devices("cuda")) {
    CHECK_FALSE(device.memory_info().free.has_value());
    CHECK(device.memory_info().total == device.properties().total_memory);
  }
  CHECK(cuda.live("context") == 0);
  CHECK(cuda.calls_of("cuDevicePrimaryCtxRetain") == 0);
  { const Stream stream(Device("cuda:0")); }
  CHECK(cuda.live("context") == 1);
}

TEST_CASE("A thread without a context has none after any call") {
  const Double cuda;
  const Device device("cuda:0"), other("cuda:1");
  after_each_call(device, other, [] { CHECK(current_context() == nullptr); });
}

TEST_CASE("A context of another library stays current through every call") {
  const Double cuda;
  const Device device("cuda:0"), other("cuda:1");
  REQUIRE(anyplace::device_count("cuda") == 2);
  {
    const OtherContext context(0);
    after_each_call(device, other, [&] { CHECK(current_context() == context.get()); });
  }
  CHECK(current_context() == nullptr);
}

TEST_CASE("A destroyed context of another library that is left current fails no call and loses no device") {
  const Double cuda;
  const Device device("cuda:0"), other("cuda:1");
  const test::Reports reports;
  {
    REQUIRE(anyplace::device_count("cuda") == 2);
    const DestroyedContext context(0);
    after_each_call(device, other, [&] { CHECK(current_context() == context.get()); });
  }
  device.synchronize();
  other.synchronize();
  for (const anyplace::Error& error : reports.all()) FAIL_CHECK(error.what());
}

TEST_CASE("The primary context of another device stays current through every call") {
  const Double cuda;
  const Device device("cuda:0"), other("cuda:1");
  auto* const theirs = reinterpret_cast<CUcontext>(other.native_context());
  REQUIRE(vendor<CUresult(CUcontext)>("cuCtxSetCurrent")(theirs) == CUDA_SUCCESS);
  after_each_call(device, other, [&] { CHECK(current_context() == theirs); });
}

TEST_CASE("A thread that has the primary context current is neither pushed nor popped") {
  const Double cuda;
  const Device device("cuda:0");
  auto* const ours = reinterpret_cast<CUcontext>(device.native_context());
  REQUIRE(vendor<CUresult(CUcontext)>("cuCtxSetCurrent")(ours) == CUDA_SUCCESS);
  check_that_none_is_made_current(cuda, Stream(device), "cuCtxPushCurrent");
  CHECK(current_context() == ours);
}

TEST_CASE("The primary context is shared with other libraries and its flags stay as they are") {
  const Double cuda({});
  CHECK(anyplace::device_count("cuda") == 2);
  constexpr unsigned blocking = CU_CTX_SCHED_BLOCKING_SYNC;
  REQUIRE(vendor<CUresult(CUdevice, unsigned)>("cuDevicePrimaryCtxSetFlags_v2")(0, blocking) == CUDA_SUCCESS);
  CUcontext theirs = nullptr;
  REQUIRE(vendor<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&theirs, 0) == CUDA_SUCCESS);
  const Device device("cuda:0");
  // Another library has it: asking what is free makes none, and knows.
  CHECK(device.memory_info().free.has_value());
  CHECK(reinterpret_cast<CUcontext>(device.native_context()) == theirs);
  { const Stream stream(device); }
  unsigned flags = 0;
  int active = 0;
  REQUIRE(vendor<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(0, &flags, &active) ==
          CUDA_SUCCESS);
  CHECK(flags == blocking);
  CHECK(active == 1);
  REQUIRE(vendor<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease_v2")(0) == CUDA_SUCCESS);
  { const Stream stream(device); }
}

}  // namespace context_test
