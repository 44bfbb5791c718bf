// SPDX-License-Identifier: Apache-2.0
//
// The words in which tests/cuda_and_hip speaks of CUDA.
#pragma once

#include <cuda.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <utility>

#include "anyplace/anyplace.h"
#include "cuda_and_hip/library.h"

/// A variable that the double reads.
#define DOUBLE_VARIABLE(name) "CUDA_DOUBLE_" name
#define CALL_MAP "cuMemMap"

namespace vendor_test {

using Result = CUresult;
using NativeStream = CUstream;

constexpr const char* backend = "cuda";
constexpr const char* library_name = "libcuda.so.1";  ///< of the double
constexpr const char* plugin_file = ANYPLACE_CUDA_PLUGIN;
constexpr const char* image_folder = ANYPLACE_CUDA_IMAGES;
constexpr const char* any_image = "kernels.ptx";  ///< of the suite's test kernels
constexpr const char* per_thread_stream = "CU_STREAM_PER_THREAD";
constexpr std::pair<const char*, const char*> without_virtual_memory{DOUBLE_VARIABLE("MISSING"), CALL_MAP};
constexpr std::uint64_t contexts_of_a_device = 1;  ///< that the double counts, once it is used
constexpr unsigned blocking_stream = CU_STREAM_DEFAULT;
constexpr unsigned non_blocking_stream = CU_STREAM_NON_BLOCKING;
constexpr unsigned long long readable = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

namespace result {
constexpr Result success = CUDA_SUCCESS;
constexpr Result out_of_memory = CUDA_ERROR_OUT_OF_MEMORY;
constexpr Result illegal_address = CUDA_ERROR_ILLEGAL_ADDRESS;
constexpr Result launch_failed = CUDA_ERROR_LAUNCH_FAILED;
constexpr Result unknown = CUDA_ERROR_UNKNOWN;
constexpr Result peer_access_already_enabled = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
constexpr const char* name_of_unknown = "CUDA_ERROR_UNKNOWN";
constexpr const char* name_of_out_of_memory = "CUDA_ERROR_OUT_OF_MEMORY";
}  // namespace result

namespace call {
constexpr const char* first_of_a_device = "cuDevicePrimaryCtxRetain";
constexpr const char* map = CALL_MAP;
constexpr const char* launch_host_function = "cuLaunchHostFunc";
constexpr const char* reserve = "cuMemAddressReserve";
constexpr const char* set_access = "cuMemSetAccess";
constexpr const char* unmap = "cuMemUnmap";
constexpr const char* create_stream = "cuStreamCreateWithPriority";
constexpr const char* create_event = "cuEventCreate";
constexpr const char* create_pool = "cuMemPoolCreate";
constexpr const char* allocate_from_pool = "cuMemAllocFromPoolAsync";
constexpr const char* allocate_pinned = "cuMemHostAlloc";
constexpr const char* allocate_managed = "cuMemAllocManaged";
constexpr const char* register_host = "cuMemHostRegister_v2";
constexpr const char* load_module = "cuModuleLoadDataEx";
constexpr const char* copy_to_device = "cuMemcpyHtoDAsync_v2";
constexpr const char* copy_to_host = "cuMemcpyDtoHAsync_v2";
constexpr const char* fill_32 = "cuMemsetD32Async";
constexpr const char* launch_kernel = "cuLaunchKernel";
constexpr const char* allocate = "cuMemAlloc_v2";
constexpr const char* set_pool_access = "cuMemPoolSetAccess";
}  // namespace call

/// An exported function of the double, which must be loaded.
template <class Function>
Function* vendor(const char* symbol) {
  return function_of<Function>(library_name, symbol);
}

inline unsigned flags_of(CUstream stream) {
  unsigned flags = 0;
  REQUIRE(vendor<CUresult(CUstream, unsigned*)>("cuStreamGetFlags")(stream, &flags) == CUDA_SUCCESS);
  return flags;
}
inline int priority_of(CUstream stream) {
  int priority = 0;
  REQUIRE(vendor<CUresult(CUstream, int*)>("cuStreamGetPriority")(stream, &priority) == CUDA_SUCCESS);
  return priority;
}

/// The access that a device has to mapped memory.
inline unsigned long long access_of(int device, std::uint64_t address) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  unsigned long long flags = 0;
  const auto get = vendor<CUresult(unsigned long long*, const CUmemLocation*, CUdeviceptr)>("cuMemGetAccess");
  REQUIRE(get(&flags, &location, address) == CUDA_SUCCESS);
  return flags;
}

/// What CUDA says to a library that enables access of device 0's primary context to device 1's memory.
inline CUresult enable_as_another_library(const anyplace::Device& from, const anyplace::Device& to) {
  auto* const context = reinterpret_cast<CUcontext>(from.native_context());
  CUcontext popped = nullptr;
  REQUIRE(vendor<CUresult(CUcontext)>("cuCtxPushCurrent_v2")(context) == CUDA_SUCCESS);
  const CUresult result = vendor<CUresult(CUcontext, unsigned)>("cuCtxEnablePeerAccess")(
      reinterpret_cast<CUcontext>(to.native_context()), 0);
  REQUIRE(vendor<CUresult(CUcontext*)>("cuCtxPopCurrent_v2")(&popped) == CUDA_SUCCESS);
  return result;
}

}  // namespace vendor_test
