// SPDX-License-Identifier: Apache-2.0
//
// The entries of the double: what its libcuda.so.1 exports. From this list are made the exported functions, what
// cuGetProcAddress finds, the counts of calls and the failures on demand. NVIDIA's cuda.h is the source of the
// signatures, its cudaTypedefs.h that of the versions.
//
// X(kind, symbol, since, (parameters), (arguments)): `since` is the CUDA version that brought this form of the
// function. PTDS and PTSZ: the same for a function that has a second form for the per-thread default stream, with that
// suffix. The function itself is do_SYMBOL, in the file of its area; outputs are left alone unless it succeeds.
#ifndef ANYPLACE_TESTS_DOUBLES_CUDA_ENTRIES_H
#define ANYPLACE_TESTS_DOUBLES_CUDA_ENTRIES_H

#include <cstddef>
#include <cstdint>

#include "compat.h"

namespace anyplace::doubles::cuda {

enum class Kind : uint8_t {
  kEarly,    // may be called before cuInit, and from host functions
  kPlain,    //
  kRelease,  // gives something back: does so even if it was told to fail, or the context has failed
};

#define CUDA_DOUBLE_INIT_ENTRIES(X, PTDS, PTSZ)                                                                        \
  X(kEarly, cuInit, 2000, (unsigned flags), (flags))                                                                   \
  X(kEarly, cuDriverGetVersion, 2020, (int* version), (version))                                                       \
  X(kEarly, cuGetErrorName, 6000, (CUresult error, const char** text), (error, text))                                  \
  X(kEarly, cuGetErrorString, 6000, (CUresult error, const char** text), (error, text))                                \
  X(kEarly, cuGetProcAddress, 11030, (const char* symbol, void** function, int cuda_version, cuuint64_t flags),        \
    (symbol, function, cuda_version, flags))                                                                           \
  X(kEarly, cuGetProcAddress_v2, 12000,                                                                                \
    (const char* symbol, void** function, int cuda_version, cuuint64_t flags, CUdriverProcAddressQueryResult* status), \
    (symbol, function, cuda_version, flags, status))

#define CUDA_DOUBLE_DEVICE_ENTRIES(X, PTDS, PTSZ)                                                      \
  X(kPlain, cuDeviceGet, 2000, (CUdevice * device, int ordinal), (device, ordinal))                    \
  X(kPlain, cuDeviceGetCount, 2000, (int* count), (count))                                             \
  X(kPlain, cuDeviceGetName, 2000, (char* name, int bytes, CUdevice device), (name, bytes, device))    \
  X(kPlain, cuDeviceTotalMem_v2, 3020, (size_t * bytes, CUdevice device), (bytes, device))             \
  X(kPlain, cuDeviceGetAttribute, 2000, (int* value, CUdevice_attribute attribute, CUdevice device),   \
    (value, attribute, device))                                                                        \
  X(kPlain, cuDeviceGetUuid, 9020, (CUuuid * uuid, CUdevice device), (uuid, device))                   \
  X(kPlain, cuDeviceGetUuid_v2, 11040, (CUuuid * uuid, CUdevice device), (uuid, device))               \
  X(kPlain, cuDeviceGetPCIBusId, 4010, (char* pci, int bytes, CUdevice device), (pci, bytes, device))  \
  X(kPlain, cuDeviceGetByPCIBusId, 4010, (CUdevice * device, const char* pci), (device, pci))          \
  X(kPlain, cuDeviceCanAccessPeer, 4000, (int* can_access, CUdevice device, CUdevice peer),            \
    (can_access, device, peer))                                                                        \
  X(kPlain, cuDeviceGetP2PAttribute, 8000,                                                             \
    (int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination),              \
    (value, attribute, source, destination))                                                           \
  X(kPlain, cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool * pool, CUdevice device), (pool, device))  \
  X(kPlain, cuDeviceGetMemPool, 11020, (CUmemoryPool * pool, CUdevice device), (pool, device))         \
  X(kPlain, cuDeviceSetMemPool, 11020, (CUdevice device, CUmemoryPool pool), (device, pool))           \
  X(kPlain, cuDevicePrimaryCtxRetain, 7000, (CUcontext * context, CUdevice device), (context, device)) \
  X(kRelease, cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice device), (device))                        \
  X(kPlain, cuDevicePrimaryCtxGetState, 7000, (CUdevice device, unsigned* flags, int* active),         \
    (device, flags, active))                                                                           \
  X(kPlain, cuDevicePrimaryCtxSetFlags_v2, 11000, (CUdevice device, unsigned flags), (device, flags))  \
  X(kPlain, cuDevicePrimaryCtxReset_v2, 11000, (CUdevice device), (device))

