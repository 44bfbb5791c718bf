// SPDX-License-Identifier: Apache-2.0
//
// Memory of the double: its bounds and lives, which copies and fills are refused, and who has to be ordered before
// whom. A use of stream-ordered memory that isn't ordered behind the allocation, or before the free, may pass for years
// on a device.
#include "test_support.h"

namespace memory_test {

using test::each_gives;
using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

namespace {

CUdeviceptr allocate_async(std::size_t bytes, CUstream stream) {
  CUdeviceptr address = 0;
  ok(cuMemAllocAsync(&address, bytes, stream));
  return address;
}

CUdeviceptr byte_at(const void* memory) { return test::address_of(memory); }

}  // namespace

TEST_CASE("device and host have no more memory than the environment says") {
  test::set_env("CUDA_DOUBLE_MEMORY", "64M");
  test::set_env("CUDA_DOUBLE_HOST_MEMORY", "1M");
  const Primary primary;
  std::size_t free = 0;
  std::size_t total = 0;
  const CUdeviceptr most = test::allocate(48U << 20U);
  ok(cuMemGetInfo(&free, &total));
  CHECK((free == 16U << 20U && total == 64U << 20U));
  CUdeviceptr address = 7;
  void* pinned = nullptr;
  each_gives(CUDA_ERROR_OUT_OF_MEMORY,
             {cuMemAlloc(&address, 17U << 20U), cuMemAlloc(&address, SIZE_MAX),
              cuMemAllocAsync(&address, 17U << 20U, nullptr), cuMemHostAlloc(&pinned, (1U << 20U) + 1, 0)});
  CHECK(cuMemAlloc(&address, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK((address == 7 && pinned == nullptr));
  const Primary second(1);  // has its own
  ok(cuMemFree(test::allocate(64U << 20U)));
  ok(cuMemFree(most));
  ok(cuMemHostAlloc(&pinned, 1U << 20U, CU_MEMHOSTALLOC_PORTABLE));
  ok(cuMemFreeHost(pinned));
  CHECK(test::Control().live("memory") == 0);
}

TEST_CASE("a copy or fill that leaves its allocation or isn't aligned is refused, and an overlap is noted") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr memory = test::allocate(64);
  const CUdeviceptr other = test::allocate(64);
  char bytes[128] = {};
  CUDA_MEMCPY2D lines{};
  lines.srcMemoryType = CU_MEMORYTYPE_HOST;
  lines.srcHost = bytes;
  lines.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  lines.dstDevice = memory;
  lines.srcPitch = lines.dstPitch = 16;
  lines.WidthInBytes = 16;
  CUDA_MEMCPY2D wide = lines, high = lines, unknown = lines;
  wide.WidthInBytes = 17;  // more than the pitch
  wide.Height = high.Height = unknown.Height = 4;
  high.Height = 5;  // a line too many
  unknown.dstMemoryType = static_cast<CUmemorytype>(7);
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuMemcpyHtoD(memory, bytes, 65), cuMemcpyHtoD(memory + 60, bytes, 5), cuMemcpyHtoD(memory + 64, bytes, 1),
              cuMemcpyDtoH(bytes, memory - 1, 1), cuMemcpyDtoDAsync(other, memory + 1, 64, nullptr),
              cuMemsetD8(memory, 0, 65), cuMemsetD32Async(memory + 32, 0, 9, nullptr),
              cuMemcpyDtoD(memory, byte_at(bytes), 16), cuMemsetD8(byte_at(bytes), 0, 16),  // no device memory
              cuMemsetD16Async(memory + 1, 0, 1, nullptr), cuMemsetD32Async(memory + 2, 0, 1, nullptr),
              cuMemcpy2DAsync(&wide, nullptr), cuMemcpy2DAsync(&high, nullptr), cuMemcpy2DAsync(&unknown, nullptr)});
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);  // none of it stays
  ok(cuMemcpyDtoD(memory, memory + 32, 32));
  CHECK(control.misuses() == 0);
  ok(cuMemcpyDtoD(memory, memory + 16, 32));
  CHECK(control.misuses() == 1);
}

TEST_CASE("memory that is freed is told apart from memory that never was") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr memory = test::allocate(64);
  int local = 0;
  ok(cuMemFree(0));
  ok(cuMemFree(memory));
  CHECK(control.misuses() == 0);
  CHECK(cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 1);
  CHECK(cuMemsetD8(memory, 0, 64) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 2);
  CHECK_THAT(control.misuse_text(), Catch::Contains("a freed address was given to an operation"));
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuMemFree(test::allocate(64) + 8),  // not its beginning
                                        cuMemFree(byte_at(&local)), cuMemFreeHost(&local), cuMemFreeAsync(0, nullptr)});
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
  ok(cuMemHostAlloc(&memory, 4, 0));
  Gate gate;
  gate.block(stream);
  ok(cuMemcpyHtoDAsync(device, memory, 4, stream));
  ok(cuMemFreeHost(memory));
  gate.open();
  each_gives(CUDA_ERROR_ILLEGAL_ADDRESS,
             {cuStreamSynchronize(stream), cuStreamSynchronize(stream), cuCtxSynchronize()});
  CHECK(control.misuses() == 1);
}

