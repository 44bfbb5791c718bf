// SPDX-License-Identifier: Apache-2.0
//
// The words in which tests/cuda_and_hip speaks of CUDA.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <utility>

#define VENDOR_CALL(name) "cu" name
#define DOUBLE_VARIABLE(name) "CUDA_DOUBLE_" name  // which the double reads
#define VISIBLE_DEVICES "CUDA_VISIBLE_DEVICES"     // which the vendor's library reads

// What names of cases say.
#define LIBRARY "the driver"
#define LIBRARY_FIRST "The driver"  // in a sentence
#define UUID_TOOL "nvidia-smi"
#define BINARY "A binary"
#define STICKY_RESULT "result that CUDA calls sticky"
#define FIRST_USE_OF_A_PEER "its context is made"

namespace vendor_test {

using Result = CUresult;
using NativeStream = CUstream;
using NativeContext = CUcontext;
using MemoryLocation = CUmemLocation;
using Address = CUdeviceptr;
constexpr auto is_a_device = CU_MEM_LOCATION_TYPE_DEVICE;

constexpr const char* backend = "cuda";
constexpr const char* library_name = "libcuda.so.1";  ///< of the double

}  // namespace vendor_test

#include "cuda_and_hip/words.h"

namespace vendor_test {

constexpr const char* plugin_file = ANYPLACE_CUDA_PLUGIN;
constexpr const char* image_folder = ANYPLACE_CUDA_IMAGES;
constexpr const char* any_image = "kernels.ptx";    ///< of the suite's test kernels
constexpr const char* broken_image = "broken.ptx";  ///< doesn't load
constexpr const char* binary_images[] = {"kernels.sm_90.cubin", "kernels.fatbin"};
constexpr std::uint32_t image_format = ANYPLACE_IMAGE_PTX;  ///< of any_image
constexpr const char* uuid_of_nobody = "GPU-00000000-0000-0000-0000-000000000000";
constexpr const char* per_thread_stream = "CU_STREAM_PER_THREAD";
constexpr std::pair<const char*, const char*> without_virtual_memory{DOUBLE_VARIABLE("MISSING"), call::map};
constexpr std::pair<const char*, const char*> without_graphs{DOUBLE_VARIABLE("MISSING"), "cuGraphLaunch"};
constexpr std::uint64_t contexts_of_a_device = 1;  ///< that the double counts, once it is used
constexpr unsigned blocking_stream = CU_STREAM_DEFAULT;
constexpr unsigned non_blocking_stream = CU_STREAM_NON_BLOCKING;
constexpr unsigned long long readable = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
constexpr int sticky_results[] = {700, 702, 710, 714, 715, 716, 717, 718, 719};

namespace result {
constexpr Result success = CUDA_SUCCESS;
constexpr Result out_of_memory = CUDA_ERROR_OUT_OF_MEMORY;
constexpr Result illegal_address = CUDA_ERROR_ILLEGAL_ADDRESS;
constexpr Result launch_failed = CUDA_ERROR_LAUNCH_FAILED;
constexpr Result kernel_trapped = CUDA_ERROR_ILLEGAL_INSTRUCTION;
constexpr Result graph_update_failure = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
constexpr Result not_supported = CUDA_ERROR_NOT_SUPPORTED;
constexpr Result unknown = CUDA_ERROR_UNKNOWN;
constexpr Result peer_access_already_enabled = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
constexpr const char* name_of_unknown = "CUDA_ERROR_UNKNOWN";
constexpr const char* name_of_out_of_memory = "CUDA_ERROR_OUT_OF_MEMORY";
constexpr const char* name_of_illegal_address = "CUDA_ERROR_ILLEGAL_ADDRESS";
}  // namespace result

namespace call {
constexpr const char* first_of_a_device = retain_context;
constexpr const char* release_context = "cuDevicePrimaryCtxRelease_v2";
constexpr const char* create_event = "cuEventCreate";
constexpr const char* destroy_stream = "cuStreamDestroy_v2";
constexpr const char* allocate_from_pool = "cuMemAllocFromPoolAsync";
constexpr const char* allocate_pinned = "cuMemHostAlloc";
constexpr const char* allocate_managed = "cuMemAllocManaged";
constexpr const char* register_host = "cuMemHostRegister_v2";
constexpr const char* load_module = "cuModuleLoadDataEx";
constexpr const char* copy_to_device = "cuMemcpyHtoDAsync_v2";
constexpr const char* copy_to_host = "cuMemcpyDtoHAsync_v2";
constexpr const char* launch_kernel = "cuLaunchKernel";
constexpr const char* allocate = "cuMemAlloc_v2";
constexpr const char* of_graphs[] = {
    "cuGraphCreate",         "cuGraphAddEmptyNode", "cuGraphAddKernelNode",    "cuGraphAddMemcpyNode",
    "cuGraphAddMemsetNode",  "cuGraphAddHostNode",  "cuGraphAddEventWaitNode", "cuGraphAddEventRecordNode",
    "cuGraphInstantiate_v2", "cuGraphExecUpdate",   "cuGraphLaunch",           "cuGraphExecDestroy"};
constexpr const char* end_graph = "cuGraphDestroy";
}  // namespace call

/// Of a device's primary context, which is left current.
inline CUstream make_stream_of_another_library(const anyplace::Device& device) {
  auto* const context = reinterpret_cast<CUcontext>(device.native_context());
  REQUIRE(vendor<CUresult(CUcontext)>("cuCtxSetCurrent")(context) == CUDA_SUCCESS);
  CUstream made = nullptr;
  REQUIRE(vendor<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&made, 0) == CUDA_SUCCESS);
  return made;
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
