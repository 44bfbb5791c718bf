// SPDX-License-Identifier: Apache-2.0
//
// The library that stands for a driver of CUDA 11.2: no cuGetProcAddress, and nothing that came later. Opened by its
// path, as this program links no libcuda.
#include <cuda.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "../double_control.hpp"

namespace old_driver_test {

namespace {

class Library {
 public:
  Library() : handle_(dlopen(CUDA_DOUBLE_OLD_LIBRARY, RTLD_NOW | RTLD_LOCAL)) { REQUIRE(handle_ != nullptr); }
  template <class Function>
  Function* find(const char* symbol) const {
    return reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_;
};

}  // namespace

TEST_CASE("an old driver works by the dynamic linker's symbols alone") {
  const Library library;
  int version = 0;
  REQUIRE(library.find<CUresult(int*)>("cuDriverGetVersion")(&version) == CUDA_SUCCESS);
  CHECK(version == 11020);
  REQUIRE(library.find<CUresult(unsigned)>("cuInit")(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  REQUIRE(library.find<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0) == CUDA_SUCCESS);
  REQUIRE(library.find<CUresult(CUcontext)>("cuCtxPushCurrent_v2")(context) == CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  REQUIRE(library.find<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&memory, 4) == CUDA_SUCCESS);
  REQUIRE(library.find<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32_v2")(memory, 5, 1) == CUDA_SUCCESS);
  std::uint32_t value = 0;
  REQUIRE(library.find<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(&value, memory, 4) ==
          CUDA_SUCCESS);
  CHECK(value == 5);
  REQUIRE(library.find<CUresult(CUdeviceptr)>("cuMemFree_v2")(memory) == CUDA_SUCCESS);
  REQUIRE(library.find<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease_v2")(0) == CUDA_SUCCESS);
  const anyplace::doubles::Control control(CUDA_DOUBLE_OLD_LIBRARY);
  CHECK(control.live() == 0);
  CHECK(control.calls_of("cuMemAlloc") == 1);
}

TEST_CASE("an old driver lacks the symbols that came later") {
  const Library library;
  for (const char* symbol : {"cuGetProcAddress", "cuGetProcAddress_v2", "cuEventElapsedTime_v2", "cuLaunchKernelEx",
                             "cuFuncGetParamInfo", "cuStreamWaitValue32_v2", "cuStreamGetId"}) {
    INFO(symbol);
    CHECK(library.find<void>(symbol) == nullptr);
  }
  for (const char* symbol :
       {"cuEventElapsedTime", "cuLaunchKernel", "cuMemAllocAsync", "cuMemMap", "cuStreamQuery_ptsz"}) {
    INFO(symbol);
    CHECK(library.find<void>(symbol) != nullptr);
  }
}

}  // namespace old_driver_test
