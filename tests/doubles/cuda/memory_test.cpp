// SPDX-License-Identifier: Apache-2.0
//
// Memory of the double: bounds, lives and kinds, copies and fills, and what is told of an address.
#include <cstring>
#include <numeric>

#include "test_support.h"

namespace memory_test {

using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

TEST_CASE("a device has no more memory than it says") {
  test::set_env("CUDA_DOUBLE_MEMORY", "64M");
  const Primary primary;
  std::size_t free = 0;
  std::size_t total = 0;
  ok(cuMemGetInfo(&free, &total));
  CHECK((free == 64U << 20U && total == 64U << 20U));
  CUdeviceptr address = 7;
  CHECK(cuMemAlloc(&address, (64U << 20U) + 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAlloc(&address, SIZE_MAX) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAlloc(&address, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(address == 7);
  const CUdeviceptr most = test::allocate(48U << 20U);
  ok(cuMemGetInfo(&free, &total));
  CHECK(free == 16U << 20U);
  CHECK(cuMemAlloc(&address, 17U << 20U) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemAllocAsync(&address, 17U << 20U, nullptr) == CUDA_ERROR_OUT_OF_MEMORY);
  const Primary second(1);  // has its own
  ok(cuMemFree(test::allocate(64U << 20U)));
  ok(cuMemFree(most));
  CHECK(test::Control().live("memory") == 0);
}

TEST_CASE("host memory is bounded too") {
  test::set_env("CUDA_DOUBLE_HOST_MEMORY", "1M");
  const Primary primary;
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, (1U << 20U) + 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(memory == nullptr);
  ok(cuMemHostAlloc(&memory, 1U << 20U, CU_MEMHOSTALLOC_PORTABLE));
  ok(cuMemFreeHost(memory));
}

TEST_CASE("a device of many gigabytes costs nothing until it is touched") {
  test::set_env("CUDA_DOUBLE_MEMORY", "64G");
  const Primary primary;
  const CUdeviceptr address = test::allocate(std::size_t{60} << 30U);
  ok(cuMemsetD32(address + (std::uint64_t{50} << 30U), 7, 1));
  ok(cuCtxSynchronize());
  CHECK(peek(address + (std::uint64_t{50} << 30U)) == 7);
  ok(cuMemFree(address));
}

TEST_CASE("copies come and go between host and device") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  std::vector<std::uint32_t> in(100000);
  std::iota(in.begin(), in.end(), 5U);
  std::vector<std::uint32_t> out(in.size());
  const std::size_t bytes = in.size() * 4;
  const CUdeviceptr first = test::allocate(bytes);
  const CUdeviceptr second = test::allocate(bytes);
  ok(cuMemcpyHtoD(first, in.data(), bytes));
  ok(cuMemcpyDtoD(second, first, bytes));
  ok(cuCtxSynchronize());
  ok(cuMemcpyDtoH(out.data(), second, bytes));
  CHECK(in == out);
  out.assign(out.size(), 0);
  ok(cuMemcpyHtoDAsync(first, in.data(), bytes, stream));
  ok(cuMemcpyDtoDAsync(second, first, bytes, stream));
  ok(cuMemcpyDtoHAsync(out.data(), second, bytes, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(in == out);
  out.assign(out.size(), 0);
  ok(cuMemcpyAsync(first, test::address_of(in.data()), bytes, stream));
  ok(cuMemcpyAsync(test::address_of(out.data()), first, bytes, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(in == out);
  ok(cuMemcpy(first, second, 0));  // nothing to do
}

TEST_CASE("a copy from pinned memory reads it when the stream gets there") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  void* memory = nullptr;
  ok(cuMemAllocHost(&memory, 4));
  auto* const word = static_cast<std::uint32_t*>(memory);
  const CUdeviceptr device = test::allocate(4);
  *word = 1;
  Gate gate;
  gate.block(stream);
  ok(cuMemcpyHtoDAsync(device, word, 4, stream));
  *word = 2;  // a mistake that a real device may or may not show
  gate.open();
  ok(cuStreamSynchronize(stream));
  CHECK(peek(device) == 2);
  ok(cuMemFreeHost(memory));
}

TEST_CASE("a copy from pageable memory has read it when the call returns") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr device = test::allocate(4);
  std::uint32_t word = 1;
  Gate gate;
  gate.block(stream);
  ok(cuMemcpyHtoDAsync(device, &word, 4, stream));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  word = 2;
  gate.open();
  ok(cuStreamSynchronize(stream));
  CHECK(peek(device) == 1);
}

TEST_CASE("a copy to pageable memory is done when the call returns") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr device = test::allocate(4);
  std::uint32_t word = 1;
  ok(cuMemsetD32Async(device, 8, 1, stream));
  ok(cuMemcpyDtoHAsync(&word, device, 4, stream));
  CHECK(word == 8);
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
}

TEST_CASE("pageable memory can be treated like pinned so that a missing wait shows") {
  test::set_env("CUDA_DOUBLE_PAGEABLE_ASYNC", "1");
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr device = test::allocate(4);
  std::uint32_t in = 1;
  std::uint32_t out = 0;
  Gate gate;
  gate.block(stream);
  ok(cuMemcpyHtoDAsync(device, &in, 4, stream));
  ok(cuMemcpyDtoHAsync(&out, device, 4, stream));
  in = 2;
  CHECK(out == 0);
  gate.open();
  ok(cuStreamSynchronize(stream));
  CHECK(out == 2);
}

TEST_CASE("a copy whose ends overlap is noted") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr memory = test::allocate(64);
  ok(cuMemcpyDtoD(memory, memory + 32, 32));
  CHECK(control.misuses() == 0);
  CHECK(cuMemcpyDtoD(memory, memory + 16, 32) == CUDA_SUCCESS);
  CHECK(control.misuses() == 1);
}

TEST_CASE("a copy that leaves its allocation is refused") {
  const Primary primary;
  const CUdeviceptr memory = test::allocate(64);
  const CUdeviceptr other = test::allocate(64);
  char bytes[128] = {};
  CHECK(cuMemcpyHtoD(memory, bytes, 65) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(memory + 60, bytes, 5) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyHtoD(memory + 64, bytes, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoH(bytes, memory - 1, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD(other, memory, 65) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoDAsync(other, memory + 1, 64, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD8(memory, 0, 65) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32Async(memory + 32, 0, 9, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemcpyDtoD(memory, test::address_of(bytes), 16) == CUDA_ERROR_INVALID_VALUE);  // no device memory
  CHECK(cuMemsetD8(test::address_of(bytes), 0, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);  // none of it stays
}

TEST_CASE("fills have their width and alignment") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr memory = test::allocate(64);
  ok(cuMemsetD8Async(memory, 0xab, 64, stream));
  ok(cuMemsetD16Async(memory + 2, 0x1234, 3, stream));
  ok(cuMemsetD32Async(memory + 8, 0xcafe1234, 2, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(peek(memory) == 0x1234ababU);
  CHECK(peek(memory + 4) == 0x12341234U);
  CHECK(peek(memory + 8) == 0xcafe1234U);
  CHECK(peek(memory + 12) == 0xcafe1234U);
  CHECK(peek(memory + 16) == 0xababababU);
  CHECK(cuMemsetD16(memory + 1, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemsetD32(memory + 2, 0, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("pitched copies and fills touch their rectangle alone") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  CUdeviceptr image = 0;
  std::size_t pitch = 0;
  ok(cuMemAllocPitch(&image, &pitch, 10, 4, 4));
  REQUIRE(pitch >= 10);
  CHECK(cuMemAllocPitch(&image, &pitch, 10, 4, 3) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemsetD8(image, 0, pitch * 4));
  ok(cuCtxSynchronize());  // fills of device memory return before they are done
  char in[4][10];
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 10; ++x) in[y][x] = static_cast<char>(10 * y + x);
  }
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in;
  copy.srcPitch = 10;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = image;
  copy.dstPitch = pitch;
  copy.dstXInBytes = 2;
  copy.dstY = 1;
  copy.srcXInBytes = 1;
  copy.WidthInBytes = 8;
  copy.Height = 3;
  ok(cuMemcpy2DAsync(&copy, stream));
  ok(cuStreamSynchronize(stream));
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < pitch; ++x) {
      const bool inside = y >= 1 && x >= 2 && x < 10;
      REQUIRE(peek<char>(image + y * pitch + x) == (inside ? in[y - 1][x - 1] : 0));
    }
  }
  char out[3][8] = {};
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = image + pitch + 2;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out;
  back.dstPitch = 8;
  back.WidthInBytes = 8;
  back.Height = 3;
  ok(cuMemcpy2D(&back));
  CHECK(out[2][7] == in[2][8]);
  ok(cuMemsetD2D8(image, pitch, 9, 3, 2));
  ok(cuCtxSynchronize());
  CHECK((peek<char>(image + pitch + 1) == 9 && peek<char>(image + pitch + 3) == in[0][2]));
  copy.WidthInBytes = 11;  // more than the pitch of the source
  CHECK(cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy.WidthInBytes = 8;
  copy.Height = 4;  // a row too many
  CHECK(cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE);
  copy.Height = 3;
  copy.dstMemoryType = static_cast<CUmemorytype>(7);
  CHECK(cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("memory that is freed is told apart from memory that never was") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr memory = test::allocate(64);
  ok(cuMemFree(memory));
  CHECK(control.misuses() == 0);
  CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 1);
  CHECK(cuMemsetD8(memory, 0, 64) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 2);
  CHECK(cuMemFree(test::allocate(64) + 8) == CUDA_ERROR_INVALID_VALUE);  // not its beginning
  CHECK(cuMemFree(0) == CUDA_SUCCESS);
  int local = 0;
  CHECK(cuMemFree(test::address_of(&local)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFreeHost(&local) == CUDA_ERROR_INVALID_VALUE);
  CHECK_THAT(control.misuse_text(), Catch::Contains("a freed address was given to an operation"));
}

TEST_CASE("freeing memory waits for the work of its context") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr memory = test::allocate(4);
  const CUdeviceptr copy = test::allocate(4);
  std::function<void()> body = [&] { *reinterpret_cast<std::uint32_t*>(memory) = 42; };  // NOLINT
  test::launch(stream, body);
  ok(cuMemcpyDtoDAsync(copy, memory, 4, stream));
  ok(cuMemFree(memory));
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  CHECK(peek(copy) == 42);
}

TEST_CASE("queued work on pinned memory that was freed is a fault that stays and a misuse") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  const CUdeviceptr device = test::allocate(4);
  void* memory = nullptr;
  ok(cuMemAllocHost(&memory, 4));
  Gate gate;
  gate.block(stream);
  ok(cuMemcpyHtoDAsync(device, memory, 4, stream));
  ok(cuMemFreeHost(memory));
  gate.open();
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(control.misuses() == 1);
  CHECK_THAT(control.misuse_text(), Catch::Contains("freed"));
}

TEST_CASE("registered memory is known until it is unregistered") {
  const Primary primary;
  std::vector<char> bytes(10000);
  CUdeviceptr address = 7;
  CHECK(cuMemHostGetDevicePointer(&address, bytes.data(), 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemHostRegister(bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE));
  CHECK(test::Control().live("registered") == 1);
  CHECK(cuMemHostRegister(bytes.data(), bytes.size(), 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(cuMemHostRegister(bytes.data() + 100, 10, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  ok(cuMemHostGetDevicePointer(&address, bytes.data() + 16, 0));
  CHECK(address == test::address_of(bytes.data() + 16));
  ok(cuMemsetD8(address, 5, 16));
  ok(cuCtxSynchronize());
  CHECK(bytes[20] == 5);
  CHECK(cuMemHostUnregister(bytes.data() + 1) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ok(cuMemHostUnregister(bytes.data()));
  CHECK(cuMemHostUnregister(bytes.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CHECK(cuMemHostRegister(bytes.data(), 0, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("managed memory is one for host and device") {
  const Primary primary;
  CUdeviceptr address = 0;
  ok(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
  ok(cuMemsetD32(address, 3, 16));
  ok(cuCtxSynchronize());
  CHECK(peek(address + 60) == 3);
  bool managed = false;
  ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
  CHECK(managed);
  ok(cuMemFree(address));
}

TEST_CASE("an address tells what it belongs to") {
  const Primary primary;
  const CUdeviceptr device = test::allocate(1000);
  void* pinned = nullptr;
  ok(cuMemAllocHost(&pinned, 100));
  unsigned type = 0;
  ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 999));
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, test::address_of(pinned)));
  CHECK(type == CU_MEMORYTYPE_HOST);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  ok(cuMemGetAddressRange(&base, &size, device + 500));
  CHECK((base == device && size == 1000));
  CUcontext context = nullptr;
  int ordinal = -7;
  ok(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device));
  ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
  CHECK((context == static_cast<CUcontext>(primary) && ordinal == 0));
  // Of unknown memory, one attribute is an error, and several are documented defaults.
  int local = 0;
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, test::address_of(&local)) ==
        CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                      CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
  base = 7;
  void* data[] = {&type, &context, &base};
  ok(cuPointerGetAttributes(3, attributes, data, test::address_of(&local)));
  CHECK((type == 0 && context == nullptr && base == 0));
  CHECK(cuMemGetAddressRange(&base, &size, test::address_of(&local)) == CUDA_ERROR_NOT_FOUND);
  ok(cuMemFreeHost(pinned));
}

TEST_CASE("a device reaches the memory of another where access was enabled") {
  const Primary second(1);
  const CUdeviceptr there = test::allocate(64);
  const Primary first(0);
  const CUdeviceptr here = test::allocate(64);
  int can = 0;
  ok(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  ok(cuDeviceCanAccessPeer(&can, 0, 0));
  CHECK(can == 0);
  CHECK(cuMemsetD8(there, 1, 64) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxDisablePeerAccess(second) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(cuCtxEnablePeerAccess(first, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxEnablePeerAccess(second, 1) == CUDA_ERROR_INVALID_VALUE);
  ok(cuCtxEnablePeerAccess(second, 0));
  CHECK(cuCtxEnablePeerAccess(second, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  ok(cuMemsetD8(there, 1, 64));
  ok(cuCtxSynchronize());
  CHECK(peek(there) == 0x01010101U);
  ok(cuCtxDisablePeerAccess(second));
  CHECK(cuMemsetD8(there, 2, 64) == CUDA_ERROR_INVALID_VALUE);
  // Copies between devices need no access.
  ok(cuMemcpyPeer(here, first, there, second, 64));
  ok(cuCtxSynchronize());
  CHECK(peek(here) == 0x01010101U);
  ok(cuMemsetD8(here, 3, 64));
  ok(cuMemcpyPeerAsync(there, second, here, first, 64, nullptr));
  ok(cuCtxSynchronize());
  CHECK(peek(there) == 0x03030303U);
}

TEST_CASE("devices without peer access say so") {
  test::set_env("CUDA_DOUBLE_PEERS", "0");
  const Primary second(1);
  const Primary first(0);
  int can = 1;
  ok(cuDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 0);
  CHECK(cuCtxEnablePeerAccess(second, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

}  // namespace memory_test
