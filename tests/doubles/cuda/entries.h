// SPDX-License-Identifier: Apache-2.0
//
// The entries of the double: what its libcuda.so.1 exports. From this list are made the exported functions, what
// cuGetProcAddress finds, the counts of calls and the failures on demand. NVIDIA's cuda.h is the source of the
// signatures, its cudaTypedefs.h that of the versions.
//
// X(kind, symbol, since, (parameters), (arguments)): `since` is the CUDA version that brought this form of the
// function. PTDS and PTSZ: the same for a function that has a second form for the per-thread default stream, with that
// suffix. The function itself is do_SYMBOL, in the file of its area; outputs are left alone unless it succeeds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compat.h"

namespace anyplace::doubles::cuda {

#define CUDA_DOUBLE_INIT_ENTRIES(X, PTDS, PTSZ)                                                                        \
  X(early, cuInit, 2000, (unsigned flags), (flags))                                                                    \
  X(early, cuDriverGetVersion, 2020, (int* version), (version))                                                        \
  X(early, cuGetErrorName, 6000, (CUresult error, const char** text), (error, text))                                   \
  X(early, cuGetErrorString, 6000, (CUresult error, const char** text), (error, text))                                 \
  X(early, cuGetProcAddress, 11030, (const char* symbol, void** function, int cuda_version, cuuint64_t flags),         \
    (symbol, function, cuda_version, flags))                                                                           \
  X(early, cuGetProcAddress_v2, 12000,                                                                                 \
    (const char* symbol, void** function, int cuda_version, cuuint64_t flags, CUdriverProcAddressQueryResult* status), \
    (symbol, function, cuda_version, flags, status))

#define CUDA_DOUBLE_DEVICE_ENTRIES(X, PTDS, PTSZ)                                                                      \
  X(plain, cuDeviceGet, 2000, (CUdevice * device, int ordinal), (device, ordinal))                                     \
  X(plain, cuDeviceGetCount, 2000, (int* count), (count))                                                              \
  X(plain, cuDeviceGetName, 2000, (char* name, int bytes, CUdevice device), (name, bytes, device))                     \
  X(plain, cuDeviceTotalMem_v2, 3020, (size_t * bytes, CUdevice device), (bytes, device))                              \
  X(plain, cuDeviceGetAttribute, 2000, (int* value, CUdevice_attribute attribute, CUdevice device),                    \
    (value, attribute, device))                                                                                        \
  X(plain, cuDeviceGetUuid, 9020, (CUuuid * uuid, CUdevice device), (uuid, device))                                    \
  X(plain, cuDeviceGetUuid_v2, 11040, (CUuuid * uuid, CUdevice device), (uuid, device))                                \
  X(plain, cuDeviceGetPCIBusId, 4010, (char* pci, int bytes, CUdevice device), (pci, bytes, device))                   \
  X(plain, cuDeviceCanAccessPeer, 4000, (int* can_access, CUdevice device, CUdevice peer), (can_access, device, peer)) \
  X(plain, cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool * pool, CUdevice device), (pool, device))                   \
  X(plain, cuDevicePrimaryCtxRetain, 7000, (CUcontext * context, CUdevice device), (context, device))                  \
  X(release, cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice device), (device))                                         \
  X(plain, cuDevicePrimaryCtxGetState, 7000, (CUdevice device, unsigned* flags, int* active), (device, flags, active)) \
  X(plain, cuDevicePrimaryCtxSetFlags_v2, 11000, (CUdevice device, unsigned flags), (device, flags))                   \
  X(plain, cuDevicePrimaryCtxReset_v2, 11000, (CUdevice device), (device))