#define CUDA_DOUBLE_CONTEXT_ENTRIES(X, PTDS, PTSZ)                                                                  \
  X(kPlain, cuCtxCreate_v2, 3020, (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device)) \
  X(kPlain, cuCtxCreate_v3, 11040,                                                                                  \
    (CUcontext * context, CUexecAffinityParam * affinities, int affinity_count, unsigned flags, CUdevice device),   \
    (context, affinities, affinity_count, flags, device))                                                           \
  X(kPlain, cuCtxCreate_v4, 12050,                                                                                  \
    (CUcontext * context, CUctxCreateParams * parameters, unsigned flags, CUdevice device),                         \
    (context, parameters, flags, device))                                                                           \
  X(kRelease, cuCtxDestroy_v2, 4000, (CUcontext context), (context))                                                \
  X(kPlain, cuCtxGetCurrent, 4000, (CUcontext * context), (context))                                                \
  X(kPlain, cuCtxSetCurrent, 4000, (CUcontext context), (context))                                                  \
  X(kPlain, cuCtxPushCurrent_v2, 4000, (CUcontext context), (context))                                              \
  X(kPlain, cuCtxPopCurrent_v2, 4000, (CUcontext * context), (context))                                             \
  X(kPlain, cuCtxGetDevice, 2000, (CUdevice * device), (device))                                                    \
  X(kPlain, cuCtxGetDevice_v2, 13000, (CUdevice * device, CUcontext context), (device, context))                    \
  X(kPlain, cuCtxGetFlags, 7000, (unsigned* flags), (flags))                                                        \
  X(kPlain, cuCtxGetId, 12000, (CUcontext context, unsigned long long* id), (context, id))                          \
  X(kPlain, cuCtxSynchronize, 2000, (), ())                                                                         \
  X(kPlain, cuCtxSynchronize_v2, 13000, (CUcontext context), (context))                                             \
  X(kPlain, cuCtxGetStreamPriorityRange, 5050, (int* least, int* greatest), (least, greatest))                      \
  X(kPlain, cuCtxGetApiVersion, 3020, (CUcontext context, unsigned* version), (context, version))                   \
  X(kPlain, cuCtxGetLimit, 3010, (size_t * value, CUlimit limit), (value, limit))                                   \
  X(kPlain, cuCtxSetLimit, 3010, (CUlimit limit, size_t value), (limit, value))                                     \
  X(kPlain, cuCtxEnablePeerAccess, 4000, (CUcontext peer, unsigned flags), (peer, flags))                           \
  X(kPlain, cuCtxDisablePeerAccess, 4000, (CUcontext peer), (peer))

