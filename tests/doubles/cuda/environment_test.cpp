// SPDX-License-Identifier: Apache-2.0
//
// How the environment configures the double, what of the driver can be missing, and how the process ends.
#include <dlfcn.h>

#include <csignal>
#include <cstdio>

#include "test_support.h"

namespace environment_test {

using test::ok;
using test::Primary;

namespace {

/// What cuGetProcAddress finds for a program of that CUDA version.
void* find(const char* symbol, int version, CUresult* result = nullptr, cuuint64_t flags = 0) {
  void* function = &function;
#if CUDA_VERSION >= 12000
  const CUresult found = cuGetProcAddress(symbol, &function, version, flags, nullptr);
#else
  const CUresult found = cuGetProcAddress(symbol, &function, version, flags);
#endif
  if (result != nullptr) *result = found;
  return function == &function ? nullptr : function;
}

int device_count() {
  int count = -1;
  ok(cuInit(0));
  ok(cuDeviceGetCount(&count));
  return count;
}

std::string pci_of(int device) {
  char pci[20] = "";
  ok(cuDeviceGetPCIBusId(pci, sizeof(pci), device));
  return pci;
}

/// What a process prints that sets the variable and initialises.
test::Ended initialised_with(const char* name, const std::string& value) {
  return test::in_child([&] {
    test::set_env(name, value);
    return static_cast<int>(cuInit(0)) & 0xff;
  });
}

}  // namespace

TEST_CASE("a variable that can not be read ends the process with a message") {
  const struct {
    const char *name, *value;
  } wrong[] = {{"CUDA_DOUBLE_MEMORY", "lots"},
               {"CUDA_DOUBLE_DEVICES", "-1"},
               {"CUDA_DOUBLE_DEVICES", "100"},
               {"CUDA_DOUBLE_FAIL", "cuNoSuchEntry:1:2"},
               {"CUDA_DOUBLE_FAIL", "cuMemAlloc:1"},
               {"CUDA_DOUBLE_FAIL", "cuMemAlloc:0:2"},
               {"CUDA_DOUBLE_FAIL", "cuMemAlloc:1:2:sometimes"}};
  for (const auto& [name, value] : wrong) {
    INFO(name << "=" << value);
    const auto result = initialised_with(name, value);
    CHECK(result.signal == SIGABRT);
    CHECK_THAT(result.out, Catch::Contains(std::string("CUDA double: ") + name));
  }
}

TEST_CASE("visible devices are chosen by index or the beginning of a uuid, up to the first entry that is neither") {
  const auto chosen = [](const char* list) {
    return test::in_child([list] {
      test::set_env("CUDA_DOUBLE_DEVICES", "3");
      test::set_env("CUDA_VISIBLE_DEVICES", list);
      const int count = device_count();
      for (int i = 0; i < count; ++i) std::printf("%s ", pci_of(i).c_str());
      return 0;
    });
  };
  CHECK(chosen("2,0").out == "0000:19:00.0 0000:17:00.0 ");
  CHECK(chosen("GPU-d1b1e00c").out == "0000:18:00.0 ");
  CHECK(chosen("1,7,0").out == "0000:18:00.0 ");
}

TEST_CASE("a function is found in the form of the version asked for") {
  ok(cuInit(0));
  CHECK(find("cuEventElapsedTime", 12000) != find("cuEventElapsedTime", 13000));
  CHECK(find("cuStreamWaitValue32", 11000) != find("cuStreamWaitValue32", 12000));
  CHECK(find("cuNoSuchFunction", 13000) == nullptr);
  CHECK(find("cuMemAlloc_v2", 13000) == nullptr);    // asked for without the version
  CHECK(find("cuMemAllocAsync", 11000) == nullptr);  // which came later
  CUresult result = CUDA_SUCCESS;
  CHECK(find("cuMemAlloc", 14000, &result) == nullptr);  // a program that is newer than the driver
  CHECK(result == CUDA_ERROR_INVALID_VALUE);
  // With the per-thread default stream the functions are those that take stream 0 for the thread's own.
  CHECK(find("cuStreamQuery", 12000, nullptr, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) ==
        dlsym(RTLD_DEFAULT, "cuStreamQuery_ptsz"));
}

TEST_CASE("an older driver lacks what came later, to cuGetProcAddress or to the dynamic linker") {
  test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12000");
  ok(cuInit(0));
  CHECK(find("cuFuncGetParamInfo", 12000) == nullptr);
  CHECK(find("cuLaunchKernelEx", 12000) != nullptr);
  CHECK(find("cuEventElapsedTime", 12000) != nullptr);
  void* const library = dlopen(CUDA_DOUBLE_OLD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  for (const char* symbol : {"cuGetProcAddress", "cuGetProcAddress_v2", "cuEventElapsedTime_v2", "cuLaunchKernelEx",
                             "cuFuncGetParamInfo", "cuStreamWaitValue32_v2", "cuStreamGetId"}) {
    INFO(symbol);
    CHECK(dlsym(library, symbol) == nullptr);
  }
  for (const char* symbol :
       {"cuEventElapsedTime", "cuLaunchKernel", "cuMemAllocAsync", "cuMemMap", "cuStreamQuery_ptsz"}) {
    INFO(symbol);
    CHECK(dlsym(library, symbol) != nullptr);
  }
}

namespace {

/// The order in which one worker runs a kernel in each of 12 streams, printed.
int print_order(const std::string& seed) {
  test::set_env("CUDA_DOUBLE_WORKERS", "1");
  test::set_env("CUDA_DOUBLE_SEED", seed);
  const Primary primary;
  const test::Control control;
  const test::Kernels kernels;
  const CUdeviceptr list = test::allocate(52);
  ok(cuMemsetD32(list, 0, 13));
  ok(cuCtxSynchronize());
  CHECK_FALSE(control.hold(2, true));
  control.hold(0, true);
  for (std::uint32_t i = 0; i < 12; ++i) ok(test::launch(test::create_stream(), kernels["append"], list, i));
  control.hold(0, false);
  ok(cuCtxSynchronize());
  for (CUdeviceptr i = 1; i <= 12; ++i) std::printf("%u ", test::peek(list + 4 * i));
  return 0;
}

}  // namespace

TEST_CASE("the order between streams is drawn by chance and given by the seed") {
  const auto first = test::in_child([] { return print_order("1"); });
  const auto again = test::in_child([] { return print_order("1"); });
  const auto second = test::in_child([] { return print_order("2"); });
  REQUIRE(first.status == 0);
  CHECK_FALSE(first.out.empty());
  CHECK(first.out == again.out);
  CHECK(first.out != second.out);
  CHECK(first.out != "0 1 2 3 4 5 6 7 8 9 10 11 ");
}

TEST_CASE("pageable memory is read and written in the call, or in its stream's turn so that a missing wait shows") {
  const auto copied = [](bool late) {
    return test::in_child([late] {
      test::set_env("CUDA_DOUBLE_PAGEABLE_ASYNC", late ? "1" : "0");
      const Primary primary;
      const CUstream stream = test::create_stream();
      const CUdeviceptr device = test::allocate(4);
      std::uint32_t in = 1, out = 0;
      test::Gate gate;
      gate.block(stream);
      ok(cuMemcpyHtoDAsync(device, &in, 4, stream));
      in = 2;
      if (!late) gate.open();
      ok(cuMemcpyDtoHAsync(&out, device, 4, stream));
      std::printf("%u ", out);
      gate.open();
      ok(cuStreamSynchronize(stream));
      std::printf("%u", out);
      return 0;
    });
  };
  CHECK(copied(false).out == "1 1");
  CHECK(copied(true).out == "0 2");
}

TEST_CASE("calls behind the end of the driver say so") {
  const auto result = test::in_child([] {
    std::atexit([] {
      CUdeviceptr address = 0;
      std::printf("%d %d\n", static_cast<int>(cuMemAlloc(&address, 4)), static_cast<int>(cuInit(0)));
    });
    ok(cuInit(0));
    return 0;
  });
  CHECK(result.status == 0);
  CHECK(result.out == "4 4\n");
}

TEST_CASE("a forked child has no driver") {
  const Primary primary;
  ok(cuMemsetD8(test::allocate(16), 0, 16));
  const auto result = test::in_child([] {
    CUdeviceptr address = 0;
    return cuMemAlloc(&address, 4) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
  });
  CHECK(result.status == 0);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("misuse is printed at once where that is asked for") {
  const auto result = test::in_child([] {
    test::set_env("CUDA_DOUBLE_LOG", "1");
    const Primary primary;
    cuMemFree(0x1000);
    return 0;
  });
  CHECK_THAT(result.out, Catch::Contains("misuse: cuMemFree of what is no allocation"));
}

TEST_CASE("a report of calls and leaks and misuse is written at the end of the process") {
  const test::TempDir folder;
  const std::string path = folder.path() / "report.txt";
  const auto result = test::in_child([&] {
    test::set_env("CUDA_DOUBLE_REPORT", path);
    static CUcontext context = nullptr;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    test::create_stream();
    test::create_stream();
    cuMemFree(0x1000);
    std::atexit([] { cuDevicePrimaryCtxRelease(1); });  // counted too
    return 0;
  });
  CHECK(result.status == 0);
  const std::string report = test::read_bytes(path);
  CHECK_THAT(report, Catch::Contains("call cuInit 1\n"));
  CHECK_THAT(report, Catch::Contains("call cuStreamCreate 2\n"));
  CHECK_THAT(report, Catch::Contains("call cuDevicePrimaryCtxRelease_v2 1\n"));
  CHECK_THAT(report, Catch::Contains("live stream 2 "));
  CHECK_THAT(report, Catch::Contains("live context 1 "));
  CHECK_THAT(report, Catch::Contains("misuse cuMemFree of what is no allocation"));
  CHECK_THAT(report, !Catch::Contains("live event"));
}

}  // namespace environment_test
