// SPDX-License-Identifier: Apache-2.0
//
// The HIP runtime API, opened at run time: driver().EventRecord(event, stream) is hipEventRecord(event, stream).
// Nothing here knows what anyplace does with it. A machine without ROCm therefore gets a reason instead of a link
// error.
//
// One backend serves the majors 5, 6 and 7. It uses the types of hip_runtime_api.h that are the same in all of them;
// numbers that a header may lack, and layouts that changed between the majors, are spelled out here. It avoids these,
// because they changed: hipMemoryType (renumbered in 6), hipDeviceProp_t except one field, hipPointerAttribute_t, and
// the pitched copies that take a struct.
//
// HIP keeps a thread's last error, which the application reads with hipGetLastError and which must not be one of this
// backend's calls. So every call through this table that fails takes its own error back (Call). HIP 5 and 6 also
// overwrite the last error when a call succeeds, which can't be avoided.
//
// Invariant: once load_driver() has returned, every required entry is set, and nothing here changes any more.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace anyplace::hip {

/// X(need, Member, parameters): the library exports the entry as hip<Member>. An OPTIONAL entry that is missing is
/// null, and its capability is absent, unless another entry provides it as well.
#define ANYPLACE_HIP_ENTRIES(X)                                                                                        \
  X(REQUIRED, Init, (unsigned))                                                                                        \
  X(REQUIRED, GetDeviceCount, (int*))                                                                                  \
  X(REQUIRED, SetDevice, (int))                                                                                        \
  X(REQUIRED, GetDevice, (int*))                                                                                       \
  X(REQUIRED, DeviceGetName, (char*, int, hipDevice_t))                                                                \
  X(REQUIRED, DeviceGetAttribute, (int*, hipDeviceAttribute_t, int))                                                   \
  X(REQUIRED, DeviceTotalMem, (std::size_t*, hipDevice_t))                                                             \
  X(REQUIRED, DeviceGetPCIBusId, (char*, int, int))                                                                    \
  X(OPTIONAL, DeviceGetUuid, (hipUUID*, hipDevice_t))                                                                  \
  X(OPTIONAL, GetDevicePropertiesR0600, (void*, int))                                                                  \
  X(OPTIONAL, GetDeviceProperties, (void*, int))                                                                       \
  X(REQUIRED, DeviceCanAccessPeer, (int*, int, int))                                                                   \
  X(REQUIRED, DeviceEnablePeerAccess, (int, unsigned))                                                                 \
  X(REQUIRED, DeviceDisablePeerAccess, (int))                                                                          \
  X(REQUIRED, DeviceSynchronize, (void))                                                                               \
  X(REQUIRED, DeviceGetStreamPriorityRange, (int*, int*))                                                              \
  X(OPTIONAL, DevicePrimaryCtxRetain, (hipCtx_t*, hipDevice_t))                                                        \
  X(OPTIONAL, DevicePrimaryCtxRelease, (hipDevice_t))                                                                  \
  X(OPTIONAL, ThreadExchangeStreamCaptureMode, (int*))                                                                 \
                                                                                                                       \
  X(REQUIRED, StreamCreateWithPriority, (hipStream_t*, unsigned, int))                                                 \
  X(REQUIRED, StreamDestroy, (hipStream_t))                                                                            \
  X(REQUIRED, StreamQuery, (hipStream_t))                                                                              \
  X(REQUIRED, StreamSynchronize, (hipStream_t))                                                                        \
  X(REQUIRED, StreamWaitEvent, (hipStream_t, hipEvent_t, unsigned))                                                    \
  X(OPTIONAL, StreamGetDevice, (hipStream_t, hipDevice_t*))                                                            \
  X(OPTIONAL, StreamWaitValue64, (hipStream_t, void*, std::uint64_t, unsigned, std::uint64_t))                         \
  X(OPTIONAL, LaunchHostFunc, (hipStream_t, void (*)(void*), void*))                                                   \
  X(OPTIONAL, StreamAddCallback, (hipStream_t, void (*)(hipStream_t, hipError_t, void*), void*, unsigned))             \
                                                                                                                       \
  X(REQUIRED, EventCreateWithFlags, (hipEvent_t*, unsigned))                                                           \
  X(REQUIRED, EventDestroy, (hipEvent_t))                                                                              \
  X(REQUIRED, EventRecord, (hipEvent_t, hipStream_t))                                                                  \
  X(REQUIRED, EventQuery, (hipEvent_t))                                                                                \
  X(REQUIRED, EventSynchronize, (hipEvent_t))                                                                          \
  X(REQUIRED, EventElapsedTime, (float*, hipEvent_t, hipEvent_t))                                                      \
  X(OPTIONAL, IpcGetEventHandle, (hipIpcEventHandle_t*, hipEvent_t))                                                   \
  X(OPTIONAL, IpcOpenEventHandle, (hipEvent_t*, hipIpcEventHandle_t))                                                  \
  X(OPTIONAL, IpcGetMemHandle, (hipIpcMemHandle_t*, void*))                                                            \
  X(OPTIONAL, IpcOpenMemHandle, (void**, hipIpcMemHandle_t, unsigned))                                                 \
  X(OPTIONAL, IpcCloseMemHandle, (void*))                                                                              \
  X(OPTIONAL, MemGetAddressRange, (hipDeviceptr_t*, std::size_t*, hipDeviceptr_t))                                     \
                                                                                                                       \
  X(REQUIRED, Malloc, (void**, std::size_t))                                                                           \
  X(OPTIONAL, ExtMallocWithFlags, (void**, std::size_t, unsigned))                                                     \
  X(REQUIRED, Free, (void*))                                                                                           \
  X(REQUIRED, HostMalloc, (void**, std::size_t, unsigned))                                                             \
  X(REQUIRED, HostFree, (void*))                                                                                       \
  X(REQUIRED, HostRegister, (void*, std::size_t, unsigned))                                                            \
  X(REQUIRED, HostUnregister, (void*))                                                                                 \
  X(OPTIONAL, MallocManaged, (void**, std::size_t, unsigned))                                                          \
  X(REQUIRED, MemGetInfo, (std::size_t*, std::size_t*))                                                                \
                                                                                                                       \
  X(OPTIONAL, MemPoolCreate, (hipMemPool_t*, const hipMemPoolProps*))                                                  \
  X(OPTIONAL, MemPoolDestroy, (hipMemPool_t))                                                                          \
  X(OPTIONAL, MemPoolSetAttribute, (hipMemPool_t, hipMemPoolAttr, void*))                                              \
  X(OPTIONAL, MemPoolGetAttribute, (hipMemPool_t, hipMemPoolAttr, void*))                                              \
  X(OPTIONAL, MemPoolTrimTo, (hipMemPool_t, std::size_t))                                                              \
  X(OPTIONAL, MemPoolSetAccess, (hipMemPool_t, const hipMemAccessDesc*, std::size_t))                                  \
  X(OPTIONAL, MallocFromPoolAsync, (void**, std::size_t, hipMemPool_t, hipStream_t))                                   \
  X(OPTIONAL, FreeAsync, (void*, hipStream_t))                                                                         \
                                                                                                                       \
  X(OPTIONAL, MemGetAllocationGranularity, (std::size_t*, const AllocationProperties*, int))                           \
  X(OPTIONAL, MemAddressReserve, (void**, std::size_t, std::size_t, void*, unsigned long long))                        \
  X(OPTIONAL, MemAddressFree, (void*, std::size_t))                                                                    \
  X(OPTIONAL, MemCreate,                                                                                               \
    (hipMemGenericAllocationHandle_t*, std::size_t, const AllocationProperties*, unsigned long long))                  \
  X(OPTIONAL, MemRelease, (hipMemGenericAllocationHandle_t))                                                           \
  X(OPTIONAL, MemMap, (void*, std::size_t, std::size_t, hipMemGenericAllocationHandle_t, unsigned long long))          \
  X(OPTIONAL, MemUnmap, (void*, std::size_t))                                                                          \
  X(OPTIONAL, MemSetAccess, (void*, std::size_t, const hipMemAccessDesc*, std::size_t))                                \
  X(OPTIONAL, MemRetainAllocationHandle, (hipMemGenericAllocationHandle_t*, void*))                                    \
  X(OPTIONAL, MemExportToShareableHandle,                                                                              \
    (void*, hipMemGenericAllocationHandle_t, hipMemAllocationHandleType, unsigned long long))                          \
  X(OPTIONAL, MemImportFromShareableHandle, (hipMemGenericAllocationHandle_t*, void*, hipMemAllocationHandleType))     \
                                                                                                                       \
  X(REQUIRED, MemcpyHtoDAsync, (hipDeviceptr_t, const void*, std::size_t, hipStream_t))                                \
  X(REQUIRED, MemcpyDtoHAsync, (void*, hipDeviceptr_t, std::size_t, hipStream_t))                                      \
  X(REQUIRED, MemcpyDtoDAsync, (hipDeviceptr_t, hipDeviceptr_t, std::size_t, hipStream_t))                             \
  X(REQUIRED, Memcpy2DAsync,                                                                                           \
    (void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, hipMemcpyKind, hipStream_t))              \
  X(REQUIRED, MemcpyPeerAsync, (void*, int, const void*, int, std::size_t, hipStream_t))                               \
  X(REQUIRED, MemsetD8Async, (hipDeviceptr_t, unsigned char, std::size_t, hipStream_t))                                \
  X(REQUIRED, MemsetD16Async, (hipDeviceptr_t, unsigned short, std::size_t, hipStream_t))                              \
  X(REQUIRED, MemsetD32Async, (hipDeviceptr_t, int, std::size_t, hipStream_t))                                         \
                                                                                                                       \
  X(REQUIRED, ModuleLoadData, (hipModule_t*, const void*))                                                             \
  X(REQUIRED, ModuleUnload, (hipModule_t))                                                                             \
  X(REQUIRED, ModuleGetFunction, (hipFunction_t*, hipModule_t, const char*))                                           \
  X(OPTIONAL, ModuleGetGlobal, (hipDeviceptr_t*, std::size_t*, hipModule_t, const char*))                              \
  X(OPTIONAL, ModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int*, hipFunction_t, int, std::size_t))                \
  X(REQUIRED, FuncGetAttribute, (int*, hipFunction_attribute, hipFunction_t))                                          \
  X(REQUIRED, ModuleLaunchKernel,                                                                                      \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**,         \
     void**))                                                                                                          \
                                                                                                                       \
  X(OPTIONAL, GraphCreate, (hipGraph_t*, unsigned))                                                                    \
  X(OPTIONAL, GraphDestroy, (hipGraph_t))                                                                              \
  X(OPTIONAL, GraphAddEmptyNode, (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t))                    \
  X(OPTIONAL, GraphAddKernelNode,                                                                                      \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipKernelNodeParams*))                     \
  X(OPTIONAL, GraphAddMemcpyNode,                                                                                      \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipMemcpy3DParms*))                        \
  X(OPTIONAL, GraphAddMemcpyNode1D,                                                                                    \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, void*, const void*, std::size_t, hipMemcpyKind)) \
  X(OPTIONAL, GraphAddMemsetNode,                                                                                      \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipMemsetParams*))                         \
  X(OPTIONAL, GraphAddHostNode,                                                                                        \
    (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, const hipHostNodeParams*))                       \
  X(OPTIONAL, GraphAddEventRecordNode, (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, hipEvent_t))  \
  X(OPTIONAL, GraphAddEventWaitNode, (hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, std::size_t, hipEvent_t))    \
  X(OPTIONAL, GraphInstantiate, (hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, std::size_t))                    \
  X(OPTIONAL, GraphExecUpdate, (hipGraphExec_t, hipGraph_t, hipGraphNode_t*, hipGraphExecUpdateResult*))               \
  X(OPTIONAL, GraphLaunch, (hipGraphExec_t, hipStream_t))                                                              \
  X(OPTIONAL, GraphExecDestroy, (hipGraphExec_t))

