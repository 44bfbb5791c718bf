// SPDX-License-Identifier: Apache-2.0
//
// The words in which tests/cuda_and_hip speaks of HIP.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <utility>

#define VENDOR_CALL(name) "hip" name
#define DOUBLE_VARIABLE(name) "HIP_DOUBLE_" name  // which the double reads
#define VISIBLE_DEVICES "HIP_VISIBLE_DEVICES"     // which the vendor's library reads

// What names of cases say.
#define LIBRARY "HIP"
#define LIBRARY_FIRST "HIP"  // in a sentence
#define UUID_TOOL "rocminfo"
#define BINARY "An image"
#define STICKY_RESULT "result that says that a kernel or the hardware failed"
#define FIRST_USE_OF_A_PEER "it is first used"

namespace vendor_test {

using Result = hipError_t;
using NativeStream = hipStream_t;
using NativeContext = hipCtx_t;
using MemoryLocation = hipMemLocation;
using Address = void*;
constexpr auto is_a_device = hipMemLocationTypeDevice;

constexpr const char* backend = "hip";
constexpr const char* library_name = "libamdhip64.so.6";  ///< of the double

}  // namespace vendor_test

#include "cuda_and_hip/words.h"

namespace vendor_test {

constexpr const char* plugin_file = ANYPLACE_HIP_PLUGIN;
constexpr const char* image_folder = ANYPLACE_HIP_IMAGES;
constexpr const char* any_image = "kernels.hsaco";             ///< of the suite's test kernels
constexpr const char* broken_image = "kernels.gfx1100.hsaco";  ///< doesn't load
constexpr const char* binary_images[] = {"kernels.gfx90a.hsaco", "kernels.hsaco"};
constexpr std::uint32_t image_format = ANYPLACE_IMAGE_HSACO;  ///< of any_image
constexpr const char* uuid_of_nobody = "GPU-0000000000000000";
constexpr const char* per_thread_stream = "hipStreamPerThread";
constexpr std::pair<const char*, const char*> without_virtual_memory{DOUBLE_VARIABLE("VIRTUAL_MEMORY"), "0"};
constexpr std::pair<const char*, const char*> without_graphs{DOUBLE_VARIABLE("FAIL"), "hipGraphCreate:1:801:always"};
constexpr std::uint64_t contexts_of_a_device = 0;  ///< that the double counts, once it is used
constexpr unsigned blocking_stream = hipStreamDefault;
constexpr unsigned non_blocking_stream = hipStreamNonBlocking;
constexpr unsigned long long readable = hipMemAccessFlagsProtReadWrite;
constexpr int sticky_results[] = {214, 700, 702, 710, 719};

namespace result {
constexpr Result success = hipSuccess;
constexpr Result out_of_memory = hipErrorOutOfMemory;
constexpr Result illegal_address = hipErrorIllegalAddress;
constexpr Result launch_failed = hipErrorLaunchFailure;
constexpr Result kernel_trapped = hipErrorAssert;
constexpr int graph_update_failure = 910;
constexpr Result not_supported = hipErrorNotSupported;
constexpr Result unknown = hipErrorUnknown;
constexpr Result peer_access_already_enabled = hipErrorPeerAccessAlreadyEnabled;
constexpr const char* name_of_unknown = "hipErrorUnknown";
constexpr const char* name_of_out_of_memory = "hipErrorOutOfMemory";
constexpr const char* name_of_illegal_address = "hipErrorIllegalAddress";
}  // namespace result

namespace call {
constexpr const char* first_of_a_device = create_stream;
constexpr const char* release_context = "hipDevicePrimaryCtxRelease";
constexpr const char* create_event = "hipEventCreateWithFlags";
constexpr const char* destroy_stream = "hipStreamDestroy";
constexpr const char* allocate_from_pool = "hipMallocFromPoolAsync";
constexpr const char* allocate_pinned = "hipHostMalloc";
constexpr const char* allocate_managed = "hipMallocManaged";
constexpr const char* register_host = "hipHostRegister";
constexpr const char* load_module = "hipModuleLoadData";
constexpr const char* copy_to_device = "hipMemcpyHtoDAsync";
constexpr const char* copy_to_host = "hipMemcpyDtoHAsync";
constexpr const char* launch_kernel = "hipModuleLaunchKernel";
constexpr const char* allocate = "hipMalloc";
constexpr const char* of_graphs[] = {"hipGraphCreate",        "hipGraphAddEmptyNode",     "hipGraphAddKernelNode",
                                     "hipGraphAddMemcpyNode", "hipGraphAddMemcpyNode1D",  "hipGraphAddMemsetNode",
                                     "hipGraphAddHostNode",   "hipGraphAddEventWaitNode", "hipGraphAddEventRecordNode",
                                     "hipGraphInstantiate",   "hipGraphExecUpdate",       "hipGraphLaunch",
                                     "hipGraphExecDestroy"};
constexpr const char* end_graph = "hipGraphDestroy";
}  // namespace call

inline int current_device() {
  int current = -1;
  REQUIRE(vendor<hipError_t(int*)>("hipGetDevice")(&current) == hipSuccess);
  return current;
}
inline void set_current_device(int device) { REQUIRE(vendor<hipError_t(int)>("hipSetDevice")(device) == hipSuccess); }

/// Of device 0.
inline hipStream_t make_stream_of_another_library(const anyplace::Device&) {
  hipStream_t made = nullptr;
  REQUIRE(vendor<hipError_t(hipStream_t*, unsigned)>("hipStreamCreateWithFlags")(&made, 0) == hipSuccess);
  return made;
}

/// What HIP says to a library that enables access of device `from` to the memory of `to`.
inline hipError_t enable_as_another_library(const anyplace::Device& from, const anyplace::Device& to) {
  set_current_device(from.index());
  const hipError_t result = vendor<hipError_t(int, unsigned)>("hipDeviceEnablePeerAccess")(to.index(), 0);
  set_current_device(0);
  return result;
}

}  // namespace vendor_test
