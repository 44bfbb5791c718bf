// SPDX-License-Identifier: Apache-2.0
//
// The entries of the double: what its libamdhip64 exports. From this list are made the exported functions, the counts
// of calls and the failures on demand. AMD's hip_runtime_api.h is the source of the signatures; parameters whose
// enumeration an older header lacks are int.
//
// X(kind, symbol, (parameters), (arguments)). The function itself is do_SYMBOL, in the file of its area; outputs are
// left alone unless it succeeds. hipGetLastError and what doesn't return a hipError_t is in exports.cpp, and is not
// counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compat.h"

namespace anyplace::doubles::hip {

#define HIP_DOUBLE_DEVICE_ENTRIES(X)                                                                   \
  X(early, hipInit, (unsigned flags), (flags))                                                         \
  X(early, hipRuntimeGetVersion, (int* version), (version))                                            \
  X(early, hipDriverGetVersion, (int* version), (version))                                             \
  X(early, hipGetDeviceCount, (int* count), (count))                                                   \
  X(plain, hipSetDevice, (int device), (device))                                                       \
  X(plain, hipGetDevice, (int* device), (device))                                                      \
  X(plain, hipDeviceGet, (hipDevice_t * device, int ordinal), (device, ordinal))                       \
  X(plain, hipDeviceGetName, (char* name, int bytes, hipDevice_t device), (name, bytes, device))       \
  X(plain, hipDeviceGetAttribute, (int* value, int attribute, int device), (value, attribute, device)) \
  X(plain, hipDeviceTotalMem, (size_t * bytes, hipDevice_t device), (bytes, device))                   \
  X(plain, hipDeviceGetPCIBusId, (char* pci, int bytes, int device), (pci, bytes, device))             \
  X(plain, hipDeviceGetUuid, (hipUUID * uuid, hipDevice_t device), (uuid, device))                     \
  X(plain, hipGetDeviceProperties, (void* properties, int device), (properties, device))               \
  X(plain, hipGetDevicePropertiesR0600, (void* properties, int device), (properties, device))          \
  X(plain, hipDeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer))              \
  X(plain, hipDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))                       \
  X(plain, hipDeviceDisablePeerAccess, (int peer), (peer))                                             \
  X(plain, hipDeviceSynchronize, (), ())                                                               \
  X(plain, hipDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest))            \
  X(plain, hipDevicePrimaryCtxRetain, (hipCtx_t * context, hipDevice_t device), (context, device))     \
  X(release, hipDevicePrimaryCtxRelease, (hipDevice_t device), (device))                               \
  X(plain, hipThreadExchangeStreamCaptureMode, (int* mode), (mode))

#define HIP_DOUBLE_STREAM_ENTRIES(X)                                                                                 \
  X(plain, hipStreamCreate, (hipStream_t * stream), (stream))                                                        \
  X(plain, hipStreamCreateWithFlags, (hipStream_t * stream, unsigned flags), (stream, flags))                        \
  X(plain, hipStreamCreateWithPriority, (hipStream_t * stream, unsigned flags, int priority),                        \
    (stream, flags, priority))                                                                                       \
  X(release, hipStreamDestroy, (hipStream_t stream), (stream))                                                       \
  X(plain, hipStreamQuery, (hipStream_t stream), (stream))                                                           \
  X(plain, hipStreamSynchronize, (hipStream_t stream), (stream))                                                     \
  X(plain, hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags), (stream, event, flags))       \
  X(plain, hipStreamGetPriority, (hipStream_t stream, int* priority), (stream, priority))                            \
  X(plain, hipStreamGetFlags, (hipStream_t stream, unsigned* flags), (stream, flags))                                \
  X(plain, hipStreamGetDevice, (hipStream_t stream, hipDevice_t * device), (stream, device))                         \
  X(plain, hipStreamAddCallback, (hipStream_t stream, StreamCallback callback, void* user, unsigned flags),          \
    (stream, callback, user, flags))                                                                                 \
  X(plain, hipLaunchHostFunc, (hipStream_t stream, HostFunction function, void* user), (stream, function, user))     \
  X(plain, hipStreamWaitValue64, (hipStream_t stream, void* address, uint64_t value, unsigned flags, uint64_t mask), \
    (stream, address, value, flags, mask))

