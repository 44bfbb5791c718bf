// SPDX-License-Identifier: Apache-2.0
//
// What the double answers to calls that are wrong: the CUresult that NVIDIA's reference names, and where that leaves a
// misuse undefined, the strict answer that README.md tells. Outputs are left alone.
#include <thread>

#include "test_support.h"

namespace strict_test {

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
  CHECK(cuDeviceGetCount(&number) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(number == -7);
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuDriverGetVersion(&number) == CUDA_SUCCESS);
  CHECK(number == 13000);
  CHECK(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetCount(&number) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(cuInit(0) == CUDA_SUCCESS);
  CHECK(cuInit(0) == CUDA_SUCCESS);
  CHECK(cuDeviceGetCount(&number) == CUDA_SUCCESS);
  CHECK(number == 2);
}

TEST_CASE("errors have a name and a text and unknown ones neither") {
  const char* text = nullptr;
  ok(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  ok(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK_FALSE(std::string(text).empty());
  ok(cuGetErrorName(CUDA_SUCCESS, &text));
  CHECK(std::string(text) == "CUDA_SUCCESS");
  CHECK(cuGetErrorName(static_cast<CUresult>(998), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);  // documented
  CHECK(cuGetErrorName(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a device that is not there is an invalid device") {
  ok(cuInit(0));
  for (const int device : {-1, 2, 1000}) {
    CUdevice got = -7;
    CUcontext context = nullptr;
    int value = -7;
    std::size_t bytes = 7;
    CHECK(cuDeviceGet(&got, device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDevicePrimaryCtxRelease(device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceTotalMem(&bytes, device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceCanAccessPeer(&value, 0, device) == CUDA_ERROR_INVALID_DEVICE);
    CHECK((got == -7 && context == nullptr && value == -7 && bytes == 7));
  }
}

TEST_CASE("what needs a context says so where there is none") {
  ok(cuInit(0));
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
  CUmodule module = nullptr;
  CUdevice device = -7;
  void* memory = nullptr;
  std::size_t free = 0;
  std::size_t total = 0;
  char bytes[16] = {};
  CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuEventCreate(&event, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemAllocHost(&memory, 16) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemAllocManaged(&address, 16, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemAllocAsync(&address, 16, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemHostRegister(bytes, 16, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemFree(0x1000) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemGetInfo(&free, &total) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemcpyHtoD(0x1000, bytes, 16) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemsetD8(0x1000, 0, 16) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuModuleLoadData(&module, ".version 6.0\n") == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxGetDevice(&device) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPopCurrent(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  CUcontext current = made_up<CUcontext>();
  CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == nullptr);
}

TEST_CASE("null outputs are invalid values") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr memory = test::allocate(64);
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAlloc(nullptr, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocHost(nullptr, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostAlloc(nullptr, 16, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocAsync(nullptr, 16, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocPitch(&address, nullptr, 16, 1, 4) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetInfo(nullptr, &size) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetCount(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetName(nullptr, 10, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDevicePrimaryCtxRetain(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxGetCurrent(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamGetPriority(stream, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLaunchHostFunc(stream, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamAddCallback(stream, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(memory, nullptr, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH(nullptr, memory, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD(0, memory, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpy2D(nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8(0, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleLoadData(nullptr, "") == CUDA_ERROR_INVALID_VALUE);
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(test::Control().live("memory") == 1);
}

TEST_CASE("unknown flags are invalid values") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  CUstream made = nullptr;
  CUevent made_event = nullptr;
  CUdeviceptr address = 0;
  void* memory = nullptr;
  char bytes[16] = {};
  CHECK(cuStreamCreate(&made, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventCreate(&made_event, 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuEventCreate(&made_event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);  // without DISABLE_TIMING
  CHECK(cuStreamWaitEvent(stream, event, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostAlloc(&memory, 16, 8) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemHostRegister(bytes, 16, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAllocManaged(&address, 16, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK((made == nullptr && made_event == nullptr && address == 0 && memory == nullptr));
}

TEST_CASE("a handle that is made up or destroyed is an invalid handle") {
  const Primary primary;
  const CUstream good_stream = test::create_stream();
  const CUevent good_event = test::create_event();
  const CUstream gone_stream = test::create_stream();
  const CUevent gone_event = test::create_event();
  ok(cuStreamDestroy(gone_stream));
  ok(cuEventDestroy(gone_event));
  const CUstream streams[] = {gone_stream, made_up<CUstream>(), reinterpret_cast<CUstream>(good_event)};  // NOLINT
  for (const CUstream stream : streams) {
    CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamWaitEvent(stream, good_event, 0) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecord(good_event, stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamDestroy(stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuMemsetD8Async(test::allocate(16), 0, 16, stream) == CUDA_ERROR_INVALID_HANDLE);
  }
  const CUevent events[] = {gone_event, made_up<CUevent>(), nullptr, reinterpret_cast<CUevent>(good_stream)};  // NOLINT
  for (const CUevent event : events) {
    CHECK(cuEventQuery(event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventSynchronize(event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventRecord(event, good_stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamWaitEvent(good_stream, event, 0) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventDestroy(event) == CUDA_ERROR_INVALID_HANDLE);
  }
  CUfunction function = nullptr;
  CHECK(cuModuleUnload(made_up<CUmodule>()) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuModuleGetFunction(&function, made_up<CUmodule>(), "count") == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLaunchKernel(made_up<CUfunction>(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
        CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuCtxSetCurrent(made_up<CUcontext>()) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPushCurrent(made_up<CUcontext>()) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuMemPoolDestroy(made_up<CUmemoryPool>()) == CUDA_ERROR_INVALID_VALUE);
  CHECK(test::Control().misuses() > 0);
}

TEST_CASE("the null stream cannot be destroyed") {
  const Primary primary;
  CHECK(cuStreamDestroy(nullptr) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy(CU_STREAM_LEGACY) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamDestroy(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("events and kernels belong to their context") {
  const Primary first(0);
  const CUevent event = test::create_event();
  const CUstream here = test::create_stream();
  const test::Kernels kernels;
  const CUfunction kernel = kernels["count"];
  {
    const Primary second(1);
    const CUstream there = test::create_stream();
    CHECK(cuEventRecord(event, there) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamWaitEvent(there, event, 0) == CUDA_SUCCESS);
    const CUdeviceptr counter = test::allocate(4);
    const CUresult launched = test::launch(there, kernel, counter, 1U);
    CHECK((launched == CUDA_ERROR_INVALID_HANDLE || launched == CUDA_ERROR_INVALID_CONTEXT));
    const CUevent other = test::create_event();
    ok(cuEventRecord(event, here));
    ok(cuEventRecord(other, there));
    ok(cuEventSynchronize(event));
    ok(cuEventSynchronize(other));
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, event, other) == CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_CASE("streams and events may be used while another context is current") {
  const Primary first(0);
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const Primary second(1);
  CHECK(cuEventRecord(event, stream) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CHECK(cuEventDestroy(event) == CUDA_SUCCESS);
  CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
}

TEST_CASE("a destroyed context says so") {
  ok(cuInit(0));
  const CUcontext context = test::create_context();
  const CUstream stream = test::create_stream();
  ok(cuCtxPushCurrent(context));
  ok(cuCtxDestroy(context));
  CUcontext current = nullptr;
  ok(cuCtxGetCurrent(&current));
  CHECK(current == context);  // it was current twice; one of them was popped
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuCtxDestroy(context) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPopCurrent(&current) == CUDA_SUCCESS);
  CHECK(cuCtxSetCurrent(context) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(test::Control().left_behind() == 1);
}

TEST_CASE("a context that another thread destroys stays current and fails the calls of all other contexts") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const CUcontext context = test::create_context();
  CUresult destroyed = CUDA_ERROR_UNKNOWN;
  std::thread([&] { destroyed = cuCtxDestroy(context); }).join();
  CHECK(destroyed == CUDA_SUCCESS);
  CUcontext current = nullptr;
  ok(cuCtxGetCurrent(&current));
  CHECK(current == context);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuEventRecord(event, stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuEventDestroy(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuStreamDestroy(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  char name[8];
  ok(cuDeviceGetName(name, sizeof(name), 0));
  ok(cuCtxPushCurrent(primary));
  ok(cuEventRecord(event, stream));
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  ok(cuCtxPopCurrent(&popped));
  CHECK(popped == context);
  ok(cuStreamSynchronize(stream));
  ok(cuEventDestroy(event));
  ok(cuStreamDestroy(stream));
}

TEST_CASE("a context that failed and is current gives its error to the calls of other contexts") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const CUcontext context = test::create_context(1);
  const test::Control control;
  REQUIRE(control.fail_device(1, CUDA_ERROR_ILLEGAL_ADDRESS));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  ok(cuEventDestroy(event));
  ok(cuCtxPushCurrent(primary));
  ok(cuStreamQuery(stream));
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  CHECK(cuCtxDestroy(context) == CUDA_ERROR_ILLEGAL_ADDRESS);
  ok(cuStreamQuery(stream));
  ok(cuStreamDestroy(stream));
}

TEST_CASE("a primary context lives as long as it is retained") {
  ok(cuInit(0));
  unsigned flags = 9;
  int active = 9;
  ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
  CHECK((flags == 0 && active == 0));
  CUcontext context = nullptr;
  CUcontext again = nullptr;
  ok(cuDevicePrimaryCtxRetain(&context, 0));
  ok(cuDevicePrimaryCtxRetain(&again, 0));
  CHECK(context == again);
  ok(cuCtxPushCurrent(context));
  const CUstream stream = test::create_stream();
  ok(cuDevicePrimaryCtxRelease(0));
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  ok(cuDevicePrimaryCtxRelease(0));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(test::Control().misuses() == 1);
  ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
  CHECK(active == 0);
}

TEST_CASE("the stack of contexts is the thread's own") {
  const Primary primary;
  CUcontext elsewhere = made_up<CUcontext>();
  std::thread([&] { cuCtxGetCurrent(&elsewhere); }).join();
  CHECK(elsewhere == nullptr);
  const CUcontext other = test::create_context(1);
  CUdevice device = -7;
  ok(cuCtxGetDevice(&device));
  CHECK(device == 1);
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  CHECK(popped == other);
  ok(cuCtxGetDevice(&device));
  CHECK(device == 0);
  ok(cuCtxSetCurrent(other));  // replaces the top
  ok(cuCtxPopCurrent(&popped));
  CHECK(popped == other);
  CHECK(cuCtxPopCurrent(&popped) == CUDA_ERROR_INVALID_CONTEXT);
  ok(cuCtxPushCurrent(primary));
  ok(cuCtxDestroy(other));
}

TEST_CASE("a device tells what it is and refuses attributes that do not exist") {
  ok(cuInit(0));
  int major = 0;
  int minor = 0;
  ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  ok(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  CHECK((major == 9 && minor == 0));
  int warp = 0;
  ok(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  CHECK(warp == 32);
  CHECK(cuDeviceGetAttribute(&warp, static_cast<CUdevice_attribute>(0), 0) == CUDA_ERROR_INVALID_VALUE);
  char pci[2][20] = {};
  ok(cuDeviceGetPCIBusId(pci[0], 20, 0));
  ok(cuDeviceGetPCIBusId(pci[1], 20, 1));
  CHECK(std::string(pci[0]) != pci[1]);
  CHECK(cuDeviceGetPCIBusId(pci[0], 12, 0) == CUDA_ERROR_INVALID_VALUE);
  CUdevice device = -7;
  ok(cuDeviceGetByPCIBusId(&device, pci[1]));
  CHECK(device == 1);
  CHECK(cuDeviceGetByPCIBusId(&device, "0000:99:00.0") == CUDA_ERROR_INVALID_DEVICE);
  CUuuid ids[2] = {};
  ok(cuDeviceGetUuid(&ids[0], 0));
  ok(cuDeviceGetUuid(&ids[1], 1));
  CHECK(std::string(ids[0].bytes, 16) != std::string(ids[1].bytes, 16));
}

}  // namespace strict_test