TEST_CASE("memory is registered once, and known until it is unregistered") {
  const Primary primary;
  std::vector<char> bytes(10000);
  CUdeviceptr address = 7;
  CHECK(cuMemHostGetDevicePointer(&address, bytes.data(), 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemHostRegister(bytes.data(), bytes.size(), CU_MEMHOSTREGISTER_PORTABLE));
  each_gives(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
             {cuMemHostRegister(bytes.data(), bytes.size(), 0), cuMemHostRegister(bytes.data() + 100, 10, 0)});
  CHECK(cuMemHostUnregister(bytes.data() + 1) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ok(cuMemHostUnregister(bytes.data()));
  CHECK(cuMemHostUnregister(bytes.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CHECK(cuMemHostRegister(bytes.data(), 0, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a device reaches the memory of another where access was enabled") {
  const Primary second(1);
  const CUdeviceptr there = test::allocate(64);
  const Primary first(0);
  CHECK(cuMemsetD8(there, 1, 64) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxDisablePeerAccess(second) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(cuCtxEnablePeerAccess(first, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxEnablePeerAccess(second, 1) == CUDA_ERROR_INVALID_VALUE);
  ok(cuCtxEnablePeerAccess(second, 0));
  CHECK(cuCtxEnablePeerAccess(second, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  ok(cuMemsetD8(there, 1, 64));
  ok(cuCtxDisablePeerAccess(second));
  CHECK(cuMemsetD8(there, 2, 64) == CUDA_ERROR_INVALID_VALUE);
}

// -- Stream-ordered memory.

TEST_CASE("another stream must wait for the allocation") {
  const Primary primary;
  const test::Control control;
  const CUstream owner = test::create_stream();
  const CUstream other = test::create_stream();
  const CUevent allocated = test::create_event();
  const bool waits = GENERATE(true, false);
  Gate gate;
  gate.block(owner);
  const CUdeviceptr word = allocate_async(4, owner);
  ok(cuEventRecord(allocated, owner));
  if (waits) ok(cuStreamWaitEvent(other, allocated, 0));
  ok(cuMemsetD32Async(word, 8, 1, other));
  if (waits) gate.open();
  CHECK(cuStreamSynchronize(other) == (waits ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS));
  CHECK(control.misuses() == (waits ? 0 : 1));
  if (!waits) CHECK_THAT(control.misuse_text(), Catch::Contains("not yet allocated in the order of streams"));
  gate.open();
}

TEST_CASE("another stream must be done before the free") {
  const Primary primary;
  const CUstream owner = test::create_stream();
  const CUstream other = test::create_stream();
  const CUdeviceptr word = allocate_async(4, owner);
  ok(cuStreamSynchronize(owner));
  Gate gate;
  gate.block(other);
  ok(cuMemsetD32Async(word, 8, 1, other));
  ok(cuMemFreeAsync(word, owner));
  ok(cuStreamSynchronize(owner));
  gate.open();
  CHECK(cuStreamSynchronize(other) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(test::Control().misuses() == 1);
}

TEST_CASE("what is submitted after the free may not use the memory even before the free has run") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = allocate_async(4, stream);
  ok(cuStreamSynchronize(stream));
  Gate gate;
  gate.block(stream);
  ok(cuMemFreeAsync(word, stream));
  CHECK(cuMemFreeAsync(word, stream) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemsetD32Async(word, 8, 1, stream));
  gate.open();
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(test::Control().misuses() == 2);
}

TEST_CASE("a pool keeps what its threshold says when something is waited for, and ends once") {
  const Primary primary;
  const test::Control control;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr, standard = nullptr;
  ok(cuMemPoolCreate(&pool, &properties));
  cuuint64_t threshold = 1024;
  ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUdeviceptr memory = 0, more = 0;
  ok(cuMemAllocFromPoolAsync(&memory, 4096, pool, nullptr));
  ok(cuMemFreeAsync(memory, nullptr));
  ok(cuCtxSynchronize());
  std::size_t free = 0;
  std::size_t total = 0;
  ok(cuMemGetInfo(&free, &total));
  CHECK(free == total - 1024);
  CHECK(control.live("pool") == 1);
  ok(cuMemPoolDestroy(pool));
  CHECK(control.live("pool") == 0);
  ok(cuDeviceGetDefaultMemPool(&standard, 0));
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuMemAllocFromPoolAsync(&more, 64, pool, nullptr), cuMemAllocFromPoolAsync(&more, 64, nullptr, nullptr),
              cuMemPoolDestroy(pool), cuMemPoolDestroy(standard)});
}

TEST_CASE("another device needs access to a pool, which its own can't lose") {
  const Primary second(1);
  CUmemoryPool pool = nullptr;
  ok(cuDeviceGetDefaultMemPool(&pool, 1));
  const CUdeviceptr memory = allocate_async(64, nullptr);
  ok(cuCtxSynchronize());
  const Primary first(0);
  CHECK(cuMemsetD8(memory, 1, 64) == CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ok(cuMemPoolSetAccess(pool, &access, 1));
  ok(cuMemsetD8(memory, 1, 64));
  access.location.id = 1;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CHECK(cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_VALUE);
}

}  // namespace memory_test
