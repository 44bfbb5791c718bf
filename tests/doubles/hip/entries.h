// SPDX-License-Identifier: Apache-2.0
//
// The entries of the double: what its libamdhip64 exports. From this list are made the exported functions, the counts
// of calls and the failures on demand. AMD's hip_runtime_api.h is the source of the signatures; parameters whose
// enumeration an older header lacks are int.
//
// X(kind, symbol, (parameters), (arguments)). The function itself is do_SYMBOL, in the file of its area; outputs are
// left alone unless it succeeds. hipGetLastError and what doesn't return a hipError_t is in exports.cpp, and is not
// counted.
#ifndef ANYPLACE_TESTS_DOUBLES_HIP_ENTRIES_H
#define ANYPLACE_TESTS_DOUBLES_HIP_ENTRIES_H

#include <cstddef>
#include <cstdint>

#include "compat.h"

namespace anyplace::doubles::hip {

enum class Kind : uint8_t {
  kEarly,    // may be called without a device, and from host functions
  kPlain,    //
  kRelease,  // gives something back: does so even if it was told to fail, or the device has failed
};

#define HIP_DOUBLE_DEVICE_ENTRIES(X)                                                                    \
  X(kEarly, hipInit, (unsigned flags), (flags))                                                         \
  X(kEarly, hipRuntimeGetVersion, (int* version), (version))                                            \
  X(kEarly, hipDriverGetVersion, (int* version), (version))                                             \
  X(kEarly, hipGetDeviceCount, (int* count), (count))                                                   \
  X(kPlain, hipSetDevice, (int device), (device))                                                       \
  X(kPlain, hipGetDevice, (int* device), (device))                                                      \
  X(kPlain, hipDeviceGet, (hipDevice_t * device, int ordinal), (device, ordinal))                       \
  X(kPlain, hipDeviceGetName, (char* name, int bytes, hipDevice_t device), (name, bytes, device))       \
  X(kPlain, hipDeviceGetAttribute, (int* value, int attribute, int device), (value, attribute, device)) \
  X(kPlain, hipDeviceTotalMem, (size_t * bytes, hipDevice_t device), (bytes, device))                   \
  X(kPlain, hipDeviceGetPCIBusId, (char* pci, int bytes, int device), (pci, bytes, device))             \
  X(kPlain, hipDeviceGetUuid, (hipUUID * uuid, hipDevice_t device), (uuid, device))                     \
  X(kPlain, hipGetDeviceProperties, (void* properties, int device), (properties, device))               \
  X(kPlain, hipGetDevicePropertiesR0600, (void* properties, int device), (properties, device))          \
  X(kPlain, hipDeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer))              \
  X(kPlain, hipDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))                       \
  X(kPlain, hipDeviceDisablePeerAccess, (int peer), (peer))                                             \
  X(kPlain, hipDeviceSynchronize, (), ())                                                               \
  X(kPlain, hipDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest))            \
  X(kPlain, hipDevicePrimaryCtxRetain, (hipCtx_t * context, hipDevice_t device), (context, device))     \
  X(kRelease, hipDevicePrimaryCtxRelease, (hipDevice_t device), (device))                               \
  X(kPlain, hipThreadExchangeStreamCaptureMode, (int* mode), (mode))

#define HIP_DOUBLE_STREAM_ENTRIES(X)                                                                                  \
  X(kPlain, hipStreamCreate, (hipStream_t * stream), (stream))                                                        \
  X(kPlain, hipStreamCreateWithFlags, (hipStream_t * stream, unsigned flags), (stream, flags))                        \
  X(kPlain, hipStreamCreateWithPriority, (hipStream_t * stream, unsigned flags, int priority),                        \
    (stream, flags, priority))                                                                                        \
  X(kRelease, hipStreamDestroy, (hipStream_t stream), (stream))                                                       \
  X(kPlain, hipStreamQuery, (hipStream_t stream), (stream))                                                           \
  X(kPlain, hipStreamSynchronize, (hipStream_t stream), (stream))                                                     \
  X(kPlain, hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags), (stream, event, flags))       \
  X(kPlain, hipStreamGetPriority, (hipStream_t stream, int* priority), (stream, priority))                            \
  X(kPlain, hipStreamGetFlags, (hipStream_t stream, unsigned* flags), (stream, flags))                                \
  X(kPlain, hipStreamGetDevice, (hipStream_t stream, hipDevice_t * device), (stream, device))                         \
  X(kPlain, hipStreamAddCallback, (hipStream_t stream, StreamCallback callback, void* user, unsigned flags),          \
    (stream, callback, user, flags))                                                                                  \
  X(kPlain, hipLaunchHostFunc, (hipStream_t stream, HostFunction function, void* user), (stream, function, user))     \
  X(kPlain, hipStreamWaitValue64, (hipStream_t stream, void* address, uint64_t value, unsigned flags, uint64_t mask), \
    (stream, address, value, flags, mask))

