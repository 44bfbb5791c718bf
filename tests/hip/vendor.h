// SPDX-License-Identifier: Apache-2.0
//
// The words in which tests/cuda_and_hip speaks of HIP.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <utility>

#include "anyplace/anyplace.h"
#include "cuda_and_hip/library.h"

/// A variable that the double reads.
#define DOUBLE_VARIABLE(name) "HIP_DOUBLE_" name
#define CALL_MAP "hipMemMap"

namespace vendor_test {

using Result = hipError_t;
using NativeStream = hipStream_t;

constexpr const char* backend = "hip";
constexpr const char* library_name = "libamdhip64.so.6";  ///< of the double
constexpr const char* plugin_file = ANYPLACE_HIP_PLUGIN;
constexpr const char* image_folder = ANYPLACE_HIP_IMAGES;
constexpr const char* any_image = "kernels.hsaco";  ///< of the suite's test kernels
constexpr const char* per_thread_stream = "hipStreamPerThread";
constexpr std::pair<const char*, const char*> without_virtual_memory{DOUBLE_VARIABLE("VIRTUAL_MEMORY"), "0"};
constexpr std::uint64_t contexts_of_a_device = 0;  ///< that the double counts, once it is used
constexpr unsigned blocking_stream = hipStreamDefault;
constexpr unsigned non_blocking_stream = hipStreamNonBlocking;
constexpr unsigned long long readable = hipMemAccessFlagsProtReadWrite;

namespace result {
constexpr Result success = hipSuccess;
constexpr Result out_of_memory = hipErrorOutOfMemory;
constexpr Result illegal_address = hipErrorIllegalAddress;
constexpr Result launch_failed = hipErrorLaunchFailure;
constexpr Result unknown = hipErrorUnknown;
constexpr Result peer_access_already_enabled = hipErrorPeerAccessAlreadyEnabled;
constexpr const char* name_of_unknown = "hipErrorUnknown";
constexpr const char* name_of_out_of_memory = "hipErrorOutOfMemory";
}  // namespace result

namespace call {
constexpr const char* first_of_a_device = "hipStreamCreateWithPriority";
constexpr const char* map = CALL_MAP;
constexpr const char* launch_host_function = "hipLaunchHostFunc";
constexpr const char* reserve = "hipMemAddressReserve";
constexpr const char* set_access = "hipMemSetAccess";
constexpr const char* unmap = "hipMemUnmap";
constexpr const char* create_stream = "hipStreamCreateWithPriority";
constexpr const char* create_event = "hipEventCreateWithFlags";
constexpr const char* create_pool = "hipMemPoolCreate";
constexpr const char* allocate_from_pool = "hipMallocFromPoolAsync";
constexpr const char* allocate_pinned = "hipHostMalloc";
constexpr const char* allocate_managed = "hipMallocManaged";
constexpr const char* register_host = "hipHostRegister";
constexpr const char* load_module = "hipModuleLoadData";
constexpr const char* copy_to_device = "hipMemcpyHtoDAsync";
constexpr const char* copy_to_host = "hipMemcpyDtoHAsync";
constexpr const char* fill_32 = "hipMemsetD32Async";
constexpr const char* launch_kernel = "hipModuleLaunchKernel";
constexpr const char* allocate = "hipMalloc";
constexpr const char* set_pool_access = "hipMemPoolSetAccess";
}  // namespace call

/// An exported function of the double, which must be loaded.
template <class Function>
Function* vendor(const char* symbol) {
  return function_of<Function>(library_name, symbol);
}

inline int current_device() {
  int current = -1;
  REQUIRE(vendor<hipError_t(int*)>("hipGetDevice")(&current) == hipSuccess);
  return current;
}
inline void set_current_device(int device) { REQUIRE(vendor<hipError_t(int)>("hipSetDevice")(device) == hipSuccess); }

inline unsigned flags_of(hipStream_t stream) {
  unsigned flags = 0;
  REQUIRE(vendor<hipError_t(hipStream_t, unsigned*)>("hipStreamGetFlags")(stream, &flags) == hipSuccess);
  return flags;
}
inline int priority_of(hipStream_t stream) {
  int priority = 0;
  REQUIRE(vendor<hipError_t(hipStream_t, int*)>("hipStreamGetPriority")(stream, &priority) == hipSuccess);
  return priority;
}

/// The access that a device has to mapped memory.
inline unsigned long long access_of(int device, std::uint64_t address) {
  hipMemLocation location{};
  location.type = hipMemLocationTypeDevice;
  location.id = device;
  unsigned long long flags = 0;
  const auto get = vendor<hipError_t(unsigned long long*, const hipMemLocation*, void*)>("hipMemGetAccess");
  REQUIRE(get(&flags, &location, reinterpret_cast<void*>(address)) == hipSuccess);
  return flags;
}

/// What HIP says to a library that enables access of device `from` to the memory of `to`.
inline hipError_t enable_as_another_library(const anyplace::Device& from, const anyplace::Device& to) {
  set_current_device(from.index());
  const hipError_t result = vendor<hipError_t(int, unsigned)>("hipDeviceEnablePeerAccess")(to.index(), 0);
  set_current_device(0);
  return result;
}

}  // namespace vendor_test
