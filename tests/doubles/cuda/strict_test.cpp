// SPDX-License-Identifier: Apache-2.0
//
// What the double answers to calls that are wrong: the CUresult that NVIDIA's reference names, and where that leaves a
// misuse undefined, the strict answer that README.md tells. Outputs are left alone. Those of memory, graphs, captures
// and modules are in files of their own.
#include <thread>

#include "test_support.h"

namespace strict_test {

using test::each_gives;
using test::ok;
using test::Primary;

namespace {

template <class Handle>
Handle made_up() {
  return reinterpret_cast<Handle>(std::uintptr_t{0x1234});  // NOLINT
}

}  // namespace

TEST_CASE("nothing but what needs no device may be called before cuInit") {
  int number = -7;
  CUcontext context = nullptr;
  each_gives(CUDA_ERROR_NOT_INITIALIZED, {cuDeviceGetCount(&number), cuDevicePrimaryCtxRetain(&context, 0),
                                          cuCtxGetCurrent(&context), cuStreamSynchronize(nullptr)});
  CHECK(number == -7);
  CHECK(cuDriverGetVersion(&number) == CUDA_SUCCESS);
  CHECK(number == 13000);
  CHECK(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetCount(&number) == CUDA_ERROR_NOT_INITIALIZED);
  each_gives(CUDA_SUCCESS, {cuInit(0), cuInit(0), cuDeviceGetCount(&number)});
  const char* text = "";
  CHECK(cuGetErrorName(static_cast<CUresult>(998), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);  // documented
}

TEST_CASE("a device that is not there is an invalid device") {
  ok(cuInit(0));
  for (const int device : {-1, 2, 1000}) {
    CUdevice got = -7;
    CUcontext context = nullptr;
    int value = -7;
    std::size_t bytes = 7;
    each_gives(CUDA_ERROR_INVALID_DEVICE, {cuDeviceGet(&got, device), cuDevicePrimaryCtxRetain(&context, device),
                                           cuDevicePrimaryCtxRelease(device), cuDeviceTotalMem(&bytes, device),
                                           cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device),
                                           cuDeviceCanAccessPeer(&value, 0, device)});
    CHECK((got == -7 && context == nullptr && value == -7 && bytes == 7));
  }
}

TEST_CASE("what needs a context says so where there is none") {
  ok(cuInit(0));
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
  CUmodule module = nullptr;
  void* memory = nullptr;
  std::size_t size = 0;
  char bytes[16] = {};
  each_gives(CUDA_ERROR_INVALID_CONTEXT,
             {cuStreamCreate(&stream, 0), cuEventCreate(&event, 0), cuMemAlloc(&address, 16),
              cuMemHostAlloc(&memory, 16, 0), cuMemAllocManaged(&address, 16, CU_MEM_ATTACH_GLOBAL),
              cuMemHostRegister(bytes, 16, 0), cuMemFree(0x1000), cuMemGetInfo(&size, &size),
              cuMemcpyHtoDAsync(0x1000, bytes, 16, nullptr), cuMemsetD8Async(0x1000, 0, 16, nullptr),
              cuModuleLoadData(&module, ".version 6.0\n"), cuStreamSynchronize(nullptr),
              cuStreamQuery(CU_STREAM_PER_THREAD), cuCtxSynchronize(), cuCtxPopCurrent(nullptr)});
  CUcontext current = made_up<CUcontext>();
  CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == nullptr);
}

TEST_CASE("null and flags that aren't known are invalid values") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr memory = test::allocate(64);
  CUstream made = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  void* pinned = nullptr;
  std::size_t size = 0;
  char bytes[16] = {};
  each_gives(
      CUDA_ERROR_INVALID_VALUE,
      {cuStreamCreate(nullptr, 0), cuEventCreate(nullptr, 0), cuMemAlloc(nullptr, 16), cuMemHostAlloc(nullptr, 16, 0),
       cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL), cuMemGetInfo(nullptr, &size), cuDeviceGetCount(nullptr),
       cuDeviceGetName(nullptr, 10, 0), cuDevicePrimaryCtxRetain(nullptr, 0), cuCtxGetCurrent(nullptr),
       cuLaunchHostFunc(stream, nullptr, nullptr), cuMemcpyHtoDAsync(memory, nullptr, 16, stream),
       cuMemcpyDtoHAsync(nullptr, memory, 16, stream), cuMemcpyDtoDAsync(0, memory, 16, stream),
       cuMemcpy2DAsync(nullptr, stream), cuMemsetD8Async(0, 0, 16, stream), cuModuleLoadData(nullptr, ""),
       cuModuleLoadData(&module, nullptr)});
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuStreamCreate(&made, 2), cuEventCreate(&event, 8),
              cuEventCreate(&event, CU_EVENT_INTERPROCESS),  // without DISABLE_TIMING
              cuMemHostAlloc(&pinned, 16, 8), cuMemHostRegister(bytes, 16, 16), cuMemAllocManaged(&address, 16, 0)});
  CHECK((made == nullptr && event == nullptr && module == nullptr && address == 0 && pinned == nullptr));
  CHECK(test::Control().live("memory") == 1);
}

