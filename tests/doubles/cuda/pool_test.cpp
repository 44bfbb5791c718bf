// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered memory and its pools. A use that isn't ordered behind the allocation, or before the free, is what
// these tests are about: on a device it may pass for years.
#include "test_support.h"

namespace pool_test {

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

CUmemoryPool create_pool(int device = 0) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemoryPool pool = nullptr;
  ok(cuMemPoolCreate(&pool, &properties));
  return pool;
}

std::uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t value = 0;
  ok(cuMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

}  // namespace

TEST_CASE("an allocation in a stream is usable by what its stream does next") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  Gate gate;
  gate.block(stream);
  const CUdeviceptr word = allocate_async(4, stream);
  ok(cuMemsetD32Async(word, 8, 1, stream));
  const CUdeviceptr copy = test::allocate(4);
  ok(cuMemcpyDtoDAsync(copy, word, 4, stream));
  ok(cuMemFreeAsync(word, stream));
  gate.open();
  ok(cuStreamSynchronize(stream));
  CHECK(peek(copy) == 8);
  CHECK(control.misuses() == 0);
  CHECK(control.live("memory") == 1);
}

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
  if (waits) {
    gate.open();
    CHECK(cuStreamSynchronize(other) == CUDA_SUCCESS);
    CHECK(control.misuses() == 0);
  } else {
    CHECK(cuStreamSynchronize(other) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(control.misuses() == 1);
    CHECK_THAT(control.misuse_text(), Catch::Contains("not yet allocated in the order of streams"));
  }
  gate.open();
}

TEST_CASE("another stream must be done before the free") {
  const Primary primary;
  const test::Control control;
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
  CHECK(control.misuses() == 1);
}

TEST_CASE("what is submitted after the free may not use the memory even before the free has run") {
  const Primary primary;
  const test::Control control;
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
  CHECK(control.misuses() == 2);
}

TEST_CASE("memory of either kind may be freed in the other way") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr plain = test::allocate(64);
  ok(cuMemFreeAsync(plain, stream));
  const CUdeviceptr ordered = allocate_async(64, stream);
  ok(cuStreamSynchronize(stream));
  ok(cuMemFree(ordered));
  CHECK(test::Control().live("memory") == 0);
  CHECK(test::Control().misuses() == 0);
  CHECK(cuMemFreeAsync(0, stream) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a pool keeps what its threshold says and gives back the rest when something is waited for") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  CUmemoryPool pool = nullptr;
  ok(cuDeviceGetDefaultMemPool(&pool, 0));
  cuuint64_t threshold = 1024;
  ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const CUdeviceptr memory = allocate_async(4096, stream);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 4096);
  ok(cuMemFreeAsync(memory, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 1024);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 4096);
  std::size_t free = 0;
  std::size_t total = 0;
  ok(cuMemGetInfo(&free, &total));
  CHECK(free == total - 1024);
  ok(cuMemPoolTrimTo(pool, 0));
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  cuuint64_t number = 5;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &number) == CUDA_ERROR_INVALID_VALUE);
  number = 0;
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &number) == CUDA_SUCCESS);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
}

TEST_CASE("a destroyed pool goes with its last allocation") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  const CUmemoryPool pool = create_pool();
  CHECK(control.live("pool") == 1);
  CUdeviceptr memory = 0;
  ok(cuMemAllocFromPoolAsync(&memory, 64, pool, stream));
  CHECK(cuMemAllocFromPoolAsync(&memory, 64, nullptr, stream) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemPoolDestroy(pool));
  CUdeviceptr more = 0;
  CHECK(cuMemAllocFromPoolAsync(&more, 64, pool, stream) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemsetD8Async(memory, 0, 64, stream));
  ok(cuMemFreeAsync(memory, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(control.live("pool") == 0);
  CHECK(cuMemPoolDestroy(pool) == CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool standard = nullptr;
  ok(cuDeviceGetDefaultMemPool(&standard, 0));
  CHECK(cuMemPoolDestroy(standard) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the device's pool is the one that was set last") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUmemoryPool pool = create_pool();
  const CUmemoryPool foreign = create_pool(1);
  ok(cuDeviceSetMemPool(0, pool));
  CHECK(cuDeviceSetMemPool(0, foreign) == CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool current = nullptr;
  ok(cuDeviceGetMemPool(&current, 0));
  CHECK(current == pool);
  const CUdeviceptr memory = allocate_async(64, stream);
  CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 64);
  CUmemoryPool of = nullptr;
  ok(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
  CHECK(of == pool);
  ok(cuMemFreeAsync(memory, stream));
  ok(cuMemPoolDestroy(pool));
  ok(cuDeviceGetMemPool(&current, 0));
  CHECK(current != pool);
  ok(cuStreamSynchronize(stream));
  ok(cuMemPoolDestroy(foreign));
}

TEST_CASE("another device needs access to a pool") {
  const Primary second(1);
  const CUstream there = test::create_stream();
  const Primary first(0);
  const CUstream here = test::create_stream();
  CUmemoryPool pool = nullptr;
  ok(cuDeviceGetDefaultMemPool(&pool, 1));
  const CUdeviceptr memory = allocate_async(64, there);
  ok(cuStreamSynchronize(there));
  CHECK(cuMemsetD8Async(memory, 1, 64, here) == CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = 0;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ok(cuMemPoolSetAccess(pool, &access, 1));
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  ok(cuMemPoolGetAccess(&flags, pool, &access.location));
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  ok(cuMemsetD8Async(memory, 1, 64, here));
  ok(cuStreamSynchronize(here));
  CHECK(peek(memory) == 0x01010101U);
  access.location.id = 1;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CHECK(cuMemPoolSetAccess(pool, &access, 1) == CUDA_ERROR_INVALID_VALUE);  // its own device's
  ok(cuMemFreeAsync(memory, there));
  ok(cuStreamSynchronize(there));
}

TEST_CASE("a device without pools says so") {
  test::set_env("CUDA_DOUBLE_POOLS", "0");
  const Primary primary;
  int supported = 1;
  ok(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
  CHECK(supported == 0);
  CUdeviceptr address = 7;
  CUmemoryPool pool = nullptr;
  CHECK(cuMemAllocAsync(&address, 64, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK((address == 7 && pool == nullptr));
}

}  // namespace pool_test