#define CUDA_DOUBLE_STREAM_ENTRIES(X, PTDS, PTSZ)                                                                     \
  X(kPlain, cuStreamCreate, 2000, (CUstream * stream, unsigned flags), (stream, flags))                               \
  X(kPlain, cuStreamCreateWithPriority, 5050, (CUstream * stream, unsigned flags, int priority),                      \
    (stream, flags, priority))                                                                                        \
  X(kRelease, cuStreamDestroy_v2, 4000, (CUstream stream), (stream))                                                  \
  PTSZ(kPlain, cuStreamQuery, 2000, (CUstream stream), (stream))                                                      \
  PTSZ(kPlain, cuStreamSynchronize, 2000, (CUstream stream), (stream))                                                \
  PTSZ(kPlain, cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))     \
  PTSZ(kPlain, cuStreamGetPriority, 5050, (CUstream stream, int* priority), (stream, priority))                       \
  PTSZ(kPlain, cuStreamGetFlags, 5050, (CUstream stream, unsigned* flags), (stream, flags))                           \
  PTSZ(kPlain, cuStreamGetCtx, 9020, (CUstream stream, CUcontext * context), (stream, context))                       \
  PTSZ(kPlain, cuStreamGetId, 12000, (CUstream stream, unsigned long long* id), (stream, id))                         \
  PTSZ(kPlain, cuStreamIsCapturing, 10000, (CUstream stream, CUstreamCaptureStatus * capturing), (stream, capturing)) \
  X(kPlain, cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode * mode), (mode))                           \
  PTSZ(kPlain, cuStreamAddCallback, 5000, (CUstream stream, CUstreamCallback callback, void* user, unsigned flags),   \
       (stream, callback, user, flags))                                                                               \
  PTSZ(kPlain, cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void* user), (stream, function, user))   \
  X(kPlain, cuStreamWaitValue32, 8000, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),      \
    (stream, address, value, flags))                                                                                  \
  PTSZ(kPlain, cuStreamWaitValue32_v2, 11070,                                                                         \
       (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags), (stream, address, value, flags))     \
  X(kPlain, cuStreamWaitValue64, 9000, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),      \
    (stream, address, value, flags))                                                                                  \
  PTSZ(kPlain, cuStreamWaitValue64_v2, 11070,                                                                         \
       (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags), (stream, address, value, flags))     \
  X(kPlain, cuStreamWriteValue32, 8000, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),     \
    (stream, address, value, flags))                                                                                  \
  PTSZ(kPlain, cuStreamWriteValue32_v2, 11070,                                                                        \
       (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags), (stream, address, value, flags))     \
  X(kPlain, cuStreamWriteValue64, 9000, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),     \
    (stream, address, value, flags))                                                                                  \
  PTSZ(kPlain, cuStreamWriteValue64_v2, 11070,                                                                        \
       (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags), (stream, address, value, flags))

#define CUDA_DOUBLE_EVENT_ENTRIES(X, PTDS, PTSZ)                                                                     \
  X(kPlain, cuEventCreate, 2000, (CUevent * event, unsigned flags), (event, flags))                                  \
  PTSZ(kPlain, cuEventRecord, 2000, (CUevent event, CUstream stream), (event, stream))                               \
  PTSZ(kPlain, cuEventRecordWithFlags, 11010, (CUevent event, CUstream stream, unsigned flags),                      \
       (event, stream, flags))                                                                                       \
  X(kPlain, cuEventQuery, 2000, (CUevent event), (event))                                                            \
  X(kPlain, cuEventSynchronize, 2000, (CUevent event), (event))                                                      \
  X(kRelease, cuEventDestroy_v2, 4000, (CUevent event), (event))                                                     \
  X(kPlain, cuEventElapsedTime, 2000, (float* milliseconds, CUevent start, CUevent end), (milliseconds, start, end)) \
  X(kPlain, cuEventElapsedTime_v2, 12080, (float* milliseconds, CUevent start, CUevent end),                         \
    (milliseconds, start, end))                                                                                      \
  X(kPlain, cuIpcGetEventHandle, 4010, (CUipcEventHandle * handle, CUevent event), (handle, event))                  \
  X(kPlain, cuIpcOpenEventHandle, 4010, (CUevent * event, CUipcEventHandle handle), (event, handle))