TEST_CASE("a handle that is made up or destroyed or another stream's or event's is an invalid handle") {
  const Primary primary;
  const CUstream good_stream = test::create_stream();
  const CUevent good_event = test::create_event();
  const CUstream gone_stream = test::create_stream();
  const CUevent gone_event = test::create_event();
  ok(cuStreamDestroy(gone_stream));
  ok(cuEventDestroy(gone_event));
  const CUdeviceptr memory = test::allocate(16);
  for (const CUstream stream : {gone_stream, made_up<CUstream>(), reinterpret_cast<CUstream>(good_event)}) {
    each_gives(CUDA_ERROR_INVALID_HANDLE,
               {cuStreamQuery(stream), cuStreamSynchronize(stream), cuStreamWaitEvent(stream, good_event, 0),
                cuEventRecord(good_event, stream), cuStreamDestroy(stream), cuMemsetD8Async(memory, 0, 16, stream)});
  }
  for (const CUevent event : {gone_event, made_up<CUevent>(), CUevent{}, reinterpret_cast<CUevent>(good_stream)}) {
    each_gives(CUDA_ERROR_INVALID_HANDLE,
               {cuEventQuery(event), cuEventSynchronize(event), cuEventRecord(event, good_stream),
                cuStreamWaitEvent(good_stream, event, 0), cuEventDestroy(event)});
  }
  CUfunction function = nullptr;
  each_gives(CUDA_ERROR_INVALID_HANDLE,
             {cuModuleUnload(made_up<CUmodule>()), cuModuleGetFunction(&function, made_up<CUmodule>(), "count"),
              cuLaunchKernel(made_up<CUfunction>(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              cuStreamDestroy(nullptr), cuStreamDestroy(CU_STREAM_LEGACY), cuStreamDestroy(CU_STREAM_PER_THREAD)});
  each_gives(CUDA_ERROR_INVALID_CONTEXT,
             {cuCtxSetCurrent(made_up<CUcontext>()), cuCtxPushCurrent(made_up<CUcontext>())});
  CHECK(cuMemPoolDestroy(made_up<CUmemoryPool>()) == CUDA_ERROR_INVALID_VALUE);
  CHECK(test::Control().misuses() > 0);
}

TEST_CASE("elapsed time needs both events to be recorded, done, timed and of one context") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent start = test::create_event();
  const CUevent end = test::create_event();
  const CUevent untimed = test::create_event(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);  // never recorded
  ok(cuEventRecord(start, stream));
  test::Gate gate;
  gate.block(stream);
  ok(cuEventRecord(end, stream));
  ok(cuEventRecord(untimed, stream));
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuEventSynchronize(untimed));
  CHECK(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
  const Primary second(1);
  const CUevent there = test::create_event();
  ok(cuEventRecord(there, nullptr));
  ok(cuEventSynchronize(there));
  CHECK(cuEventElapsedTime(&milliseconds, start, there) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(milliseconds == -1);
}

TEST_CASE("who asks for the null stream asks for the blocking streams, too, and for no others") {
  const Primary primary;
  const CUstream stream = test::create_stream(GENERATE(CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING));
  unsigned flags = 0;
  ok(cuStreamGetFlags(stream, &flags));
  test::Gate gate;
  gate.block(stream);
  CHECK(cuStreamQuery(nullptr) == (flags == CU_STREAM_DEFAULT ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS));
  gate.open();
  ok(cuStreamSynchronize(nullptr));
  if (flags == CU_STREAM_DEFAULT) CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
}

TEST_CASE("events and kernels belong to their context") {
  const Primary first(0);
  const CUevent event = test::create_event();
  const test::Kernels kernels;
  const CUfunction kernel = kernels["count"];
  const Primary second(1);
  const CUstream there = test::create_stream();
  CHECK(cuEventRecord(event, there) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamWaitEvent(there, event, 0) == CUDA_SUCCESS);
  const CUdeviceptr counter = test::allocate(4);
  const CUresult launched = test::launch(there, kernel, counter, 1U);
  CHECK((launched == CUDA_ERROR_INVALID_HANDLE || launched == CUDA_ERROR_INVALID_CONTEXT));
}

TEST_CASE("the driver may not be called from a host function") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  CUresult query = CUDA_SUCCESS, allocation = CUDA_SUCCESS, name = CUDA_ERROR_UNKNOWN;
  std::function<void()> body = [&] {
    CUdeviceptr address = 0;
    const char* text = nullptr;
    query = cuStreamQuery(stream);
    allocation = cuMemAlloc(&address, 4);
    name = cuGetErrorName(CUDA_ERROR_UNKNOWN, &text);  // no call of a device: allowed
  };
  test::launch(stream, body);
  ok(cuStreamSynchronize(stream));
  CHECK((query == CUDA_ERROR_NOT_PERMITTED && allocation == CUDA_ERROR_NOT_PERMITTED && name == CUDA_SUCCESS));
  CHECK(control.misuses() == 2);
  CHECK_THAT(control.misuse_text(), Catch::Contains("cuMemAlloc_v2 was called inside a host function"));
}

TEST_CASE("waits on values refuse what is not aligned or not memory") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(16);
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuStreamWaitValue32(stream, word + 2, 0, 0), cuStreamWaitValue64(stream, word + 4, 0, 0),
              cuStreamWriteValue32(stream, word + 1, 0, 0), cuStreamWaitValue32(stream, 0, 0, 0),
              cuStreamWaitValue32(stream, word + 16, 0, 0)});
  CHECK(cuStreamWaitValue32(stream, word, 0, CU_STREAM_WAIT_VALUE_FLUSH) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a context that another thread destroys stays current and fails the calls of all other contexts") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const CUcontext context = test::create_context();
  const CUstream gone = test::create_stream();
  CUresult destroyed = CUDA_ERROR_UNKNOWN;
  std::thread([&] { destroyed = cuCtxDestroy(context); }).join();
  CHECK(destroyed == CUDA_SUCCESS);
  CHECK(test::Control().left_behind() == 1);
  CUcontext current = nullptr;
  ok(cuCtxGetCurrent(&current));
  CHECK(current == context);
  CUdeviceptr address = 0;
  each_gives(CUDA_ERROR_CONTEXT_IS_DESTROYED,
             {cuMemAlloc(&address, 16), cuStreamQuery(gone), cuStreamQuery(stream), cuEventRecord(event, stream),
              cuEventDestroy(event), cuStreamDestroy(stream)});
  char name[8];
  ok(cuDeviceGetName(name, sizeof(name), 0));
  ok(cuCtxPopCurrent(&current));
  CHECK(current == context);
  each_gives(CUDA_ERROR_INVALID_CONTEXT, {cuCtxDestroy(context), cuCtxSetCurrent(context)});
  CHECK(cuStreamQuery(gone) == CUDA_ERROR_INVALID_HANDLE);
  each_gives(CUDA_SUCCESS, {cuEventRecord(event, stream), cuStreamSynchronize(stream), cuEventDestroy(event),
                            cuStreamDestroy(stream)});
}