#define CUDA_DOUBLE_CONTEXT_ENTRIES(X, PTDS, PTSZ)                                                                 \
  X(plain, cuCtxCreate_v2, 3020, (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device)) \
  X(plain, cuCtxCreate_v3, 11040,                                                                                  \
    (CUcontext * context, CUexecAffinityParam * affinities, int affinity_count, unsigned flags, CUdevice device),  \
    (context, affinities, affinity_count, flags, device))                                                          \
  X(plain, cuCtxCreate_v4, 12050,                                                                                  \
    (CUcontext * context, CUctxCreateParams * parameters, unsigned flags, CUdevice device),                        \
    (context, parameters, flags, device))                                                                          \
  X(release, cuCtxDestroy_v2, 4000, (CUcontext context), (context))                                                \
  X(plain, cuCtxGetCurrent, 4000, (CUcontext * context), (context))                                                \
  X(plain, cuCtxSetCurrent, 4000, (CUcontext context), (context))                                                  \
  X(plain, cuCtxPushCurrent_v2, 4000, (CUcontext context), (context))                                              \
  X(plain, cuCtxPopCurrent_v2, 4000, (CUcontext * context), (context))                                             \
  X(plain, cuCtxSynchronize, 2000, (), ())                                                                         \
  X(plain, cuCtxSynchronize_v2, 13000, (CUcontext context), (context))                                             \
  X(plain, cuCtxGetStreamPriorityRange, 5050, (int* least, int* greatest), (least, greatest))                      \
  X(plain, cuCtxEnablePeerAccess, 4000, (CUcontext peer, unsigned flags), (peer, flags))                           \
  X(plain, cuCtxDisablePeerAccess, 4000, (CUcontext peer), (peer))

#define CUDA_DOUBLE_STREAM_ENTRIES(X, PTDS, PTSZ)                                                                      \
  X(plain, cuStreamCreate, 2000, (CUstream * stream, unsigned flags), (stream, flags))                                 \
  X(plain, cuStreamCreateWithPriority, 5050, (CUstream * stream, unsigned flags, int priority),                        \
    (stream, flags, priority))                                                                                         \
  X(release, cuStreamDestroy_v2, 4000, (CUstream stream), (stream))                                                    \
  PTSZ(plain, cuStreamQuery, 2000, (CUstream stream), (stream))                                                        \
  PTSZ(plain, cuStreamSynchronize, 2000, (CUstream stream), (stream))                                                  \
  PTSZ(plain, cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))       \
  PTSZ(plain, cuStreamGetPriority, 5050, (CUstream stream, int* priority), (stream, priority))                         \
  PTSZ(plain, cuStreamGetFlags, 5050, (CUstream stream, unsigned* flags), (stream, flags))                             \
  PTSZ(plain, cuStreamGetCtx, 9020, (CUstream stream, CUcontext * context), (stream, context))                         \
  PTSZ(plain, cuStreamGetId, 12000, (CUstream stream, unsigned long long* id), (stream, id))                           \
  PTSZ(plain, cuStreamBeginCapture_v2, 10010, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))             \
  PTSZ(plain, cuStreamEndCapture, 10000, (CUstream stream, CUgraph * graph), (stream, graph))                          \
  PTSZ(plain, cuStreamIsCapturing, 10000, (CUstream stream, CUstreamCaptureStatus * status), (stream, status))         \
  X(plain, cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode * mode), (mode))                             \
  PTSZ(plain, cuStreamAddCallback, 5000, (CUstream stream, CUstreamCallback callback, void* user, unsigned flags),     \
       (stream, callback, user, flags))                                                                                \
  PTSZ(plain, cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void* user), (stream, function, user))     \
  X(plain, cuStreamWaitValue32, 8000, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),        \
    (stream, address, value, flags))                                                                                   \
  PTSZ(plain, cuStreamWaitValue32_v2, 11070, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags), \
       (stream, address, value, flags))                                                                                \
  X(plain, cuStreamWaitValue64, 9000, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),        \
    (stream, address, value, flags))                                                                                   \
  PTSZ(plain, cuStreamWaitValue64_v2, 11070, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags), \
       (stream, address, value, flags))                                                                                \
  X(plain, cuStreamWriteValue32, 8000, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),       \
    (stream, address, value, flags))                                                                                   \
  PTSZ(plain, cuStreamWriteValue32_v2, 11070,                                                                          \
       (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags), (stream, address, value, flags))

