// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver API, opened at run time: driver().EventRecord(event, stream) is cuEventRecord(event, stream). Nothing
// here knows what anyplace does with it. A machine without NVIDIA's driver therefore gets a reason instead of a link
// error.
//
// Function types are spelled out here, and each entry point is looked up with the CUDA version that gave it this
// signature: cuda.h of CUDA 13 renames functions to forms that older drivers lack (cuEventElapsedTime_v2), so neither
// its names nor its prototypes are used. A cuda.h of CUDA 11.4 has everything that is needed.
//
// Invariant: once load_driver() has returned, every required entry is set, and nothing here changes any more.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

namespace anyplace::cuda {

/// X(need, Member, name, version, symbol, parameters): cuGetProcAddress is asked for `name` and `version`; the library
/// exports `symbol`. An OPTIONAL entry that is missing is null, and its capability is absent.
#define ANYPLACE_CUDA_ENTRIES(X)                                                                                       \
  X(REQUIRED, DriverGetVersion, "cuDriverGetVersion", 2020, "cuDriverGetVersion", (int*))                              \
  X(REQUIRED, Init, "cuInit", 2000, "cuInit", (unsigned))                                                              \
  X(REQUIRED, GetErrorName, "cuGetErrorName", 6000, "cuGetErrorName", (CUresult, const char**))                        \
  X(REQUIRED, GetErrorString, "cuGetErrorString", 6000, "cuGetErrorString", (CUresult, const char**))                  \
  X(REQUIRED, DeviceGetCount, "cuDeviceGetCount", 2000, "cuDeviceGetCount", (int*))                                    \
  X(REQUIRED, DeviceGet, "cuDeviceGet", 2000, "cuDeviceGet", (CUdevice*, int))                                         \
  X(REQUIRED, DeviceGetName, "cuDeviceGetName", 2000, "cuDeviceGetName", (char*, int, CUdevice))                       \
  X(REQUIRED, DeviceGetAttribute, "cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute",                                \
    (int*, CUdevice_attribute, CUdevice))                                                                              \
  X(REQUIRED, DeviceTotalMem, "cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2", (std::size_t*, CUdevice))               \
  X(REQUIRED, DeviceGetPCIBusId, "cuDeviceGetPCIBusId", 4010, "cuDeviceGetPCIBusId", (char*, int, CUdevice))           \
  X(OPTIONAL, DeviceGetUuid_v2, "cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2", (CUuuid*, CUdevice))                   \
  X(REQUIRED, DeviceGetUuid, "cuDeviceGetUuid", 9020, "cuDeviceGetUuid", (CUuuid*, CUdevice))                          \
  X(REQUIRED, DeviceCanAccessPeer, "cuDeviceCanAccessPeer", 4000, "cuDeviceCanAccessPeer", (int*, CUdevice, CUdevice)) \
                                                                                                                       \
  X(REQUIRED, DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain",                    \
    (CUcontext*, CUdevice))                                                                                            \
  X(REQUIRED, DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2", (CUdevice)) \
  X(REQUIRED, DevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000, "cuDevicePrimaryCtxGetState",              \
    (CUdevice, unsigned*, int*))                                                                                       \
  X(REQUIRED, CtxGetCurrent, "cuCtxGetCurrent", 4000, "cuCtxGetCurrent", (CUcontext*))                                 \
  X(REQUIRED, CtxPushCurrent, "cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2", (CUcontext))                            \
  X(REQUIRED, CtxPopCurrent, "cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2", (CUcontext*))                              \
  X(REQUIRED, CtxSynchronize, "cuCtxSynchronize", 2000, "cuCtxSynchronize", (void))                                    \
  X(REQUIRED, CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", 5050, "cuCtxGetStreamPriorityRange",           \
    (int*, int*))                                                                                                      \
  X(REQUIRED, CtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, "cuCtxEnablePeerAccess", (CUcontext, unsigned))      \
  X(REQUIRED, CtxDisablePeerAccess, "cuCtxDisablePeerAccess", 4000, "cuCtxDisablePeerAccess", (CUcontext))             \
  X(OPTIONAL, ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010,                             \
    "cuThreadExchangeStreamCaptureMode", (CUstreamCaptureMode*))                                                       \
                                                                                                                       \
  X(REQUIRED, StreamCreateWithPriority, "cuStreamCreateWithPriority", 5050, "cuStreamCreateWithPriority",              \
    (CUstream*, unsigned, int))                                                                                        \
  X(REQUIRED, StreamDestroy, "cuStreamDestroy", 4000, "cuStreamDestroy_v2", (CUstream))                                \
  X(REQUIRED, StreamQuery, "cuStreamQuery", 2000, "cuStreamQuery", (CUstream))                                         \
  X(REQUIRED, StreamSynchronize, "cuStreamSynchronize", 2000, "cuStreamSynchronize", (CUstream))                       \
  X(REQUIRED, StreamWaitEvent, "cuStreamWaitEvent", 3020, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))          \
  X(REQUIRED, StreamGetCtx, "cuStreamGetCtx", 9020, "cuStreamGetCtx", (CUstream, CUcontext*))                          \
  X(OPTIONAL, StreamWaitValue32, "cuStreamWaitValue32", 11070, "cuStreamWaitValue32_v2",                               \
    (CUstream, CUdeviceptr, cuuint32_t, unsigned))                                                                     \
  X(REQUIRED, LaunchHostFunc, "cuLaunchHostFunc", 10000, "cuLaunchHostFunc", (CUstream, CUhostFn, void*))              \
                                                                                                                       \
  X(REQUIRED, EventCreate, "cuEventCreate", 2000, "cuEventCreate", (CUevent*, unsigned))                               \
  X(REQUIRED, EventDestroy, "cuEventDestroy", 4000, "cuEventDestroy_v2", (CUevent))                                    \
  X(REQUIRED, EventRecord, "cuEventRecord", 2000, "cuEventRecord", (CUevent, CUstream))                                \
  X(REQUIRED, EventQuery, "cuEventQuery", 2000, "cuEventQuery", (CUevent))                                             \
  X(REQUIRED, EventSynchronize, "cuEventSynchronize", 2000, "cuEventSynchronize", (CUevent))                           \
  X(OPTIONAL, EventElapsedTime, "cuEventElapsedTime", 2000, "cuEventElapsedTime", (float*, CUevent, CUevent))          \
  X(OPTIONAL, EventElapsedTime_v2, "cuEventElapsedTime", 12080, "cuEventElapsedTime_v2", (float*, CUevent, CUevent))   \
                                                                                                                       \
  X(OPTIONAL, IpcGetEventHandle, "cuIpcGetEventHandle", 4010, "cuIpcGetEventHandle", (CUipcEventHandle*, CUevent))     \
  X(OPTIONAL, IpcOpenEventHandle, "cuIpcOpenEventHandle", 4010, "cuIpcOpenEventHandle", (CUevent*, CUipcEventHandle))  \
  X(OPTIONAL, IpcGetMemHandle, "cuIpcGetMemHandle", 4010, "cuIpcGetMemHandle", (CUipcMemHandle*, CUdeviceptr))         \
  X(OPTIONAL, IpcOpenMemHandle, "cuIpcOpenMemHandle", 11000, "cuIpcOpenMemHandle_v2",                                  \
    (CUdeviceptr*, CUipcMemHandle, unsigned))                                                                          \
  X(OPTIONAL, IpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, "cuIpcCloseMemHandle", (CUdeviceptr))                    \
  X(OPTIONAL, MemGetAddressRange, "cuMemGetAddressRange", 3020, "cuMemGetAddressRange_v2",                             \
    (CUdeviceptr*, std::size_t*, CUdeviceptr))                                                                         \
                                                                                                                       \
  X(REQUIRED, MemAlloc, "cuMemAlloc", 3020, "cuMemAlloc_v2", (CUdeviceptr*, std::size_t))                              \
  X(REQUIRED, MemFree, "cuMemFree", 3020, "cuMemFree_v2", (CUdeviceptr))                                               \
  X(REQUIRED, MemHostAlloc, "cuMemHostAlloc", 2020, "cuMemHostAlloc", (void**, std::size_t, unsigned))                 \
  X(REQUIRED, MemFreeHost, "cuMemFreeHost", 2000, "cuMemFreeHost", (void*))                                            \
  X(REQUIRED, MemHostGetDevicePointer, "cuMemHostGetDevicePointer", 3020, "cuMemHostGetDevicePointer_v2",              \
    (CUdeviceptr*, void*, unsigned))                                                                                   \
  X(REQUIRED, MemHostRegister, "cuMemHostRegister", 6050, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))      \
  X(REQUIRED, MemHostUnregister, "cuMemHostUnregister", 4000, "cuMemHostUnregister", (void*))                          \
  X(OPTIONAL, MemAllocManaged, "cuMemAllocManaged", 6000, "cuMemAllocManaged", (CUdeviceptr*, std::size_t, unsigned))  \
  X(REQUIRED, MemGetInfo, "cuMemGetInfo", 3020, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                       \
                                                                                                                       \
  X(OPTIONAL, MemPoolCreate, "cuMemPoolCreate", 11020, "cuMemPoolCreate", (CUmemoryPool*, const CUmemPoolProps*))      \
  X(OPTIONAL, MemPoolDestroy, "cuMemPoolDestroy", 11020, "cuMemPoolDestroy", (CUmemoryPool))                           \
  X(OPTIONAL, MemPoolSetAttribute, "cuMemPoolSetAttribute", 11020, "cuMemPoolSetAttribute",                            \
    (CUmemoryPool, CUmemPool_attribute, void*))                                                                        \
  X(OPTIONAL, MemPoolGetAttribute, "cuMemPoolGetAttribute", 11030, "cuMemPoolGetAttribute",                            \
    (CUmemoryPool, CUmemPool_attribute, void*))                                                                        \
  X(OPTIONAL, MemPoolTrimTo, "cuMemPoolTrimTo", 11020, "cuMemPoolTrimTo", (CUmemoryPool, std::size_t))                 \
  X(OPTIONAL, MemPoolSetAccess, "cuMemPoolSetAccess", 11020, "cuMemPoolSetAccess",                                     \
    (CUmemoryPool, const CUmemAccessDesc*, std::size_t))                                                               \
  X(OPTIONAL, MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, "cuMemAllocFromPoolAsync",                      \
    (CUdeviceptr*, std::size_t, CUmemoryPool, CUstream))                                                               \
  X(OPTIONAL, MemFreeAsync, "cuMemFreeAsync", 11020, "cuMemFreeAsync", (CUdeviceptr, CUstream))                        \
                                                                                                                       \
  X(OPTIONAL, MemGetAllocationGranularity, "cuMemGetAllocationGranularity", 10020, "cuMemGetAllocationGranularity",    \
    (std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags))                                      \
  X(OPTIONAL, MemAddressReserve, "cuMemAddressReserve", 10020, "cuMemAddressReserve",                                  \
    (CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long))                                         \
  X(OPTIONAL, MemAddressFree, "cuMemAddressFree", 10020, "cuMemAddressFree", (CUdeviceptr, std::size_t))               \
  X(OPTIONAL, MemCreate, "cuMemCreate", 10020, "cuMemCreate",                                                          \
    (CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*, unsigned long long))                      \
  X(OPTIONAL, MemRelease, "cuMemRelease", 10020, "cuMemRelease", (CUmemGenericAllocationHandle))                       \
  X(OPTIONAL, MemMap, "cuMemMap", 10020, "cuMemMap",                                                                   \
    (CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle, unsigned long long))                         \
  X(OPTIONAL, MemUnmap, "cuMemUnmap", 10020, "cuMemUnmap", (CUdeviceptr, std::size_t))                                 \
  X(OPTIONAL, MemSetAccess, "cuMemSetAccess", 10020, "cuMemSetAccess",                                                 \
    (CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t))                                                   \
  X(OPTIONAL, MemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, "cuMemRetainAllocationHandle",          \
    (CUmemGenericAllocationHandle*, void*))                                                                            \
  X(OPTIONAL, MemExportToShareableHandle, "cuMemExportToShareableHandle", 10020, "cuMemExportToShareableHandle",       \
    (void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long))                              \
  X(OPTIONAL, MemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020, "cuMemImportFromShareableHandle", \
    (CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType))                                                 \
                                                                                                                       \
  X(REQUIRED, MemcpyHtoDAsync, "cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2",                                      \
    (CUdeviceptr, const void*, std::size_t, CUstream))                                                                 \
  X(REQUIRED, MemcpyDtoHAsync, "cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2",                                      \
    (void*, CUdeviceptr, std::size_t, CUstream))                                                                       \
  X(REQUIRED, MemcpyDtoDAsync, "cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2",                                      \
    (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                                                                 \
  X(REQUIRED, Memcpy2DAsync, "cuMemcpy2DAsync", 3020, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D*, CUstream))          \
  X(REQUIRED, MemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, "cuMemcpyPeerAsync",                                         \
    (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream))                                           \
  X(REQUIRED, MemsetD8Async, "cuMemsetD8Async", 3020, "cuMemsetD8Async",                                               \
    (CUdeviceptr, unsigned char, std::size_t, CUstream))                                                               \
  X(REQUIRED, MemsetD16Async, "cuMemsetD16Async", 3020, "cuMemsetD16Async",                                            \
    (CUdeviceptr, unsigned short, std::size_t, CUstream))                                                              \
  X(REQUIRED, MemsetD32Async, "cuMemsetD32Async", 3020, "cuMemsetD32Async",                                            \
    (CUdeviceptr, unsigned, std::size_t, CUstream))                                                                    \
                                                                                                                       \
  X(REQUIRED, ModuleLoadDataEx, "cuModuleLoadDataEx", 2010, "cuModuleLoadDataEx",                                      \
    (CUmodule*, const void*, unsigned, CUjit_option*, void**))                                                         \
  X(REQUIRED, ModuleUnload, "cuModuleUnload", 2000, "cuModuleUnload", (CUmodule))                                      \
  X(REQUIRED, ModuleGetFunction, "cuModuleGetFunction", 2000, "cuModuleGetFunction",                                   \
    (CUfunction*, CUmodule, const char*))                                                                              \
  X(OPTIONAL, ModuleGetGlobal, "cuModuleGetGlobal", 3020, "cuModuleGetGlobal_v2",                                      \
    (CUdeviceptr*, std::size_t*, CUmodule, const char*))                                                               \
  X(OPTIONAL, OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,          \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, CUfunction, int, std::size_t))                               \
  X(REQUIRED, FuncGetAttribute, "cuFuncGetAttribute", 2020, "cuFuncGetAttribute",                                      \
    (int*, CUfunction_attribute, CUfunction))                                                                          \
  X(REQUIRED, FuncSetAttribute, "cuFuncSetAttribute", 9000, "cuFuncSetAttribute",                                      \
    (CUfunction, CUfunction_attribute, int))                                                                           \
  X(OPTIONAL, FuncGetParamInfo, "cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo",                                     \
    (CUfunction, std::size_t, std::size_t*, std::size_t*))                                                             \
  X(OPTIONAL, FuncLoad, "cuFuncLoad", 12040, "cuFuncLoad", (CUfunction))                                               \
  X(REQUIRED, LaunchKernel, "cuLaunchKernel", 4000, "cuLaunchKernel",                                                  \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))      \
                                                                                                                       \
  X(OPTIONAL, GraphCreate, "cuGraphCreate", 10000, "cuGraphCreate", (CUgraph*, unsigned))                              \
  X(OPTIONAL, GraphDestroy, "cuGraphDestroy", 10000, "cuGraphDestroy", (CUgraph))                                      \
  X(OPTIONAL, GraphAddEmptyNode, "cuGraphAddEmptyNode", 10000, "cuGraphAddEmptyNode",                                  \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t))                                                          \
  X(OPTIONAL, GraphAddKernelNode, "cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode",                               \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_KERNEL_NODE_PARAMS_v1*))                       \
  X(OPTIONAL, GraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000, "cuGraphAddMemcpyNode",                               \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMCPY3D*, CUcontext))                         \
  X(OPTIONAL, GraphAddMemsetNode, "cuGraphAddMemsetNode", 10000, "cuGraphAddMemsetNode",                               \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMSET_NODE_PARAMS*, CUcontext))               \
  X(OPTIONAL, GraphAddHostNode, "cuGraphAddHostNode", 10000, "cuGraphAddHostNode",                                     \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const CUDA_HOST_NODE_PARAMS*))                            \
  X(OPTIONAL, GraphAddEventRecordNode, "cuGraphAddEventRecordNode", 11010, "cuGraphAddEventRecordNode",                \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUevent))                                                 \
  X(OPTIONAL, GraphAddEventWaitNode, "cuGraphAddEventWaitNode", 11010, "cuGraphAddEventWaitNode",                      \
    (CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUevent))                                                 \
  X(OPTIONAL, GraphInstantiate, "cuGraphInstantiate", 11000, "cuGraphInstantiate_v2",                                  \
    (CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t))                                                         \
  X(OPTIONAL, GraphExecUpdate, "cuGraphExecUpdate", 10020, "cuGraphExecUpdate",                                        \
    (CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*))                                                    \
  X(OPTIONAL, GraphLaunch, "cuGraphLaunch", 10000, "cuGraphLaunch", (CUgraphExec, CUstream))                           \
  X(OPTIONAL, GraphExecDestroy, "cuGraphExecDestroy", 10000, "cuGraphExecDestroy", (CUgraphExec))

struct Driver {
#define ANYPLACE_CUDA_POINTER(need, Member, name, version, symbol, parameters) \
  CUresult(CUDAAPI* Member) parameters = nullptr;
  ANYPLACE_CUDA_ENTRIES(ANYPLACE_CUDA_POINTER)
#undef ANYPLACE_CUDA_POINTER
};

/// The variables by which the driver hides devices.
inline constexpr const char* hiding_variables[] = {"CUDA_VISIBLE_DEVICES"};

/// The oldest driver that the backend works with, as cuDriverGetVersion reports it.
constexpr int oldest_driver = 11000;

/// The table of entries. load_driver() fills it; it must not be used before.
extern Driver loaded_driver;
inline const Driver& driver() noexcept { return loaded_driver; }

/// Opens libcuda.so.1, fills the table and calls cuInit. Called once, before anything else here. Throws Failure:
/// LIBRARY_MISSING when the library can't be opened, NO_DRIVER when it is too old or doesn't start, NO_SUCH_DEVICE when
/// it finds no device; each says what to do.
void load_driver();

/// The version that cuDriverGetVersion reported, such as 13000 for CUDA 13.0.
int driver_version() noexcept;
/// A version as text, such as "13.0".
std::string version_text(int version);
/// The first of NVIDIA's driver branches that supports the CUDA version, such as "580" for 13000; "" if it isn't known.
const char* driver_branch(int version) noexcept;

}  // namespace anyplace::cuda