#define CUDA_DOUBLE_MEMORY_ENTRIES(X, PTDS, PTSZ)                                                                    \
  X(kPlain, cuMemGetInfo_v2, 3020, (size_t * free, size_t * total), (free, total))                                   \
  X(kPlain, cuMemAlloc_v2, 3020, (CUdeviceptr * address, size_t bytes), (address, bytes))                            \
  X(kPlain, cuMemAllocPitch_v2, 3020,                                                                                \
    (CUdeviceptr * address, size_t * pitch, size_t width, size_t height, unsigned element_bytes),                    \
    (address, pitch, width, height, element_bytes))                                                                  \
  X(kRelease, cuMemFree_v2, 3020, (CUdeviceptr address), (address))                                                  \
  X(kPlain, cuMemGetAddressRange_v2, 3020, (CUdeviceptr * base, size_t * size, CUdeviceptr address),                 \
    (base, size, address))                                                                                           \
  X(kPlain, cuMemAllocHost_v2, 3020, (void** memory, size_t bytes), (memory, bytes))                                 \
  X(kRelease, cuMemFreeHost, 2000, (void* memory), (memory))                                                         \
  X(kPlain, cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))             \
  X(kPlain, cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr * address, void* memory, unsigned flags),               \
    (address, memory, flags))                                                                                        \
  X(kPlain, cuMemHostGetFlags, 2030, (unsigned* flags, void* memory), (flags, memory))                               \
  X(kPlain, cuMemAllocManaged, 6000, (CUdeviceptr * address, size_t bytes, unsigned flags), (address, bytes, flags)) \
  X(kPlain, cuMemHostRegister_v2, 6050, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))        \
  X(kRelease, cuMemHostUnregister, 4000, (void* memory), (memory))                                                   \
  X(kPlain, cuPointerGetAttribute, 4000, (void* data, CUpointer_attribute attribute, CUdeviceptr address),           \
    (data, attribute, address))                                                                                      \
  X(kPlain, cuPointerGetAttributes, 7000,                                                                            \
    (unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address),                             \
    (count, attributes, data, address))

#define CUDA_DOUBLE_COPY_ENTRIES(X, PTDS, PTSZ)                                                                        \
  PTDS(kPlain, cuMemcpy, 4000, (CUdeviceptr destination, CUdeviceptr source, size_t bytes),                            \
       (destination, source, bytes))                                                                                   \
  PTDS(kPlain, cuMemcpyPeer, 4000,                                                                                     \
       (CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context,          \
        size_t bytes),                                                                                                 \
       (destination, destination_context, source, source_context, bytes))                                              \
  PTDS(kPlain, cuMemcpyHtoD_v2, 3020, (CUdeviceptr destination, const void* source, size_t bytes),                     \
       (destination, source, bytes))                                                                                   \
  PTDS(kPlain, cuMemcpyDtoH_v2, 3020, (void* destination, CUdeviceptr source, size_t bytes),                           \
       (destination, source, bytes))                                                                                   \
  PTDS(kPlain, cuMemcpyDtoD_v2, 3020, (CUdeviceptr destination, CUdeviceptr source, size_t bytes),                     \
       (destination, source, bytes))                                                                                   \
  PTDS(kPlain, cuMemcpy2D_v2, 3020, (const CUDA_MEMCPY2D* copy), (copy))                                               \
  PTDS(kPlain, cuMemcpy2DUnaligned_v2, 3020, (const CUDA_MEMCPY2D* copy), (copy))                                      \
  PTSZ(kPlain, cuMemcpyAsync, 4000, (CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream),      \
       (destination, source, bytes, stream))                                                                           \
  PTSZ(kPlain, cuMemcpyPeerAsync, 4000,                                                                                \
       (CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source, CUcontext source_context,          \
        size_t bytes, CUstream stream),                                                                                \
       (destination, destination_context, source, source_context, bytes, stream))                                      \
  PTSZ(kPlain, cuMemcpyHtoDAsync_v2, 3020,                                                                             \
       (CUdeviceptr destination, const void* source, size_t bytes, CUstream stream),                                   \
       (destination, source, bytes, stream))                                                                           \
  PTSZ(kPlain, cuMemcpyDtoHAsync_v2, 3020, (void* destination, CUdeviceptr source, size_t bytes, CUstream stream),     \
       (destination, source, bytes, stream))                                                                           \
  PTSZ(kPlain, cuMemcpyDtoDAsync_v2, 3020,                                                                             \
       (CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream),                                   \
       (destination, source, bytes, stream))                                                                           \
  PTSZ(kPlain, cuMemcpy2DAsync_v2, 3020, (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream))                 \
  PTDS(kPlain, cuMemsetD8_v2, 3020, (CUdeviceptr destination, unsigned char value, size_t count),                      \
       (destination, value, count))                                                                                    \
  PTDS(kPlain, cuMemsetD16_v2, 3020, (CUdeviceptr destination, unsigned short value, size_t count),                    \
       (destination, value, count))                                                                                    \
  PTDS(kPlain, cuMemsetD32_v2, 3020, (CUdeviceptr destination, unsigned value, size_t count),                          \
       (destination, value, count))                                                                                    \
  PTDS(kPlain, cuMemsetD2D8_v2, 3020,                                                                                  \
       (CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height),                      \
       (destination, pitch, value, width, height))                                                                     \
  PTDS(kPlain, cuMemsetD2D16_v2, 3020,                                                                                 \
       (CUdeviceptr destination, size_t pitch, unsigned short value, size_t width, size_t height),                     \
       (destination, pitch, value, width, height))                                                                     \
  PTDS(kPlain, cuMemsetD2D32_v2, 3020,                                                                                 \
       (CUdeviceptr destination, size_t pitch, unsigned value, size_t width, size_t height),                           \
       (destination, pitch, value, width, height))                                                                     \
  PTSZ(kPlain, cuMemsetD8Async, 3020, (CUdeviceptr destination, unsigned char value, size_t count, CUstream stream),   \
       (destination, value, count, stream))                                                                            \
  PTSZ(kPlain, cuMemsetD16Async, 3020, (CUdeviceptr destination, unsigned short value, size_t count, CUstream stream), \
       (destination, value, count, stream))                                                                            \
  PTSZ(kPlain, cuMemsetD32Async, 3020, (CUdeviceptr destination, unsigned value, size_t count, CUstream stream),       \
       (destination, value, count, stream))                                                                            \
  PTSZ(kPlain, cuMemsetD2D8Async, 3020,                                                                                \
       (CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),     \
       (destination, pitch, value, width, height, stream))                                                             \
  PTSZ(kPlain, cuMemsetD2D16Async, 3020,                                                                               \
       (CUdeviceptr destination, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),    \
       (destination, pitch, value, width, height, stream))                                                             \
  PTSZ(kPlain, cuMemsetD2D32Async, 3020,                                                                               \
       (CUdeviceptr destination, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),          \
       (destination, pitch, value, width, height, stream))

