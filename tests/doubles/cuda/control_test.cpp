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

TEST_CASE("the nth call fails once or for good with the code asked for and does nothing") {
  const Primary primary;
  const Control control;
  REQUIRE(control.fail_nth("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY));
  REQUIRE(control.fail_nth("cuStreamCreate", 2, CUDA_ERROR_UNKNOWN, true));
  CHECK_FALSE(control.fail_nth("cuNoSuchEntry", 1, 1));
  CHECK_FALSE(control.fail_nth("cuMemAlloc", 0, 1));
  for (int i = 1; i <= 4; ++i) {
    INFO("call " << i);
    CUdeviceptr address = 7;
    CUstream stream = nullptr;
    CHECK(cuMemAlloc(&address, 16) == (i == 2 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS));
    CHECK((address == 7) == (i == 2));
    CHECK(cuStreamCreate(&stream, 0) == (i >= 2 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS));
  }
  CHECK((control.live("memory") == 3 && control.live("stream") == 1));
  CHECK(control.failures() == 4);
  control.clear_failures();
  test::create_stream();
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("what gives something back does so even where it is made to fail") {
  const Primary primary;
  const Control control;
  const CUdeviceptr memory = test::allocate(16);
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  for (const char* entry : {"cuMemFree", "cuStreamDestroy", "cuEventDestroy"})
    REQUIRE(control.fail_nth(entry, 1, CUDA_ERROR_UNKNOWN));
  test::each_gives(CUDA_ERROR_UNKNOWN, {cuMemFree(memory), cuStreamDestroy(stream), cuEventDestroy(event)});
  CHECK(control.live() == 1);  // the context
  CHECK(control.misuses() == 0);
}

TEST_CASE("a sticky code corrupts the context of the handle that the call names, else the current one") {
  const int call = GENERATE(0, 1, 2);
  const char* const entries[] = {"cuStreamDestroy", "cuStreamQuery", "cuMemAlloc"};
  const Primary second(1);
  const CUstream named = test::create_stream();
  const CUstream there = test::create_stream();
  const Primary first(0);
  const CUstream here = test::create_stream();
  REQUIRE(Control().fail_nth(entries[call], 1, CUDA_ERROR_LAUNCH_FAILED));
  CUdeviceptr address = 0;
  const CUresult result = call == 0   ? cuStreamDestroy(named)
                          : call == 1 ? cuStreamQuery(named)
                                      : cuMemAlloc(&address, 4);
  CHECK(result == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuStreamSynchronize(here) == (call == 2 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS));
  ok(cuCtxPushCurrent(second));
  CHECK(cuStreamSynchronize(there) == (call == 2 ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED));
}

TEST_CASE("everything that is made and not given back is listed, or counted as left behind with its context") {
  const Control control("libcuda.so.1");  // before the first call, too
  CHECK(control.live() == 0);
  {
    const Primary primary;
    test::create_event();
    const test::Kernels kernels;
    void* pinned = nullptr;
    ok(cuMemAllocHost(&pinned, 16));
    static char bytes[64];
    ok(cuMemHostRegister(bytes, 64, 0));
    test::create_stream();
    test::allocate(4711);
    test::check_one_of_each(control, {"context", "stream", "event", "memory", "module", "host", "registered"});
    CHECK(control.live() == 7);
    CHECK_THAT(control.live_text(), Catch::Contains("4711 bytes"));
    ok(cuMemFreeHost(pinned));
    ok(cuMemHostUnregister(bytes));
  }
  CHECK(control.live() == 0);
  CHECK(control.live_text().empty());
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

}  // namespace control_test