#define CUDA_DOUBLE_EVENT_ENTRIES(X, PTDS, PTSZ)                                                                    \
  X(plain, cuEventCreate, 2000, (CUevent * event, unsigned flags), (event, flags))                                  \
  PTSZ(plain, cuEventRecord, 2000, (CUevent event, CUstream stream), (event, stream))                               \
  X(plain, cuEventQuery, 2000, (CUevent event), (event))                                                            \
  X(plain, cuEventSynchronize, 2000, (CUevent event), (event))                                                      \
  X(release, cuEventDestroy_v2, 4000, (CUevent event), (event))                                                     \
  X(plain, cuEventElapsedTime, 2000, (float* milliseconds, CUevent start, CUevent end), (milliseconds, start, end)) \
  X(plain, cuEventElapsedTime_v2, 12080, (float* milliseconds, CUevent start, CUevent end),                         \
    (milliseconds, start, end))                                                                                     \
  X(plain, cuIpcGetEventHandle, 4010, (CUipcEventHandle * handle, CUevent event), (handle, event))                  \
  X(plain, cuIpcOpenEventHandle, 4010, (CUevent * event, CUipcEventHandle handle), (event, handle))

#define CUDA_DOUBLE_MEMORY_ENTRIES(X, PTDS, PTSZ)                                                                   \
  X(plain, cuIpcGetMemHandle, 4010, (CUipcMemHandle * handle, CUdeviceptr address), (handle, address))              \
  X(plain, cuIpcOpenMemHandle_v2, 11000, (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags),            \
    (address, handle, flags))                                                                                       \
  X(release, cuIpcCloseMemHandle, 4010, (CUdeviceptr address), (address))                                           \
  X(plain, cuMemGetInfo_v2, 3020, (size_t * free, size_t * total), (free, total))                                   \
  X(plain, cuMemAlloc_v2, 3020, (CUdeviceptr * address, size_t bytes), (address, bytes))                            \
  X(plain, cuMemAllocPitch_v2, 3020,                                                                                \
    (CUdeviceptr * address, size_t * pitch, size_t width, size_t height, unsigned element_bytes),                   \
    (address, pitch, width, height, element_bytes))                                                                 \
  X(release, cuMemFree_v2, 3020, (CUdeviceptr address), (address))                                                  \
  X(plain, cuMemGetAddressRange_v2, 3020, (CUdeviceptr * base, size_t * size, CUdeviceptr address),                 \
    (base, size, address))                                                                                          \
  X(plain, cuMemAllocHost_v2, 3020, (void** memory, size_t bytes), (memory, bytes))                                 \
  X(release, cuMemFreeHost, 2000, (void* memory), (memory))                                                         \
  X(plain, cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))             \
  X(plain, cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr * address, void* memory, unsigned flags),               \
    (address, memory, flags))                                                                                       \
  X(plain, cuMemAllocManaged, 6000, (CUdeviceptr * address, size_t bytes, unsigned flags), (address, bytes, flags)) \
  X(plain, cuMemHostRegister_v2, 6050, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))        \
  X(release, cuMemHostUnregister, 4000, (void* memory), (memory))

