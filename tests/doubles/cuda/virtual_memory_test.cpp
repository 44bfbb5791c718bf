// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory apart: what aliases, what is refused, who may touch it and when it is gone.
#include "test_support.h"

namespace virtual_memory_test {

using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

namespace {

constexpr std::size_t piece = std::size_t{2} << 20U;  // the granularity; a case checks that

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr reserve(std::size_t pieces) {
  CUdeviceptr address = 0;
  ok(cuMemAddressReserve(&address, pieces * piece, 0, 0, 0));
  return address;
}

CUmemGenericAllocationHandle create(std::size_t pieces, int device = 0) {
  const CUmemAllocationProp properties = properties_of(device);
  CUmemGenericAllocationHandle handle = 0;
  ok(cuMemCreate(&handle, pieces * piece, &properties, 0));
  return handle;
}

CUresult set_access(CUdeviceptr address, std::size_t pieces, int device,
                    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = flags;
  return cuMemSetAccess(address, pieces * piece, &access, 1);
}

unsigned long long access_of(CUdeviceptr address, int device) {
  const CUmemLocation location = properties_of(device).location;
  unsigned long long flags = 99;
  ok(cuMemGetAccess(&flags, &location, address));
  return flags;
}

}  // namespace

TEST_CASE("memory that is mapped twice is one memory") {
  const Primary primary;
  const CUdeviceptr range = reserve(3);
  CHECK(range % piece == 0);
  const auto handle = create(1);
  ok(cuMemMap(range, piece, 0, handle, 0));
  ok(cuMemMap(range + 2 * piece, piece, 0, handle, 0));
  ok(set_access(range, 1, 0));
  ok(set_access(range + 2 * piece, 1, 0));
  ok(cuMemsetD32(range + 64, 77, 1));
  ok(cuCtxSynchronize());
  CHECK(peek(range + 2 * piece + 64) == 77);
  ok(cuMemUnmap(range, piece));
  CHECK(peek(range + 2 * piece + 64) == 77);
  CHECK(cuMemsetD32(range + 64, 1, 1) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemUnmap(range + 2 * piece, piece));
  ok(cuMemRelease(handle));
  ok(cuMemAddressFree(range, 3 * piece));
  CHECK(test::Control().live("reservation") == 0);
  CHECK(test::Control().live("physical") == 0);
  CHECK(test::Control().live("mapping") == 0);
}

TEST_CASE("what is mapped may be touched once access is set") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr range = reserve(1);
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);  // addresses alone
  const auto handle = create(1);
  ok(cuMemMap(range, piece, 0, handle, 0));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  CHECK(access_of(range, 0) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  ok(set_access(range, 1, 0));
  CHECK(access_of(range + 5, 0) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(access_of(range, 1) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
  ok(cuMemsetD32(range, 0, 4));
  ok(test::launch(nullptr, kernels["count"], range, 3U));
  ok(cuCtxSynchronize());
  CHECK(peek(range) == 3);
  ok(set_access(range, 1, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemUnmap(range, piece));
  CHECK(set_access(range, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemMap(range, piece, 0, handle, 0));
  CHECK(access_of(range, 0) == CU_MEM_ACCESS_FLAGS_PROT_NONE);  // a new mapping starts without
  ok(cuMemUnmap(range, piece));
  ok(cuMemRelease(handle));
  ok(cuMemAddressFree(range, piece));
}

TEST_CASE("access is of each device") {
  const Primary first(0);
  const CUdeviceptr range = reserve(1);
  const auto handle = create(1, 1);
  ok(cuMemMap(range, piece, 0, handle, 0));
  ok(set_access(range, 1, 1));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  {
    const Primary second(1);
    ok(cuMemsetD8(range, 1, 16));
    ok(cuCtxSynchronize());
  }
  ok(set_access(range, 1, 0));
  ok(cuMemsetD8(range + 4, 2, 4));
  ok(cuCtxSynchronize());
  CHECK((peek(range) == 0x01010101U && peek(range + 4) == 0x02020202U));
  ok(cuMemUnmap(range, piece));
  ok(cuMemRelease(handle));
  ok(cuMemAddressFree(range, piece));
}

TEST_CASE("memory goes with its last handle or its last mapping whichever comes last") {
  test::set_env("CUDA_DOUBLE_MEMORY", "8M");
  const Primary primary;
  const test::Control control;
  const CUdeviceptr range = reserve(4);
  const auto handle = create(4);
  CUdeviceptr more = 0;
  CHECK(cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CUmemGenericAllocationHandle none = 7;
  const CUmemAllocationProp properties = properties_of(0);
  CHECK(cuMemCreate(&none, piece, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(none == 7);
  ok(cuMemMap(range, 4 * piece, 0, handle, 0));
  ok(set_access(range, 4, 0));
  ok(cuMemRelease(handle));
  CHECK(control.misuses() == 0);
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(reserve(4), 4 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 1);
  ok(cuMemsetD32(range + 3 * piece, 5, 1));
  ok(cuCtxSynchronize());
  CHECK(peek(range + 3 * piece) == 5);
  CHECK(cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK((control.live("physical") == 0 && control.live("mapping") == 1));  // a handle no more
  ok(cuMemUnmap(range, 4 * piece));
  CHECK(control.live("mapping") == 0);
  ok(cuMemAlloc(&more, 1));
  ok(cuMemFree(more));
}

TEST_CASE("a mapped address gives its handle back") {
  const Primary primary;
  const CUdeviceptr range = reserve(2);
  const auto handle = create(2);
  ok(cuMemMap(range, 2 * piece, 0, handle, 0));
  ok(cuMemRelease(handle));
  CUmemGenericAllocationHandle again = 0;
  ok(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + piece + 5)));  // NOLINT
  CHECK(again == handle);
  CUmemAllocationProp properties{};
  ok(cuMemGetAllocationPropertiesFromHandle(&properties, again));
  CHECK((properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == 0));
  ok(cuMemUnmap(range, 2 * piece));
  CHECK(test::Control().live("physical") == 1);
  ok(cuMemRelease(again));
  CHECK(test::Control().live("physical") == 0);
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range)) == CUDA_ERROR_INVALID_VALUE);  // NOLINT
  CHECK(cuMemGetAllocationPropertiesFromHandle(&properties, handle) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("virtual memory refuses what is no whole number of pieces or not there") {
  const Primary primary;
  const CUmemAllocationProp properties = properties_of(0);
  std::size_t granularity = 0;
  ok(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  REQUIRE(granularity == piece);
  ok(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  CHECK(granularity % piece == 0);
  CUmemAllocationProp wrong = properties;
  wrong.location.id = 2;
  CUmemGenericAllocationHandle handle = 7;
  CHECK(cuMemCreate(&handle, piece, &wrong, 0) == CUDA_ERROR_INVALID_DEVICE);
  wrong = properties;
  wrong.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  CHECK(cuMemCreate(&handle, piece, &wrong, 0) == CUDA_ERROR_INVALID_VALUE);
  wrong = properties;
  wrong.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  CHECK(cuMemCreate(&handle, piece, &wrong, 0) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuMemCreate(&handle, piece + 4096, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(&handle, 0, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemCreate(nullptr, piece, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(handle == 7);
  CUdeviceptr address = 7;
  CHECK(cuMemAddressReserve(&address, piece + 1, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&address, piece, 3, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&address, piece, 0, 0, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressReserve(&address, std::size_t{1} << 55U, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(address == 7);
  ok(cuMemAddressReserve(&address, piece, 8 * piece, 0, 0));
  CHECK(address % (8 * piece) == 0);
  ok(cuMemAddressFree(address, piece));
}

TEST_CASE("mappings lie within a reservation and do not overlap") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr range = reserve(4);
  const auto handle = create(2);
  CHECK(cuMemMap(range + 3 * piece, 2 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);  // ends outside
  CHECK(cuMemMap(range + 4 * piece, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range + 4096, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range, 4096, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range, 3 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);  // more than there is
  CHECK(cuMemMap(range, piece, piece, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range, piece, 0, handle + 1, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(test::allocate(piece), piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.live("mapping") == 0);
  ok(cuMemMap(range + piece, 2 * piece, 0, handle, 0));
  CHECK(cuMemMap(range, 2 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(range + 2 * piece, piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 0);
  CHECK(cuMemUnmap(range + piece, piece) == CUDA_ERROR_INVALID_VALUE);  // a part
  CHECK(cuMemUnmap(range, 3 * piece) == CUDA_ERROR_INVALID_VALUE);      // with a hole
  CHECK(cuMemAddressFree(range, 4 * piece) == CUDA_ERROR_INVALID_VALUE);
  CHECK(control.misuses() == 3);
  ok(cuMemUnmap(range + piece, 2 * piece));
  CHECK(cuMemUnmap(range + piece, 2 * piece) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemAddressFree(range, 2 * piece) == CUDA_ERROR_INVALID_VALUE);  // not as it was reserved
  ok(cuMemAddressFree(range, 4 * piece));
  CHECK(cuMemAddressFree(range, 4 * piece) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemRelease(handle));
}

TEST_CASE("mappings that adjoin are copied over as one and each must be there when it runs") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  const CUdeviceptr range = reserve(2);
  const CUmemGenericAllocationHandle handles[] = {create(1), create(1)};
  ok(cuMemMap(range, piece, 0, handles[0], 0));
  ok(cuMemMap(range + piece, piece, 0, handles[1], 0));
  ok(set_access(range, 1, 0));
  CHECK(cuMemsetD8(range, 4, 2 * piece) == CUDA_ERROR_INVALID_VALUE);  // the second has no access
  ok(set_access(range, 2, 0));
  ok(cuMemsetD8(range, 4, 2 * piece));
  ok(cuCtxSynchronize());
  CHECK(peek(range + piece - 4) == 0x04040404U);
  CHECK(peek(range + 2 * piece - 4) == 0x04040404U);
  CHECK(cuMemsetD8(range, 4, 2 * piece + 1) == CUDA_ERROR_INVALID_VALUE);
  Gate gate;
  gate.block(stream);
  ok(cuMemsetD8Async(range, 5, 2 * piece, stream));
  ok(cuMemUnmap(range + piece, piece));
  gate.open();
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(control.misuses() == 1);
  CHECK(peek(range) == 0x04040404U);
}

TEST_CASE("virtual memory needs no current context") {
  ok(cuInit(0));
  const CUdeviceptr range = reserve(1);
  const auto handle = create(1);
  ok(cuMemMap(range, piece, 0, handle, 0));
  ok(set_access(range, 1, 0));
  ok(cuMemUnmap(range, piece));
  ok(cuMemRelease(handle));
  ok(cuMemAddressFree(range, piece));
}

}  // namespace virtual_memory_test