TEST_CASE("a context that failed and is current gives its error to the calls of other contexts") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const CUcontext context = test::create_context(1);
  REQUIRE(test::Control().fail_device(1, CUDA_ERROR_ILLEGAL_ADDRESS));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  ok(cuEventDestroy(event));
  ok(cuCtxPushCurrent(primary));
  ok(cuStreamQuery(stream));
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  CHECK(cuCtxDestroy(context) == CUDA_ERROR_ILLEGAL_ADDRESS);
  ok(cuStreamQuery(stream));
}

TEST_CASE("a primary context lives as long as it is retained, and is current to the threads that made it so") {
  ok(cuInit(0));
  CUcontext context = nullptr;
  CUcontext again = nullptr;
  ok(cuDevicePrimaryCtxRetain(&context, 0));
  ok(cuDevicePrimaryCtxRetain(&again, 0));
  CHECK(context == again);
  ok(cuCtxPushCurrent(context));
  CUcontext elsewhere = made_up<CUcontext>();
  std::thread([&] { cuCtxGetCurrent(&elsewhere); }).join();
  CHECK(elsewhere == nullptr);
  const CUstream stream = test::create_stream();
  ok(cuDevicePrimaryCtxRelease(0));
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  ok(cuDevicePrimaryCtxRelease(0));
  each_gives(CUDA_ERROR_CONTEXT_IS_DESTROYED, {cuStreamQuery(stream), cuCtxSynchronize()});
  CHECK(cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(test::Control().misuses() == 1);
}

}  // namespace strict_test