/// The layout of hipMemAllocationProp from HIP 6 on. (5.2's has the same fields in another order.)
struct AllocationProperties {
  int type;
  int requested_handle_types;
  hipMemLocation location;
  void* win32_handle_data;
  unsigned char compression;
  unsigned char rdma;
  unsigned short usage;
};

// The hip_runtime_api.h of 5.2 lacks these. The numbers are the same in all majors, because hipDeviceAttribute_t was
// only ever extended.
constexpr int attribute_virtual_memory = 89;
constexpr int attribute_host_register = 90;
constexpr int attribute_stream_wait_value = 10013;
/// A flag of hipStreamWaitValue64.
constexpr unsigned wait_value_greater_or_equal = 0;
constexpr unsigned malloc_signal_memory = 2;
constexpr int memory_allocation_pinned = 1;

/// Not inlined, because failures are rare.
void take_back_last_error(hipError_t error) noexcept;

/// An entry of the library.
template <class... Parameters>
struct Call {
  hipError_t (*function)(Parameters...) = nullptr;

  hipError_t operator()(Parameters... parameters) const {
    const hipError_t result = function(parameters...);
    if (result != hipSuccess) [[unlikely]]
      take_back_last_error(result);
    return result;
  }
  /// Whether the library has the entry.
  explicit operator bool() const noexcept { return function != nullptr; }
};

