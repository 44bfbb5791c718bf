// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory apart: what is refused, and who may touch it.
#include "test_support.h"

namespace virtual_memory_test {

using test::each_gives;
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

}  // namespace

TEST_CASE("a device may touch what is mapped once access is set for it, and then no longer") {
  const Primary first(0);
  const CUdeviceptr range = reserve(1);
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);  // addresses alone
  const auto handle = create(1, 1);
  ok(cuMemMap(range, piece, 0, handle, 0));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  ok(set_access(range, 1, 1));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  {
    const Primary second(1);
    ok(cuMemsetD8(range, 1, 16));
  }
  ok(set_access(range, 1, 0));
  ok(cuMemsetD8(range, 2, 4));
  ok(cuCtxSynchronize());
  ok(set_access(range, 1, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);
  ok(set_access(range, 1, 0));
  ok(cuMemUnmap(range, piece));
  CHECK(set_access(range, 1, 0) == CUDA_ERROR_INVALID_VALUE);
  ok(cuMemMap(range, piece, 0, handle, 0));
  CHECK(cuMemsetD8(range, 0, 16) == CUDA_ERROR_INVALID_VALUE);  // a new mapping starts without
}

TEST_CASE("memory that is mapped counts until it is unmapped, and its handle is given back once") {
  test::set_env("CUDA_DOUBLE_MEMORY", "8M");
  const Primary primary;
  const CUdeviceptr range = reserve(4);
  const auto handle = create(4);
  ok(cuMemMap(range, 4 * piece, 0, handle, 0));
  ok(cuMemRelease(handle));
  CUdeviceptr more = 0;
  CHECK(cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemMap(reserve(4), 4 * piece, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(test::Control().misuses() == 1);
  ok(cuMemUnmap(range, 4 * piece));
  ok(cuMemAlloc(&more, 1));
}

TEST_CASE("virtual memory refuses what is no whole number of pieces or not there") {
  const Primary primary;
  const CUmemAllocationProp good = properties_of(0);
  std::size_t granularity = 0;
  ok(cuMemGetAllocationGranularity(&granularity, &good, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  REQUIRE(granularity == piece);
  const CUmemAllocationProp elsewhere = properties_of(2);
  CUmemAllocationProp untyped = good, shared = good;
  untyped.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  shared.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  CUmemGenericAllocationHandle handle = 7;
  CUdeviceptr address = 7;
  CHECK(cuMemCreate(&handle, piece, &elsewhere, 0) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuMemCreate(&handle, piece, &shared, 0) == CUDA_ERROR_NOT_SUPPORTED);
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {cuMemCreate(&handle, piece, &untyped, 0), cuMemCreate(&handle, piece + 4096, &good, 0),
              cuMemCreate(&handle, 0, &good, 0), cuMemCreate(nullptr, piece, &good, 0),
              cuMemAddressReserve(&address, piece + 1, 0, 0, 0), cuMemAddressReserve(&address, piece, 3, 0, 0),
              cuMemAddressReserve(&address, piece, 0, 0, 1)});
  CHECK(cuMemAddressReserve(&address, std::size_t{1} << 55U, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK((handle == 7 && address == 7));
}

TEST_CASE("mappings lie within a reservation and do not overlap") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr range = reserve(4);
  const auto handle = create(2);
  const auto map = [handle](CUdeviceptr at, std::size_t bytes, std::size_t offset = 0) {
    return cuMemMap(at, bytes, offset, handle, 0);
  };
  each_gives(CUDA_ERROR_INVALID_VALUE,
             {map(range + 3 * piece, 2 * piece), map(range + 4 * piece, piece), map(range + 4096, piece),
              map(range, 4096), map(range, 3 * piece), map(range, piece, piece),
              cuMemMap(range, piece, 0, handle + 1, 0), map(test::allocate(piece), piece)});
  CHECK(control.live("mapping") == 0);
  ok(map(range + piece, 2 * piece));
  each_gives(CUDA_ERROR_INVALID_VALUE, {map(range, 2 * piece), map(range + 2 * piece, piece)});
  CHECK(control.misuses() == 0);
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuMemUnmap(range + piece, piece), cuMemUnmap(range, 3 * piece),
                                        cuMemAddressFree(range, 4 * piece)});  // a part, a hole, and what is mapped
  CHECK(control.misuses() == 3);
  ok(cuMemUnmap(range + piece, 2 * piece));
  each_gives(CUDA_ERROR_INVALID_VALUE, {cuMemUnmap(range + piece, 2 * piece), cuMemAddressFree(range, 2 * piece)});
  ok(cuMemAddressFree(range, 4 * piece));
  CHECK(cuMemAddressFree(range, 4 * piece) == CUDA_ERROR_INVALID_VALUE);
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

}  // namespace virtual_memory_test