#define CUDA_DOUBLE_POOL_ENTRIES(X, PTDS, PTSZ)                                                                   \
  PTSZ(kPlain, cuMemAllocAsync, 11020, (CUdeviceptr * address, size_t bytes, CUstream stream),                    \
       (address, bytes, stream))                                                                                  \
  PTSZ(kRelease, cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream), (address, stream))                \
  PTSZ(kPlain, cuMemAllocFromPoolAsync, 11020,                                                                    \
       (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream)) \
  X(kPlain, cuMemPoolCreate, 11020, (CUmemoryPool * pool, const CUmemPoolProps* properties), (pool, properties))  \
  X(kRelease, cuMemPoolDestroy, 11020, (CUmemoryPool pool), (pool))                                               \
  X(kPlain, cuMemPoolSetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),        \
    (pool, attribute, value))                                                                                     \
  X(kPlain, cuMemPoolGetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void* value),        \
    (pool, attribute, value))                                                                                     \
  X(kPlain, cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep), (pool, keep))                               \
  X(kPlain, cuMemPoolSetAccess, 11020, (CUmemoryPool pool, const CUmemAccessDesc* accesses, size_t count),        \
    (pool, accesses, count))                                                                                      \
  X(kPlain, cuMemPoolGetAccess, 11020, (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation * location),  \
    (flags, pool, location))

#define CUDA_DOUBLE_VIRTUAL_ENTRIES(X, PTDS, PTSZ)                                                                    \
  X(kPlain, cuMemAddressReserve, 10020,                                                                               \
    (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr wanted, unsigned long long flags),             \
    (address, size, alignment, wanted, flags))                                                                        \
  X(kRelease, cuMemAddressFree, 10020, (CUdeviceptr address, size_t size), (address, size))                           \
  X(kPlain, cuMemCreate, 10020,                                                                                       \
    (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp* properties,                       \
     unsigned long long flags),                                                                                       \
    (handle, size, properties, flags))                                                                                \
  X(kRelease, cuMemRelease, 10020, (CUmemGenericAllocationHandle handle), (handle))                                   \
  X(kPlain, cuMemMap, 10020,                                                                                          \
    (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), \
    (address, size, offset, handle, flags))                                                                           \
  X(kRelease, cuMemUnmap, 10020, (CUdeviceptr address, size_t size), (address, size))                                 \
  X(kPlain, cuMemSetAccess, 10020, (CUdeviceptr address, size_t size, const CUmemAccessDesc* accesses, size_t count), \
    (address, size, accesses, count))                                                                                 \
  X(kPlain, cuMemGetAccess, 10020, (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address),   \
    (flags, location, address))                                                                                       \
  X(kPlain, cuMemGetAllocationGranularity, 10020,                                                                     \
    (size_t * granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option),           \
    (granularity, properties, option))                                                                                \
  X(kPlain, cuMemRetainAllocationHandle, 11000, (CUmemGenericAllocationHandle * handle, void* address),               \
    (handle, address))                                                                                                \
  X(kPlain, cuMemGetAllocationPropertiesFromHandle, 10020,                                                            \
    (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle), (properties, handle))

