// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double: failures on demand, counts, what lives, what was done wrong, faults of devices.
#include <thread>

#include "test_support.h"

namespace control_test {

using test::Control;
using test::Gate;
using test::ok;
using test::Primary;

TEST_CASE("the nth call fails once with the code asked for and does nothing") {
  const Primary primary;
  const Control control;
  REQUIRE(control.fail_nth("cuMemAlloc_v2", 3, CUDA_ERROR_OUT_OF_MEMORY));
  for (int i = 1; i <= 5; ++i) {
    INFO("call " << i);
    CUdeviceptr address = 7;
    const CUresult result = cuMemAlloc(&address, 16);
    CHECK(result == (i == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS));
    CHECK((address == 7) == (i == 3));
  }
  CHECK(control.live("memory") == 4);
  CHECK(control.failures() == 1);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("a failure for good lasts until it is cleared") {
  const Primary primary;
  const Control control;
  REQUIRE(control.fail_nth("cuStreamCreate", 2, CUDA_ERROR_UNKNOWN, true));
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_UNKNOWN);
  control.clear_failures();
  CHECK(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  CHECK(control.live("stream") == 2);
}

TEST_CASE("what gives something back does so even where it is made to fail") {
  const Primary primary;
  const Control control;
  const CUdeviceptr memory = test::allocate(16);
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  REQUIRE(control.fail_nth("cuMemFree", 1, CUDA_ERROR_UNKNOWN));
  REQUIRE(control.fail_nth("cuStreamDestroy", 1, CUDA_ERROR_UNKNOWN));
  REQUIRE(control.fail_nth("cuEventDestroy", 1, CUDA_ERROR_UNKNOWN));
  CHECK(cuMemFree(memory) == CUDA_ERROR_UNKNOWN);
  CHECK(cuStreamDestroy(stream) == CUDA_ERROR_UNKNOWN);
  CHECK(cuEventDestroy(event) == CUDA_ERROR_UNKNOWN);
  CHECK((control.live("memory") == 0 && control.live("stream") == 0 && control.live("event") == 0));
  CHECK(control.misuses() == 0);
}

TEST_CASE("rules for entries that do not exist are refused") {
  const Control control;
  CHECK_FALSE(control.fail_nth("cuNoSuchEntry", 1, 1));
  CHECK_FALSE(control.fail_nth("cuMemAlloc", 0, 1));
  CHECK(control.fail_nth("cuInit", 1, CUDA_ERROR_NO_DEVICE));
  CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE);
  CHECK(cuInit(0) == CUDA_SUCCESS);
}

TEST_CASE("failures can be asked for in the environment") {
  test::set_env("CUDA_DOUBLE_FAIL", "cuEventCreate:2:999  cuStreamCreate:1:2:always");
  const Primary primary;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  CHECK(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  CHECK(cuEventCreate(&event, 0) == CUDA_ERROR_UNKNOWN);
  CHECK(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("a sticky code that a call is made to fail with corrupts its context") {
  test::set_env("CUDA_DOUBLE_FAIL", "cuMemAlloc:1:700");
  const Primary second(1);
  const CUstream there = test::create_stream();
  const Primary first(0);
  const CUstream here = test::create_stream();
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuStreamQuery(here) == CUDA_ERROR_ILLEGAL_ADDRESS);
  ok(cuCtxPushCurrent(second));
  CHECK(cuStreamQuery(there) == CUDA_SUCCESS);
}

TEST_CASE("a sticky code corrupts the context of the handle that the call names") {
  const bool releasing = GENERATE(true, false);
  const Primary second(1);
  const CUstream there = test::create_stream();
  const CUstream other = test::create_stream();
  const Primary first(0);
  const CUstream here = test::create_stream();
  const Control control;
  REQUIRE(control.fail_nth(releasing ? "cuStreamDestroy" : "cuStreamQuery", 1, CUDA_ERROR_LAUNCH_FAILED));
  CHECK((releasing ? cuStreamDestroy(there) : cuStreamQuery(there)) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuStreamSynchronize(other) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuStreamSynchronize(here) == CUDA_SUCCESS);
}

TEST_CASE("calls are counted by entry in any of its forms") {
  const Primary primary;
  const Control control;
  const std::uint64_t before = control.calls();
  CHECK(control.calls_of("cuInit") == 1);
  CHECK(control.calls_of("cuDevicePrimaryCtxRetain") == 1);
  const CUdeviceptr memory = test::allocate(16);
  ok(cuMemFree(memory));
  CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.calls_of("cuMemFree") == 2);
  CHECK(control.calls_of("cuMemFree_v2") == 2);
  CHECK(control.calls() == before + 3);
  CHECK(control.calls_of("cuNoSuchEntry") == 0);
  control.reset();
  CHECK(control.calls() == 0);
  CHECK(control.misuses() == 0);
  bool listed = false;
  std::size_t index = 0;
  for (; control.entry(index) != nullptr; ++index)
    listed = listed || control.entry(index) == std::string("cuMemFree_v2");
  CHECK(listed);
  CHECK(index > 150);
}

TEST_CASE("everything that is made and not given back is listed") {
  const Control control("libcuda.so.1");  // before the first call, too
  CHECK(control.live() == 0);
  {
    const Primary primary;
    CHECK(control.live("context") == 1);
    const CUstream stream = test::create_stream();
    const CUevent event = test::create_event();
    const CUdeviceptr memory = test::allocate(4711);
    const test::Kernels kernels;
    void* pinned = nullptr;
    ok(cuMemAllocHost(&pinned, 16));
    char bytes[64];
    ok(cuMemHostRegister(bytes, 64, 0));
    test::check_one_of_each(control, {"stream", "event", "memory", "module", "host", "registered"});
    CHECK(control.live() == 7);
    CHECK_THAT(control.live_text(), Catch::Contains("4711 bytes"));
    ok(cuStreamDestroy(stream));
    ok(cuEventDestroy(event));
    ok(cuMemFree(memory));
    ok(cuMemFreeHost(pinned));
    ok(cuMemHostUnregister(bytes));
    CHECK(control.live() == 2);
  }
  CHECK(control.live() == 0);
  CHECK(control.live_text().empty());
  CHECK(control.left_behind() == 0);
}

TEST_CASE("what goes with its context is counted as left behind") {
  const Control control;
  {
    const Primary primary;
    test::create_stream();
    test::create_event();
    test::allocate(16);
  }
  CHECK(control.live() == 0);
  CHECK(control.left_behind() == 3);
}

TEST_CASE("a device that is made to fail fails all its calls and lets go who waits") {
  const Primary second(1);
  const CUstream there = test::create_stream();
  const Primary first(0);
  const Control control;
  const CUstream stream = test::create_stream();
  const CUdeviceptr memory = test::allocate(16);
  CHECK_FALSE(control.fail_device(2, CUDA_ERROR_LAUNCH_FAILED));
  Gate gate;
  gate.block(stream);
  const CUcontext context = first;
  CUresult waited = CUDA_SUCCESS;
  std::thread waiting([&] {
    cuCtxSetCurrent(context);
    waited = cuStreamSynchronize(stream);
    cuCtxSetCurrent(nullptr);
  });
  REQUIRE(control.fail_device(0, CUDA_ERROR_ECC_UNCORRECTABLE));
  waiting.join();
  CHECK(waited == CUDA_ERROR_ECC_UNCORRECTABLE);
  CUdeviceptr address = 0;
  CUevent event = nullptr;
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(cuEventCreate(&event, 0) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ECC_UNCORRECTABLE);
  ok(cuCtxPushCurrent(second));
  CHECK(cuStreamSynchronize(there) == CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  gate.open();
  // What is given back is gone, and nothing of it counts as a leak any more.
  CHECK(cuMemFree(memory) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(cuStreamDestroy(stream) == CUDA_ERROR_ECC_UNCORRECTABLE);
  CHECK(control.misuses() == 0);
  CHECK(control.live("stream") == 1);
}

TEST_CASE("the nth kernel can be made to fault") {
  const Primary primary;
  const Control control;
  const test::Kernels kernels;
  const CUfunction count = kernels["count"];
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  ok(cuCtxSynchronize());
  REQUIRE(control.fault_kernel(0, 2, CUDA_ERROR_MISALIGNED_ADDRESS));
  ok(test::launch(nullptr, count, counter, 1U));
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
  ok(test::launch(nullptr, count, counter, 1U));
  CHECK(cuCtxSynchronize() == CUDA_ERROR_MISALIGNED_ADDRESS);
  CHECK(test::peek(counter) == 1);
}

TEST_CASE("many threads may use the double at the same time") {
  const Primary primary;
  const Control control;
  const CUcontext context = primary;
  std::atomic<int> wrong{0};
  test::on_threads(6, [&](int t) {
    const auto expect = [&](CUresult result) { wrong += result != CUDA_SUCCESS; };
    expect(cuCtxSetCurrent(context));
    for (int i = 0; i < 50; ++i) {
      CUstream streams[2] = {};
      CUevent event = nullptr;
      CUdeviceptr memory = 0;
      for (CUstream& stream : streams) expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      expect(cuEventCreate(&event, 0));
      expect(cuMemAllocAsync(&memory, 8, streams[0]));
      expect(cuMemsetD32Async(memory, static_cast<unsigned>(t * 100 + i), 1, streams[0]));
      expect(cuEventRecord(event, streams[0]));
      expect(cuStreamWaitEvent(streams[1], event, 0));
      expect(cuMemcpyDtoDAsync(memory + 4, memory, 4, streams[1]));
      expect(cuEventRecord(event, streams[1]));
      expect(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
      std::uint32_t value = 0;
      expect(cuMemcpyDtoHAsync(&value, memory + 4, 4, CU_STREAM_PER_THREAD));
      expect(cuMemFreeAsync(memory, CU_STREAM_PER_THREAD));
      expect(cuStreamSynchronize(CU_STREAM_PER_THREAD));
      wrong += value != static_cast<std::uint32_t>(t * 100 + i);
      expect(cuEventDestroy(event));
      for (const CUstream stream : streams) expect(cuStreamDestroy(stream));
    }
    expect(cuCtxSetCurrent(nullptr));
  });
  CHECK(wrong == 0);
  CHECK(control.misuse_text().empty());
  CHECK(control.live() == 1);
}

}  // namespace control_test