#define HIP_DOUBLE_EVENT_ENTRIES(X)                                                                                  \
  X(plain, hipEventCreate, (hipEvent_t * event), (event))                                                            \
  X(plain, hipEventCreateWithFlags, (hipEvent_t * event, unsigned flags), (event, flags))                            \
  X(release, hipEventDestroy, (hipEvent_t event), (event))                                                           \
  X(plain, hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))                                  \
  X(plain, hipEventQuery, (hipEvent_t event), (event))                                                               \
  X(plain, hipEventSynchronize, (hipEvent_t event), (event))                                                         \
  X(plain, hipEventElapsedTime, (float* milliseconds, hipEvent_t start, hipEvent_t end), (milliseconds, start, end)) \
  X(plain, hipIpcGetEventHandle, (hipIpcEventHandle_t * handle, hipEvent_t event), (handle, event))                  \
  X(plain, hipIpcOpenEventHandle, (hipEvent_t * event, hipIpcEventHandle_t handle), (event, handle))

#define HIP_DOUBLE_MEMORY_ENTRIES(X)                                                                                \
  X(plain, hipMalloc, (void** memory, size_t bytes), (memory, bytes))                                               \
  X(plain, hipExtMallocWithFlags, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))            \
  X(release, hipFree, (void* memory), (memory))                                                                     \
  X(plain, hipHostMalloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))                    \
  X(release, hipHostFree, (void* memory), (memory))                                                                 \
  X(plain, hipHostGetDevicePointer, (void** address, void* memory, unsigned flags), (address, memory, flags))       \
  X(plain, hipHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))                   \
  X(release, hipHostUnregister, (void* memory), (memory))                                                           \
  X(plain, hipMallocManaged, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))                 \
  X(plain, hipIpcGetMemHandle, (hipIpcMemHandle_t * handle, void* memory), (handle, memory))                        \
  X(plain, hipIpcOpenMemHandle, (void** memory, hipIpcMemHandle_t handle, unsigned flags), (memory, handle, flags)) \
  X(release, hipIpcCloseMemHandle, (void* memory), (memory))                                                        \
  X(plain, hipMemGetAddressRange, (hipDeviceptr_t * base, size_t * bytes, hipDeviceptr_t memory),                   \
    (base, bytes, memory))                                                                                          \
  X(plain, hipMemGetInfo, (size_t * free, size_t * total), (free, total))

#define HIP_DOUBLE_POOL_ENTRIES(X)                                                                            \
  X(plain, hipMallocFromPoolAsync, (void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream),      \
    (memory, bytes, pool, stream))                                                                            \
  X(release, hipFreeAsync, (void* memory, hipStream_t stream), (memory, stream))                              \
  X(plain, hipMemPoolCreate, (hipMemPool_t * pool, const hipMemPoolProps* properties), (pool, properties))    \
  X(release, hipMemPoolDestroy, (hipMemPool_t pool), (pool))                                                  \
  X(plain, hipMemPoolSetAttribute, (hipMemPool_t pool, int attribute, void* value), (pool, attribute, value)) \
  X(plain, hipMemPoolGetAttribute, (hipMemPool_t pool, int attribute, void* value), (pool, attribute, value)) \
  X(plain, hipMemPoolTrimTo, (hipMemPool_t pool, size_t keep), (pool, keep))                                  \
  X(plain, hipMemPoolSetAccess, (hipMemPool_t pool, const hipMemAccessDesc* accesses, size_t count),          \
    (pool, accesses, count))