#define CUDA_DOUBLE_COPY_ENTRIES(X, PTDS, PTSZ)                                                                       \
  PTDS(plain, cuMemcpyHtoD_v2, 3020, (CUdeviceptr destination, const void* source, size_t bytes),                     \
       (destination, source, bytes))                                                                                  \
  PTDS(plain, cuMemcpyDtoH_v2, 3020, (void* destination, CUdeviceptr source, size_t bytes),                           \
       (destination, source, bytes))                                                                                  \
  PTDS(plain, cuMemcpyDtoD_v2, 3020, (CUdeviceptr destination, CUdeviceptr source, size_t bytes),                     \
       (destination, source, bytes))                                                                                  \
  PTSZ(plain, cuMemcpyPeerAsync, 4000,                                                                                \
       (CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context,         \
        size_t bytes, CUstream stream),                                                                               \
       (destination, destination_context, source, source_context, bytes, stream))                                     \
  PTSZ(plain, cuMemcpyHtoDAsync_v2, 3020,                                                                             \
       (CUdeviceptr destination, const void* source, size_t bytes, CUstream stream),                                  \
       (destination, source, bytes, stream))                                                                          \
  PTSZ(plain, cuMemcpyDtoHAsync_v2, 3020, (void* destination, CUdeviceptr source, size_t bytes, CUstream stream),     \
       (destination, source, bytes, stream))                                                                          \
  PTSZ(plain, cuMemcpyDtoDAsync_v2, 3020,                                                                             \
       (CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream),                                  \
       (destination, source, bytes, stream))                                                                          \
  PTSZ(plain, cuMemcpy2DAsync_v2, 3020, (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream))                 \
  PTDS(plain, cuMemsetD8_v2, 3020, (CUdeviceptr destination, unsigned char value, size_t count),                      \
       (destination, value, count))                                                                                   \
  PTDS(plain, cuMemsetD16_v2, 3020, (CUdeviceptr destination, unsigned short value, size_t count),                    \
       (destination, value, count))                                                                                   \
  PTDS(plain, cuMemsetD32_v2, 3020, (CUdeviceptr destination, unsigned value, size_t count),                          \
       (destination, value, count))                                                                                   \
  PTSZ(plain, cuMemsetD8Async, 3020, (CUdeviceptr destination, unsigned char value, size_t count, CUstream stream),   \
       (destination, value, count, stream))                                                                           \
  PTSZ(plain, cuMemsetD16Async, 3020, (CUdeviceptr destination, unsigned short value, size_t count, CUstream stream), \
       (destination, value, count, stream))                                                                           \
  PTSZ(plain, cuMemsetD32Async, 3020, (CUdeviceptr destination, unsigned value, size_t count, CUstream stream),       \
       (destination, value, count, stream))

#define CUDA_DOUBLE_POOL_ENTRIES(X, PTDS, PTSZ)                                                                   \
  PTSZ(plain, cuMemAllocAsync, 11020, (CUdeviceptr * address, size_t bytes, CUstream stream),                     \
       (address, bytes, stream))                                                                                  \
  PTSZ(release, cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream), (address, stream))                 \
  PTSZ(plain, cuMemAllocFromPoolAsync, 11020,                                                                     \
       (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream)) \
  X(plain, cuMemPoolCreate, 11020, (CUmemoryPool * pool, const CUmemPoolProps* properties), (pool, properties))   \
  X(release, cuMemPoolDestroy, 11020, (CUmemoryPool pool), (pool))                                                \
  X(plain, cuMemPoolSetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),         \
    (pool, attribute, value))                                                                                     \
  X(plain, cuMemPoolGetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),         \
    (pool, attribute, value))                                                                                     \
  X(plain, cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep), (pool, keep))                                \
  X(plain, cuMemPoolSetAccess, 11020, (CUmemoryPool pool, const CUmemAccessDesc* accesses, size_t count),         \
    (pool, accesses, count))

#define CUDA_DOUBLE_VIRTUAL_ENTRIES(X, PTDS, PTSZ)                                                                    \
  X(plain, cuMemAddressReserve, 10020,                                                                                \
    (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags),             \
    (address, size, alignment, wanted, flags))                                                                        \
  X(release, cuMemAddressFree, 10020, (CUdeviceptr address, size_t size), (address, size))                            \
  X(plain, cuMemCreate, 10020,                                                                                        \
    (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp* properties,                       \
     unsigned long long flags),                                                                                       \
    (handle, size, properties, flags))                                                                                \
  X(release, cuMemRelease, 10020, (CUmemGenericAllocationHandle handle), (handle))                                    \
  X(plain, cuMemMap, 10020,                                                                                           \
    (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), \
    (address, size, offset, handle, flags))                                                                           \
  X(release, cuMemUnmap, 10020, (CUdeviceptr address, size_t size), (address, size))                                  \
  X(plain, cuMemSetAccess, 10020, (CUdeviceptr address, size_t size, const CUmemAccessDesc* accesses, size_t count),  \
    (address, size, accesses, count))                                                                                 \
  X(plain, cuMemGetAccess, 10020, (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address),    \
    (flags, location, address))                                                                                       \
  X(plain, cuMemGetAllocationGranularity, 10020,                                                                      \
    (size_t * granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option),           \
    (granularity, properties, option))                                                                                \
  X(plain, cuMemExportToShareableHandle, 10020,                                                                       \
    (void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags),       \
    (out, handle, type, flags))                                                                                       \
  X(plain, cuMemImportFromShareableHandle, 10020,                                                                     \
    (CUmemGenericAllocationHandle * handle, void* from, CUmemAllocationHandleType type), (handle, from, type))        \
  X(plain, cuMemRetainAllocationHandle, 11000, (CUmemGenericAllocationHandle * handle, void* address),                \
    (handle, address))