namespace detail {
template <class Function>
struct CallOf;
template <class... Parameters>
struct CallOf<void(Parameters...)> {
  using type = Call<Parameters...>;
};
}  // namespace detail

struct Driver {
#define ANYPLACE_HIP_POINTER(need, Member, parameters) detail::CallOf<void parameters>::type Member;
  ANYPLACE_HIP_ENTRIES(ANYPLACE_HIP_POINTER)
#undef ANYPLACE_HIP_POINTER
  // These entries don't return a hipError_t of their own. All but hipGetErrorName are optional.
  hipError_t (*GetLastError)() = nullptr;
  hipError_t (*PeekAtLastError)() = nullptr;
  hipError_t (*RuntimeGetVersion)(int*) = nullptr;
  const char* (*GetErrorName)(hipError_t) = nullptr;
  const char* (*GetErrorString)(hipError_t) = nullptr;
  int (*GetStreamDeviceId)(hipStream_t) = nullptr;
};

/// The variables by which the runtime hides devices.
inline constexpr const char* hiding_variables[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

/// The table of entries. load_driver() fills it; it must not be used before.
extern Driver loaded_driver;
inline const Driver& driver() noexcept { return loaded_driver; }

/// Ignores a result that can't be reported: while something that failed is undone, and while the process exits.
inline void ignore(hipError_t) noexcept {}

/// Opens libamdhip64, fills the table and calls hipInit. Called once, before anything else here. Throws Failure:
/// LIBRARY_MISSING when no library can be opened, NO_DRIVER when it is too old or doesn't start, NO_SUCH_DEVICE when it
/// finds no device; each says what to do.
void load_driver();

/// The version that hipRuntimeGetVersion reported, such as 50221153 for 5.2.21153; 0 if it reported none.
int driver_version() noexcept;
/// A version as text, such as "5.2.21153".
std::string version_text(int version);

}  // namespace anyplace::hip