#define HIP_DOUBLE_EVENT_ENTRIES(X)                                                                                   \
  X(kPlain, hipEventCreate, (hipEvent_t * event), (event))                                                            \
  X(kPlain, hipEventCreateWithFlags, (hipEvent_t * event, unsigned flags), (event, flags))                            \
  X(kRelease, hipEventDestroy, (hipEvent_t event), (event))                                                           \
  X(kPlain, hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))                                  \
  X(kPlain, hipEventQuery, (hipEvent_t event), (event))                                                               \
  X(kPlain, hipEventSynchronize, (hipEvent_t event), (event))                                                         \
  X(kPlain, hipEventElapsedTime, (float* milliseconds, hipEvent_t start, hipEvent_t end), (milliseconds, start, end)) \
  X(kPlain, hipIpcGetEventHandle, (hipIpcEventHandle_t * handle, hipEvent_t event), (handle, event))

#define HIP_DOUBLE_MEMORY_ENTRIES(X)                                                                           \
  X(kPlain, hipMalloc, (void** memory, size_t bytes), (memory, bytes))                                         \
  X(kPlain, hipExtMallocWithFlags, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))      \
  X(kRelease, hipFree, (void* memory), (memory))                                                               \
  X(kPlain, hipHostMalloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))              \
  X(kRelease, hipHostFree, (void* memory), (memory))                                                           \
  X(kPlain, hipHostGetDevicePointer, (void** address, void* memory, unsigned flags), (address, memory, flags)) \
  X(kPlain, hipHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))             \
  X(kRelease, hipHostUnregister, (void* memory), (memory))                                                     \
  X(kPlain, hipMallocManaged, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))           \
  X(kPlain, hipMemGetInfo, (size_t * free, size_t * total), (free, total))

#define HIP_DOUBLE_POOL_ENTRIES(X)                                                                             \
  X(kPlain, hipMallocFromPoolAsync, (void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream),      \
    (memory, bytes, pool, stream))                                                                             \
  X(kRelease, hipFreeAsync, (void* memory, hipStream_t stream), (memory, stream))                              \
  X(kPlain, hipMemPoolCreate, (hipMemPool_t * pool, const hipMemPoolProps* properties), (pool, properties))    \
  X(kRelease, hipMemPoolDestroy, (hipMemPool_t pool), (pool))                                                  \
  X(kPlain, hipMemPoolSetAttribute, (hipMemPool_t pool, int attribute, void* value), (pool, attribute, value)) \
  X(kPlain, hipMemPoolGetAttribute, (hipMemPool_t pool, int attribute, void* value), (pool, attribute, value)) \
  X(kPlain, hipMemPoolTrimTo, (hipMemPool_t pool, size_t keep), (pool, keep))                                  \
  X(kPlain, hipMemPoolSetAccess, (hipMemPool_t pool, const hipMemAccessDesc* accesses, size_t count),          \
    (pool, accesses, count))

#define HIP_DOUBLE_VIRTUAL_ENTRIES(X)                                                                              \
  X(kPlain, hipMemGetAllocationGranularity,                                                                        \
    (size_t * granularity, const AllocationProperties* properties, int option), (granularity, properties, option)) \
  X(kPlain, hipMemAddressReserve,                                                                                  \
    (void** address, size_t size, size_t alignment, void* wanted, unsigned long long flags),                       \
    (address, size, alignment, wanted, flags))                                                                     \
  X(kRelease, hipMemAddressFree, (void* address, size_t size), (address, size))                                    \
  X(kPlain, hipMemCreate,                                                                                          \
    (hipMemGenericAllocationHandle_t * handle, size_t size, const AllocationProperties* properties,                \
     unsigned long long flags),                                                                                    \
    (handle, size, properties, flags))                                                                             \
  X(kRelease, hipMemRelease, (hipMemGenericAllocationHandle_t handle), (handle))                                   \
  X(kPlain, hipMemMap,                                                                                             \
    (void* address, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags), \
    (address, size, offset, handle, flags))                                                                        \
  X(kRelease, hipMemUnmap, (void* address, size_t size), (address, size))                                          \
  X(kPlain, hipMemSetAccess, (void* address, size_t size, const hipMemAccessDesc* accesses, size_t count),         \
    (address, size, accesses, count))                                                                              \
  X(kPlain, hipMemGetAccess, (unsigned long long* flags, const hipMemLocation* location, void* address),           \
    (flags, location, address))