#define HIP_DOUBLE_VIRTUAL_ENTRIES(X)                                                                                  \
  X(plain, hipMemGetAllocationGranularity, (size_t * granularity, const AllocationProperties* properties, int option), \
    (granularity, properties, option))                                                                                 \
  X(plain, hipMemAddressReserve,                                                                                       \
    (void** address, size_t size, size_t alignment, void* wanted, unsigned long long flags),                           \
    (address, size, alignment, wanted, flags))                                                                         \
  X(release, hipMemAddressFree, (void* address, size_t size), (address, size))                                         \
  X(plain, hipMemCreate,                                                                                               \
    (hipMemGenericAllocationHandle_t * handle, size_t size, const AllocationProperties* properties,                    \
     unsigned long long flags),                                                                                        \
    (handle, size, properties, flags))                                                                                 \
  X(release, hipMemRelease, (hipMemGenericAllocationHandle_t handle), (handle))                                        \
  X(plain, hipMemMap,                                                                                                  \
    (void* address, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags),     \
    (address, size, offset, handle, flags))                                                                            \
  X(release, hipMemUnmap, (void* address, size_t size), (address, size))                                               \
  X(plain, hipMemSetAccess, (void* address, size_t size, const hipMemAccessDesc* accesses, size_t count),              \
    (address, size, accesses, count))                                                                                  \
  X(plain, hipMemRetainAllocationHandle, (hipMemGenericAllocationHandle_t * handle, void* address), (handle, address)) \
  X(plain, hipMemExportToShareableHandle,                                                                              \
    (void* out, hipMemGenericAllocationHandle_t handle, hipMemAllocationHandleType type, unsigned long long flags),    \
    (out, handle, type, flags))                                                                                        \
  X(plain, hipMemImportFromShareableHandle,                                                                            \
    (hipMemGenericAllocationHandle_t * handle, void* from, hipMemAllocationHandleType type), (handle, from, type))     \
  X(plain, hipMemGetAccess, (unsigned long long* flags, const hipMemLocation* location, void* address),                \
    (flags, location, address))

#define HIP_DOUBLE_COPY_ENTRIES(X)                                                                              \
  X(plain, hipMemcpy, (void* destination, const void* source, size_t bytes, int kind),                          \
    (destination, source, bytes, kind))                                                                         \
  X(plain, hipMemcpyAsync, (void* destination, const void* source, size_t bytes, int kind, hipStream_t stream), \
    (destination, source, bytes, kind, stream))                                                                 \
  X(plain, hipMemcpyHtoDAsync, (void* destination, const void* source, size_t bytes, hipStream_t stream),       \
    (destination, source, bytes, stream))                                                                       \
  X(plain, hipMemcpyDtoHAsync, (void* destination, void* source, size_t bytes, hipStream_t stream),             \
    (destination, source, bytes, stream))                                                                       \
  X(plain, hipMemcpyDtoDAsync, (void* destination, void* source, size_t bytes, hipStream_t stream),             \
    (destination, source, bytes, stream))                                                                       \
  X(plain, hipMemcpy2DAsync,                                                                                    \
    (void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,        \
     size_t height, int kind, hipStream_t stream),                                                              \
    (destination, destination_pitch, source, source_pitch, width, height, kind, stream))                        \
  X(plain, hipMemcpyPeerAsync,                                                                                  \
    (void* destination, int destination_device, const void* source, int source_device, size_t bytes,            \
     hipStream_t stream),                                                                                       \
    (destination, destination_device, source, source_device, bytes, stream))                                    \
  X(plain, hipMemsetD8Async, (void* destination, unsigned char value, size_t count, hipStream_t stream),        \
    (destination, value, count, stream))                                                                        \
  X(plain, hipMemsetD16Async, (void* destination, unsigned short value, size_t count, hipStream_t stream),      \
    (destination, value, count, stream))                                                                        \
  X(plain, hipMemsetD32Async, (void* destination, int value, size_t count, hipStream_t stream),                 \
    (destination, value, count, stream))

#define HIP_DOUBLE_MODULE_ENTRIES(X)                                                                                \
  X(plain, hipModuleLoadData, (hipModule_t * module, const void* image), (module, image))                           \
  X(release, hipModuleUnload, (hipModule_t module), (module))                                                       \
  X(plain, hipModuleGetFunction, (hipFunction_t * function, hipModule_t module, const char* name),                  \
    (function, module, name))                                                                                       \
  X(plain, hipModuleGetGlobal, (hipDeviceptr_t * address, size_t * bytes, hipModule_t module, const char* name),    \
    (address, bytes, module, name))                                                                                 \
  X(plain, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,                                                      \
    (int* blocks, hipFunction_t function, int block_size, size_t shared_bytes),                                     \
    (blocks, function, block_size, shared_bytes))                                                                   \
  X(plain, hipFuncGetAttribute, (int* value, int attribute, hipFunction_t function), (value, attribute, function))  \
  X(plain, hipModuleLaunchKernel,                                                                                   \
    (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
     unsigned block_z, unsigned shared_bytes, hipStream_t stream, void** arguments, void** extra),                  \
    (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra))

