/* SPDX-License-Identifier: Apache-2.0
 *
 * A libamdhip64 whose every call succeeds and does nothing, for tests: no output is written, but the version, and the
 * number of devices, which is what IDLE_HIP_DEVICES says. IDLE_HIP_OLD: it is of HIP 4.5. IDLE_HIP_LACKS: it has
 * nothing else. Written against no header, as its functions take no notice of their arguments. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const char* hipGetErrorName(int error);
EXPORT const char* hipGetErrorName(int error) { return error == 0 ? "hipSuccess" : "hipErrorUnknown"; }

EXPORT int hipRuntimeGetVersion(int* version);
EXPORT int hipRuntimeGetVersion(int* version) {
#ifdef IDLE_HIP_OLD
  *version = 40521153;
#else
  *version = 60443484;
#endif
  return 0;
}

#ifndef IDLE_HIP_LACKS

EXPORT int hipGetDeviceCount(int* count);
EXPORT int hipGetDeviceCount(int* count) {
  const char* const devices = getenv("IDLE_HIP_DEVICES");
  if (devices != NULL) *count = atoi(devices);
  return 0;
}

#define IDLE(name)            \
  EXPORT int hip##name(void); \
  EXPORT int hip##name(void) { return 0; }

IDLE(Init)
IDLE(SetDevice)
IDLE(GetDevice)
IDLE(GetLastError)
IDLE(PeekAtLastError)
IDLE(DeviceGetName)
IDLE(DeviceGetAttribute)
IDLE(DeviceTotalMem)
IDLE(DeviceGetPCIBusId)
IDLE(DeviceGetUuid)
IDLE(GetDevicePropertiesR0600)
IDLE(DeviceCanAccessPeer)
IDLE(DeviceEnablePeerAccess)
IDLE(DeviceDisablePeerAccess)
IDLE(DeviceSynchronize)
IDLE(DeviceGetStreamPriorityRange)
IDLE(DevicePrimaryCtxRetain)
IDLE(DevicePrimaryCtxRelease)
IDLE(StreamCreateWithPriority)
IDLE(StreamDestroy)
IDLE(StreamQuery)
IDLE(StreamSynchronize)
IDLE(StreamWaitEvent)
IDLE(StreamGetDevice)
IDLE(StreamWaitValue64)
IDLE(LaunchHostFunc)
IDLE(EventCreateWithFlags)
IDLE(EventDestroy)
IDLE(EventRecord)
IDLE(EventQuery)
IDLE(EventSynchronize)
IDLE(EventElapsedTime)
IDLE(Malloc)
IDLE(ExtMallocWithFlags)
IDLE(Free)
IDLE(HostMalloc)
IDLE(HostFree)
IDLE(HostRegister)
IDLE(HostUnregister)
IDLE(MallocManaged)
IDLE(MemGetInfo)
IDLE(MemcpyHtoDAsync)
IDLE(MemcpyDtoHAsync)
IDLE(MemcpyDtoDAsync)
IDLE(Memcpy2DAsync)
IDLE(MemcpyPeerAsync)
IDLE(MemsetD8Async)
IDLE(MemsetD16Async)
IDLE(MemsetD32Async)
IDLE(ModuleLoadData)
IDLE(ModuleUnload)
IDLE(ModuleGetFunction)
IDLE(FuncGetAttribute)
IDLE(ModuleLaunchKernel)

#endif
