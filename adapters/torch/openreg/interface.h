// SPDX-License-Identifier: Apache-2.0
//
// The interface of PyTorch's OpenReg runtime, which is declared in PyTorch's
// test/cpp_extensions/open_registration_extension/torch_openreg/third_party/openreg/include/openreg.h: names, values
// and layouts are those. Its users are compiled against PyTorch's own header; this is what the library is compiled
// with.
//
// Every function returns orErrorUnknown for what it can't do, and for any failure of anyplace's. There is no text in
// this interface: with ANYPLACE_OPENREG_ERRORS=1 in the environment anyplace's goes to standard error.
#pragma once

#include <cstddef>
#include <functional>

#define OPENREG_EXPORT __attribute__((visibility("default")))

extern "C" {

enum orError_t { orSuccess = 0, orErrorUnknown = 1, orErrorNotReady = 2 };
enum orMemcpyKind {
  orMemcpyHostToHost = 0,
  orMemcpyHostToDevice = 1,
  orMemcpyDeviceToHost = 2,
  orMemcpyDeviceToDevice = 3
};
enum orMemoryType { orMemoryTypeUnmanaged = 0, orMemoryTypeHost = 1, orMemoryTypeDevice = 2 };
enum orEventFlags { orEventDisableTiming = 0, orEventEnableTiming = 1 };

/// Of memory that isn't the runtime's own: unmanaged, device -1, the pointer that was asked about.
struct orPointerAttributes {
  orMemoryType type;
  int device;     ///< -1 for host memory
  void* pointer;  ///< where the allocation begins
};

struct orStream;
struct orEvent;
using orStream_t = orStream*;
using orEvent_t = orEvent*;

// -- Memory. Sizes in bytes; 0 is refused. Device memory is the current device's, and freeing waits for the device.
OPENREG_EXPORT orError_t orMalloc(void** pointer, std::size_t size);
OPENREG_EXPORT orError_t orFree(void* pointer);
OPENREG_EXPORT orError_t orMallocHost(void** pointer, std::size_t size);
OPENREG_EXPORT orError_t orFreeHost(void* pointer);
OPENREG_EXPORT orError_t orMemcpy(void* destination, const void* source, std::size_t count, orMemcpyKind kind);
OPENREG_EXPORT orError_t orMemcpyAsync(void* destination, const void* source, std::size_t count, orMemcpyKind kind,
                                       orStream_t stream);
OPENREG_EXPORT orError_t orPointerGetAttributes(orPointerAttributes* attributes, const void* pointer);
/// Between the two the host may use device memory. Here it always may: the memory is managed.
OPENREG_EXPORT orError_t orMemoryUnprotect(void* pointer);
OPENREG_EXPORT orError_t orMemoryProtect(void* pointer);

// -- Devices. The current one is the calling thread's.
OPENREG_EXPORT orError_t orGetDeviceCount(int* count);
OPENREG_EXPORT orError_t orSetDevice(int device);
OPENREG_EXPORT orError_t orGetDevice(int* device);
OPENREG_EXPORT orError_t orDeviceGetStreamPriorityRange(int* least, int* greatest);
OPENREG_EXPORT orError_t orDeviceSynchronize();

// -- Streams, of the device that is current when they are made. Destroying waits for their work.
OPENREG_EXPORT orError_t orStreamCreateWithPriority(orStream_t* stream, unsigned int flags, int priority);
OPENREG_EXPORT orError_t orStreamCreate(orStream_t* stream);
OPENREG_EXPORT orError_t orStreamGetPriority(orStream_t stream, int* priority);
OPENREG_EXPORT orError_t orStreamDestroy(orStream_t stream);
OPENREG_EXPORT orError_t orStreamQuery(orStream_t stream);
OPENREG_EXPORT orError_t orStreamSynchronize(orStream_t stream);
OPENREG_EXPORT orError_t orStreamWaitEvent(orStream_t stream, orEvent_t event, unsigned int flags);

// -- Events, likewise.
OPENREG_EXPORT orError_t orEventCreateWithFlags(orEvent_t* event, unsigned int flags);
OPENREG_EXPORT orError_t orEventCreate(orEvent_t* event);
OPENREG_EXPORT orError_t orEventDestroy(orEvent_t event);
OPENREG_EXPORT orError_t orEventRecord(orEvent_t event, orStream_t stream);
OPENREG_EXPORT orError_t orEventSynchronize(orEvent_t event);
OPENREG_EXPORT orError_t orEventQuery(orEvent_t event);
OPENREG_EXPORT orError_t orEventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end);

}  // extern "C"

namespace openreg {

/// Runs the task on the host in the stream's order. It may use memory, and may not call this runtime: what it calls
/// returns orErrorUnknown.
OPENREG_EXPORT orError_t addTaskToStream(orStream* stream, std::function<void()> task);

}  // namespace openreg
