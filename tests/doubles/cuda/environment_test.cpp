// SPDX-License-Identifier: Apache-2.0
//
// How the environment configures the double, what of the driver can be missing, and how the process ends.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#include "test_support.h"

namespace environment_test {

using test::Gate;
using test::ok;
using test::Primary;

namespace {

/// What cuGetProcAddress finds for a program of that CUDA version.
void* find(const char* symbol, int version, CUresult* result = nullptr) {
  void* function = &function;
#if CUDA_VERSION >= 12000
  const CUresult found = cuGetProcAddress(symbol, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
#else
  const CUresult found = cuGetProcAddress(symbol, &function, version, CU_GET_PROC_ADDRESS_DEFAULT);
#endif
  if (result != nullptr) *result = found;
  return function == &function ? nullptr : function;
}

/// An exported function by its symbol: cuda.h has macros of the names.
template <class Function>
Function* vendor(const char* symbol) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  REQUIRE(found != nullptr);
  return reinterpret_cast<Function*>(found);
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
test::ChildResult initialised_with(const char* name, const std::string& value) {
  return test::in_child([&] {
    test::set_env(name, value);
    return static_cast<int>(cuInit(0)) & 0xff;
  });
}

}  // namespace

TEST_CASE("devices and memory and driver version are those of the environment") {
  test::set_env("CUDA_DOUBLE_DEVICES", "5");
  test::set_env("CUDA_DOUBLE_MEMORY", "3G");
  test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12040");
  test::set_env("CUDA_DOUBLE_SM", "86");
  CHECK(device_count() == 5);
  std::size_t bytes = 0;
  ok(cuDeviceTotalMem(&bytes, 4));
  CHECK(bytes == std::size_t{3} << 30U);
  int number = 0;
  ok(cuDriverGetVersion(&number));
  CHECK(number == 12040);
  ok(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  CHECK(number == 6);
}

TEST_CASE("cuInit can be told to fail") {
  CHECK(initialised_with("CUDA_DOUBLE_INIT", "34").status == CUDA_ERROR_STUB_LIBRARY);
  CHECK(initialised_with("CUDA_DOUBLE_INIT", "100").status == CUDA_ERROR_NO_DEVICE);
  CHECK(initialised_with("CUDA_DOUBLE_DEVICES", "0").status == CUDA_ERROR_NO_DEVICE);
  CHECK(initialised_with("CUDA_VISIBLE_DEVICES", "").status == CUDA_ERROR_NO_DEVICE);
  CHECK(initialised_with("CUDA_VISIBLE_DEVICES", "-1").status == CUDA_ERROR_NO_DEVICE);
}

TEST_CASE("instances of a partitioned gpu have uuids of their own and the rest is the gpu's") {
  test::set_env("CUDA_DOUBLE_MIG", "1");
  CHECK(device_count() == 2);
  CUuuid gpu[2] = {};
  CUuuid instance[2] = {};
  for (int i = 0; i < 2; ++i) {
    ok(vendor<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid")(&gpu[i], i));
    ok(vendor<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2")(&instance[i], i));
  }
  CHECK(std::string(gpu[0].bytes, 16) == std::string(gpu[1].bytes, 16));
  CHECK(std::string(instance[0].bytes, 16) != std::string(instance[1].bytes, 16));
  CHECK(std::string(gpu[0].bytes, 16) != std::string(instance[0].bytes, 16));
  CHECK(pci_of(0) == pci_of(1));
  char name[64] = "";
  ok(cuDeviceGetName(name, sizeof(name), 0));
  CHECK(std::string(name).find(" MIG ") != std::string::npos);
  int can = 1;
  ok(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 0);
}

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
    CHECK_THAT(result.output, Catch::Contains(std::string("CUDA double: ") + name));
  }
}

TEST_CASE("visible devices are chosen by index") {
  test::set_env("CUDA_DOUBLE_DEVICES", "3");
  test::set_env("CUDA_VISIBLE_DEVICES", "2,0");
  CHECK(device_count() == 2);
  CHECK(pci_of(0) == "0000:19:00.0");
  CHECK(pci_of(1) == "0000:17:00.0");
}

TEST_CASE("visible devices are chosen by the beginning of a uuid") {
  test::set_env("CUDA_VISIBLE_DEVICES", "GPU-d1b1e00c");
  CHECK(device_count() == 1);
  CHECK(pci_of(0) == "0000:18:00.0");
}

TEST_CASE("the first invalid entry ends the list of visible devices") {
  test::set_env("CUDA_VISIBLE_DEVICES", "1,7,0");
  CHECK(device_count() == 1);
  CHECK(pci_of(0) == "0000:18:00.0");
}

TEST_CASE("symbols that are said to be missing are not found") {
  test::set_env("CUDA_DOUBLE_MISSING", "cuMemAllocAsync:cuEventElapsedTime_v2");
  ok(cuInit(0));
  CUresult result = CUDA_SUCCESS;
  CHECK(find("cuMemAllocAsync", 13000, &result) == nullptr);
#if CUDA_VERSION >= 12000
  CHECK(result == CUDA_SUCCESS);
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  void* function = nullptr;
  ok(cuGetProcAddress("cuMemAllocAsync", &function, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
#else
  CHECK(result == CUDA_ERROR_NOT_FOUND);
#endif
  // Without its newest form a function is found in the one before.
  CHECK(find("cuEventElapsedTime", 13000) == find("cuEventElapsedTime", 12000));
  CHECK(find("cuEventElapsedTime", 13000) != nullptr);
  CHECK(find("cuMemAlloc", 13000) != nullptr);
}

TEST_CASE("a function is found in the form of the version asked for") {
  ok(cuInit(0));
  CHECK(find("cuEventElapsedTime", 12000) != find("cuEventElapsedTime", 13000));
  CHECK(find("cuStreamWaitValue32", 11000) != find("cuStreamWaitValue32", 12000));
  CHECK(find("cuNoSuchFunction", 13000) == nullptr);
  CHECK(find("cuMemAlloc_v2", 13000) == nullptr);  // asked for without the version
  CUresult result = CUDA_SUCCESS;
  CHECK(find("cuMemAlloc", 14000, &result) == nullptr);  // a program that is newer than the driver
  CHECK(result == CUDA_ERROR_INVALID_VALUE);
#if CUDA_VERSION >= 12000
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  void* function = nullptr;
  ok(cuGetProcAddress("cuMemAllocAsync", &function, 11000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  CHECK(function == nullptr);
#endif
}

TEST_CASE("an older driver lacks what came later") {
  test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12000");
  ok(cuInit(0));
  CHECK(find("cuFuncGetParamInfo", 12000) == nullptr);
  CHECK(find("cuLaunchKernelEx", 12000) != nullptr);
  CHECK(find("cuEventElapsedTime", 12000) != nullptr);
}

namespace {

/// A process that leaves all kinds of work behind.
int leave_work(int kind) {
  static CUcontext context = nullptr;  // never released
  ok(cuInit(0));
  ok(cuDevicePrimaryCtxRetain(&context, 0));
  ok(cuCtxSetCurrent(context));
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(16);
  ok(cuMemsetD32(word, 0, 4));
  static Gate gate;  // opened by a destructor that runs before the driver's end
  static std::promise<void> begun;
  if (kind == 0) test::Control().hold(0, true);
  if (kind == 1) ok(cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  if (kind == 2) {
    gate.block(stream);
    gate.wait_until_reached();
  }
  if (kind == 3) {
    const CUhostFn stay = [](void*) {
      begun.set_value();
      while (pause() != 0) continue;  // never returns
    };
    ok(cuLaunchHostFunc(stream, stay, nullptr));
    begun.get_future().wait();
  }
  for (int i = 0; i < 100; ++i) ok(cuMemsetD32Async(word + 4, 2, 2, stream));
  return 0;
}

}  // namespace

TEST_CASE("a process ends with work pending") {
  for (int kind = 0; kind < 5; ++kind) {
    INFO("kind " << kind);
    const auto result = test::in_child([kind] { return leave_work(kind); });
    CHECK_FALSE(result.timed_out);
    CHECK(result.signal == 0);
    CHECK(result.status == 0);
    CHECK(result.output.empty());
  }
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
  CHECK(result.output == "4 4\n");
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
  CHECK_THAT(result.output, Catch::Contains("misuse: cuMemFree of what is no allocation"));
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