#define HIP_DOUBLE_COPY_ENTRIES(X)                                                                               \
  X(kPlain, hipMemcpy, (void* destination, const void* source, size_t bytes, int kind),                          \
    (destination, source, bytes, kind))                                                                          \
  X(kPlain, hipMemcpyAsync, (void* destination, const void* source, size_t bytes, int kind, hipStream_t stream), \
    (destination, source, bytes, kind, stream))                                                                  \
  X(kPlain, hipMemcpyHtoDAsync, (void* destination, const void* source, size_t bytes, hipStream_t stream),       \
    (destination, source, bytes, stream))                                                                        \
  X(kPlain, hipMemcpyDtoHAsync, (void* destination, void* source, size_t bytes, hipStream_t stream),             \
    (destination, source, bytes, stream))                                                                        \
  X(kPlain, hipMemcpyDtoDAsync, (void* destination, void* source, size_t bytes, hipStream_t stream),             \
    (destination, source, bytes, stream))                                                                        \
  X(kPlain, hipMemcpy2DAsync,                                                                                    \
    (void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,         \
     size_t height, int kind, hipStream_t stream),                                                               \
    (destination, destination_pitch, source, source_pitch, width, height, kind, stream))                         \
  X(kPlain, hipMemcpyPeerAsync,                                                                                  \
    (void* destination, int destination_device, const void* source, int source_device, size_t bytes,             \
     hipStream_t stream),                                                                                        \
    (destination, destination_device, source, source_device, bytes, stream))                                     \
  X(kPlain, hipMemsetD8Async, (void* destination, unsigned char value, size_t count, hipStream_t stream),        \
    (destination, value, count, stream))                                                                         \
  X(kPlain, hipMemsetD16Async, (void* destination, unsigned short value, size_t count, hipStream_t stream),      \
    (destination, value, count, stream))                                                                         \
  X(kPlain, hipMemsetD32Async, (void* destination, int value, size_t count, hipStream_t stream),                 \
    (destination, value, count, stream))

#define HIP_DOUBLE_MODULE_ENTRIES(X)                                                                                \
  X(kPlain, hipModuleLoadData, (hipModule_t * module, const void* image), (module, image))                          \
  X(kRelease, hipModuleUnload, (hipModule_t module), (module))                                                      \
  X(kPlain, hipModuleGetFunction, (hipFunction_t * function, hipModule_t module, const char* name),                 \
    (function, module, name))                                                                                       \
  X(kPlain, hipFuncGetAttribute, (int* value, int attribute, hipFunction_t function), (value, attribute, function)) \
  X(kPlain, hipModuleLaunchKernel,                                                                                  \
    (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
     unsigned block_z, unsigned shared_bytes, hipStream_t stream, void** arguments, void** extra),                  \
    (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra))

#define HIP_DOUBLE_ENTRIES(X)   \
  HIP_DOUBLE_DEVICE_ENTRIES(X)  \
  HIP_DOUBLE_STREAM_ENTRIES(X)  \
  HIP_DOUBLE_EVENT_ENTRIES(X)   \
  HIP_DOUBLE_MEMORY_ENTRIES(X)  \
  HIP_DOUBLE_POOL_ENTRIES(X)    \
  HIP_DOUBLE_VIRTUAL_ENTRIES(X) \
  HIP_DOUBLE_COPY_ENTRIES(X)    \
  HIP_DOUBLE_MODULE_ENTRIES(X)

#define HIP_DOUBLE_DECLARE(kind, symbol, parameters, arguments) hipError_t do_##symbol parameters;
HIP_DOUBLE_ENTRIES(HIP_DOUBLE_DECLARE)
#undef HIP_DOUBLE_DECLARE

/// Begins the definition of an entry. The symbol is no macro's argument otherwise, as newer headers rename some.
#define HIP_DOUBLE_ENTRY(symbol) hipError_t do_##symbol

}  // namespace anyplace::doubles::hip

#endif  // ANYPLACE_TESTS_DOUBLES_HIP_ENTRIES_H