#define HIP_DOUBLE_GRAPH_ENTRIES(X)                                                                                    \
  X(plain, hipGraphCreate, (hipGraph_t * graph, unsigned flags), (graph, flags))                                       \
  X(release, hipGraphDestroy, (hipGraph_t graph), (graph))                                                             \
  X(plain, hipGraphAddEmptyNode, (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count), \
    (node, graph, after, count))                                                                                       \
  X(plain, hipGraphAddKernelNode,                                                                                      \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,                               \
     const hipKernelNodeParams* asked),                                                                                \
    (node, graph, after, count, asked))                                                                                \
  X(plain, hipGraphAddMemcpyNode,                                                                                      \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,                               \
     const hipMemcpy3DParms* asked),                                                                                   \
    (node, graph, after, count, asked))                                                                                \
  X(plain, hipGraphAddMemcpyNode1D,                                                                                    \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, void* destination,            \
     const void* source, size_t bytes, int kind),                                                                      \
    (node, graph, after, count, destination, source, bytes, kind))                                                     \
  X(plain, hipGraphAddMemsetNode,                                                                                      \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,                               \
     const hipMemsetParams* asked),                                                                                    \
    (node, graph, after, count, asked))                                                                                \
  X(plain, hipGraphAddHostNode,                                                                                        \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,                               \
     const hipHostNodeParams* asked),                                                                                  \
    (node, graph, after, count, asked))                                                                                \
  X(plain, hipGraphAddEventRecordNode,                                                                                 \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, hipEvent_t event),            \
    (node, graph, after, count, event))                                                                                \
  X(plain, hipGraphAddEventWaitNode,                                                                                   \
    (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, hipEvent_t event),            \
    (node, graph, after, count, event))                                                                                \
  X(plain, hipGraphAddDependencies,                                                                                    \
    (hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count), (graph, from, to, count))  \
  X(plain, hipGraphInstantiate,                                                                                        \
    (hipGraphExec_t * executable, hipGraph_t graph, hipGraphNode_t * wrong, char* log, size_t bytes),                  \
    (executable, graph, wrong, log, bytes))                                                                            \
  X(plain, hipGraphExecUpdate,                                                                                         \
    (hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t * wrong, hipGraphExecUpdateResult * why),             \
    (executable, graph, wrong, why))                                                                                   \
  X(plain, hipGraphLaunch, (hipGraphExec_t executable, hipStream_t stream), (executable, stream))                      \
  X(release, hipGraphExecDestroy, (hipGraphExec_t executable), (executable))

#define HIP_DOUBLE_ENTRIES(X)   \
  HIP_DOUBLE_DEVICE_ENTRIES(X)  \
  HIP_DOUBLE_STREAM_ENTRIES(X)  \
  HIP_DOUBLE_EVENT_ENTRIES(X)   \
  HIP_DOUBLE_MEMORY_ENTRIES(X)  \
  HIP_DOUBLE_POOL_ENTRIES(X)    \
  HIP_DOUBLE_VIRTUAL_ENTRIES(X) \
  HIP_DOUBLE_COPY_ENTRIES(X)    \
  HIP_DOUBLE_MODULE_ENTRIES(X)  \
  HIP_DOUBLE_GRAPH_ENTRIES(X)

#define HIP_DOUBLE_DECLARE(kind, symbol, parameters, arguments) int do_##symbol parameters;
HIP_DOUBLE_ENTRIES(HIP_DOUBLE_DECLARE)
#undef HIP_DOUBLE_DECLARE

/// Begins the definition of an entry. The symbol is no macro's argument otherwise, as newer headers rename some.
#define HIP_DOUBLE_ENTRY(symbol) int do_##symbol

}  // namespace anyplace::doubles::hip