#define CUDA_DOUBLE_MODULE_ENTRIES(X, PTDS, PTSZ)                                                                   \
  X(plain, cuModuleLoadData, 2000, (CUmodule * module, const void* image), (module, image))                         \
  X(plain, cuModuleLoadDataEx, 2010,                                                                                \
    (CUmodule * module, const void* image, unsigned option_count, CUjit_option* options, void** values),            \
    (module, image, option_count, options, values))                                                                 \
  X(release, cuModuleUnload, 2000, (CUmodule module), (module))                                                     \
  X(plain, cuModuleGetFunction, 2000, (CUfunction * function, CUmodule module, const char* name),                   \
    (function, module, name))                                                                                       \
  X(plain, cuModuleGetGlobal_v2, 3020, (CUdeviceptr * address, size_t * bytes, CUmodule module, const char* name),  \
    (address, bytes, module, name))                                                                                 \
  X(plain, cuFuncGetAttribute, 2020, (int* value, CUfunction_attribute attribute, CUfunction function),             \
    (value, attribute, function))                                                                                   \
  X(plain, cuFuncSetAttribute, 9000, (CUfunction function, CUfunction_attribute attribute, int value),              \
    (function, attribute, value))                                                                                   \
  X(plain, cuFuncGetParamInfo, 12040, (CUfunction function, size_t index, size_t * offset, size_t * size),          \
    (function, index, offset, size))                                                                                \
  X(plain, cuFuncLoad, 12040, (CUfunction function), (function))                                                    \
  PTSZ(plain, cuLaunchKernel, 4000,                                                                                 \
       (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
        unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, void** extra),                  \
       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra))       \
  PTSZ(plain, cuLaunchKernelEx, 11060,                                                                              \
       (const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra),                         \
       (config, function, arguments, extra))                                                                        \
  X(plain, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                                       \
    (int* blocks, CUfunction function, int block_size, size_t shared_bytes),                                        \
    (blocks, function, block_size, shared_bytes))