#define CUDA_DOUBLE_MODULE_ENTRIES(X, PTDS, PTSZ)                                                                   \
  X(kPlain, cuModuleLoadData, 2000, (CUmodule * module, const void* image), (module, image))                        \
  X(kPlain, cuModuleLoadDataEx, 2010,                                                                               \
    (CUmodule * module, const void* image, unsigned option_count, CUjit_option* options, void** values),            \
    (module, image, option_count, options, values))                                                                 \
  X(kPlain, cuModuleLoadFatBinary, 2000, (CUmodule * module, const void* image), (module, image))                   \
  X(kRelease, cuModuleUnload, 2000, (CUmodule module), (module))                                                    \
  X(kPlain, cuModuleGetFunction, 2000, (CUfunction * function, CUmodule module, const char* name),                  \
    (function, module, name))                                                                                       \
  X(kPlain, cuModuleGetGlobal_v2, 3020, (CUdeviceptr * address, size_t * bytes, CUmodule module, const char* name), \
    (address, bytes, module, name))                                                                                 \
  X(kPlain, cuFuncGetAttribute, 2020, (int* value, CUfunction_attribute attribute, CUfunction function),            \
    (value, attribute, function))                                                                                   \
  X(kPlain, cuFuncSetAttribute, 9000, (CUfunction function, CUfunction_attribute attribute, int value),             \
    (function, attribute, value))                                                                                   \
  X(kPlain, cuFuncGetName, 12030, (const char** name, CUfunction function), (name, function))                       \
  X(kPlain, cuFuncGetModule, 11000, (CUmodule * module, CUfunction function), (module, function))                   \
  X(kPlain, cuFuncSetCacheConfig, 3000, (CUfunction function, CUfunc_cache config), (function, config))             \
  X(kPlain, cuFuncGetParamInfo, 12040, (CUfunction function, size_t index, size_t * offset, size_t * size),         \
    (function, index, offset, size))                                                                                \
  X(kPlain, cuFuncLoad, 12040, (CUfunction function), (function))                                                   \
  PTSZ(kPlain, cuLaunchKernel, 4000,                                                                                \
       (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
        unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, void** extra),                  \
       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra))       \
  PTSZ(kPlain, cuLaunchKernelEx, 11060,                                                                             \
       (const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra),                         \
       (config, function, arguments, extra))                                                                        \
  X(kPlain, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                                      \
    (int* blocks, CUfunction function, int block_size, size_t shared_bytes),                                        \
    (blocks, function, block_size, shared_bytes))

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
  CUDA_DOUBLE_MODULE_ENTRIES(X, PTDS, PTSZ)

#define CUDA_DOUBLE_DECLARE(kind, symbol, since, parameters, arguments) CUresult do_##symbol parameters;
CUDA_DOUBLE_ENTRIES(CUDA_DOUBLE_DECLARE, CUDA_DOUBLE_DECLARE, CUDA_DOUBLE_DECLARE)
#undef CUDA_DOUBLE_DECLARE

/// Begins the definition of an entry. The symbol is no macro's argument otherwise, as cuda.h renames many.
#define CUDA_DOUBLE_ENTRY(symbol) CUresult do_##symbol

}  // namespace anyplace::doubles::cuda

#endif  // ANYPLACE_TESTS_DOUBLES_CUDA_ENTRIES_H