#define CUDA_DOUBLE_GRAPH_ENTRIES(X, PTDS, PTSZ)                                                                      \
  X(plain, cuGraphCreate, 10000, (CUgraph * graph, unsigned flags), (graph, flags))                                   \
  X(release, cuGraphDestroy, 10000, (CUgraph graph), (graph))                                                         \
  X(plain, cuGraphAddEmptyNode, 10000, (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count),   \
    (node, graph, after, count))                                                                                      \
  X(plain, cuGraphAddKernelNode, 10000,                                                                               \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count,                                       \
     const CUDA_KERNEL_NODE_PARAMS_v1* asked),                                                                        \
    (node, graph, after, count, asked))                                                                               \
  X(plain, cuGraphAddKernelNode_v2, 12000,                                                                            \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count,                                       \
     const CUDA_KERNEL_NODE_PARAMS_v2* asked),                                                                        \
    (node, graph, after, count, asked))                                                                               \
  X(plain, cuGraphAddMemcpyNode, 10000,                                                                               \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMCPY3D* asked,           \
     CUcontext context),                                                                                              \
    (node, graph, after, count, asked, context))                                                                      \
  X(plain, cuGraphAddMemsetNode, 10000,                                                                               \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMSET_NODE_PARAMS* asked, \
     CUcontext context),                                                                                              \
    (node, graph, after, count, asked, context))                                                                      \
  X(plain, cuGraphAddHostNode, 10000,                                                                                 \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_HOST_NODE_PARAMS* asked),  \
    (node, graph, after, count, asked))                                                                               \
  X(plain, cuGraphAddEventRecordNode, 11010,                                                                          \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event),                       \
    (node, graph, after, count, event))                                                                               \
  X(plain, cuGraphAddEventWaitNode, 11010,                                                                            \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event),                       \
    (node, graph, after, count, event))                                                                               \
  X(plain, cuGraphAddDependencies, 10000,                                                                             \
    (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count), (graph, from, to, count))          \
  X(plain, cuGraphAddDependencies_v2, 12030,                                                                          \
    (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges, size_t count),      \
    (graph, from, to, edges, count))                                                                                  \
  X(release, cuGraphDestroyNode, 10000, (CUgraphNode node), (node))                                                   \
  X(plain, cuGraphGetNodes, 10000, (CUgraph graph, CUgraphNode * nodes, size_t * count), (graph, nodes, count))       \
  X(plain, cuGraphInstantiate_v2, 11000,                                                                              \
    (CUgraphExec * executable, CUgraph graph, CUgraphNode * wrong, char* log, size_t bytes),                          \
    (executable, graph, wrong, log, bytes))                                                                           \
  X(plain, cuGraphInstantiateWithFlags, 11040, (CUgraphExec * executable, CUgraph graph, unsigned long long flags),   \
    (executable, graph, flags))                                                                                       \
  X(plain, cuGraphExecUpdate, 10020,                                                                                  \
    (CUgraphExec executable, CUgraph graph, CUgraphNode * wrong, CUgraphExecUpdateResult * why),                      \
    (executable, graph, wrong, why))                                                                                  \
  X(plain, cuGraphExecUpdate_v2, 12000, (CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo * why),   \
    (executable, graph, why))                                                                                         \
  PTSZ(plain, cuGraphLaunch, 10000, (CUgraphExec executable, CUstream stream), (executable, stream))                  \
  X(release, cuGraphExecDestroy, 10000, (CUgraphExec executable), (executable))

#define CUDA_DOUBLE_ENTRIES(X, PTDS, PTSZ)   \
  CUDA_DOUBLE_INIT_ENTRIES(X, PTDS, PTSZ)    \
  CUDA_DOUBLE_DEVICE_ENTRIES(X, PTDS, PTSZ)  \
  CUDA_DOUBLE_CONTEXT_ENTRIES(X, PTDS, PTSZ) \
  CUDA_DOUBLE_STREAM_ENTRIES(X, PTDS, PTSZ)  \
  CUDA_DOUBLE_EVENT_ENTRIES(X, PTDS, PTSZ)   \
  CUDA_DOUBLE_MEMORY_ENTRIES(X, PTDS, PTSZ)  \
  CUDA_DOUBLE_COPY_ENTRIES(X, PTDS, PTSZ)    \
  CUDA_DOUBLE_POOL_ENTRIES(X, PTDS, PTSZ)    \
  CUDA_DOUBLE_VIRTUAL_ENTRIES(X, PTDS, PTSZ) \
  CUDA_DOUBLE_MODULE_ENTRIES(X, PTDS, PTSZ)  \
  CUDA_DOUBLE_GRAPH_ENTRIES(X, PTDS, PTSZ)

#define CUDA_DOUBLE_DECLARE(kind, symbol, since, parameters, arguments) int do_##symbol parameters;
CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_DECLARE, CUDA_DOUBLE_DECLARE, CUDA_DOUBLE_DECLARE)
#undef CUDA_DOUBLE_DECLARE

/// Begins the definition of an entry. The symbol is no macro's argument otherwise, as cuda.h renames many.
#define CUDA_DOUBLE_ENTRY(symbol) int do_##symbol

}  // namespace anyplace::doubles::cuda
