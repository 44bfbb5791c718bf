// SPDX-License-Identifier: Apache-2.0
//
// The Level Zero loader, opened at run time, so that a machine without it gets a reason instead of a link error.
// api().EventCreate(pool, &desc, &event) is zeEventCreate(pool, &desc, &event). Nothing here knows what anyplace does
// with it.
//
// The prototypes are those of ze_api.h, version 1.4 or newer. What is newer than 1.4 is declared here, with the
// specification's values, and is always optional.
//
// Invariant: after load_loader() has returned, every required entry is there, and nothing here changes any more.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <string>

namespace anyplace::levelzero {

/// X(need, Name): the loader exports the entry as ze<Name>. An OPTIONAL entry that is missing is null, and the device
/// lacks a capability then.
#define ANYPLACE_LEVELZERO_ENTRIES(X)                \
  X(REQUIRED, Init)                                  \
  X(REQUIRED, DriverGet)                             \
  X(REQUIRED, DriverGetApiVersion)                   \
  X(REQUIRED, DriverGetProperties)                   \
  X(REQUIRED, DriverGetExtensionProperties)          \
  X(OPTIONAL, DriverGetExtensionFunctionAddress)     \
  X(OPTIONAL, DriverGetIpcProperties)                \
  X(REQUIRED, DeviceGet)                             \
  X(REQUIRED, DeviceGetSubDevices)                   \
  X(REQUIRED, DeviceGetProperties)                   \
  X(REQUIRED, DeviceGetComputeProperties)            \
  X(REQUIRED, DeviceGetModuleProperties)             \
  X(REQUIRED, DeviceGetCommandQueueGroupProperties)  \
  X(REQUIRED, DeviceGetMemoryProperties)             \
  X(REQUIRED, DeviceGetMemoryAccessProperties)       \
  X(REQUIRED, DeviceCanAccessPeer)                   \
  X(REQUIRED, DeviceGetStatus)                       \
  X(OPTIONAL, DevicePciGetPropertiesExt)             \
                                                     \
  X(REQUIRED, ContextCreate)                         \
  X(REQUIRED, ContextDestroy)                        \
                                                     \
  X(REQUIRED, CommandListCreateImmediate)            \
  X(REQUIRED, CommandListDestroy)                    \
  X(OPTIONAL, CommandListCreate)                     \
  X(OPTIONAL, CommandListClose)                      \
  X(OPTIONAL, CommandListAppendEventReset)           \
  X(OPTIONAL, CommandQueueCreate)                    \
  X(OPTIONAL, CommandQueueDestroy)                   \
  X(OPTIONAL, CommandQueueExecuteCommandLists)       \
  X(REQUIRED, CommandListAppendBarrier)              \
  X(REQUIRED, CommandListAppendSignalEvent)          \
  X(REQUIRED, CommandListAppendWaitOnEvents)         \
  X(REQUIRED, CommandListAppendWriteGlobalTimestamp) \
  X(REQUIRED, CommandListAppendMemoryCopy)           \
  X(REQUIRED, CommandListAppendMemoryCopyRegion)     \
  X(REQUIRED, CommandListAppendMemoryFill)           \
  X(REQUIRED, CommandListAppendLaunchKernel)         \
                                                     \
  X(REQUIRED, EventPoolCreate)                       \
  X(REQUIRED, EventPoolDestroy)                      \
  X(REQUIRED, EventCreate)                           \
  X(REQUIRED, EventDestroy)                          \
  X(REQUIRED, EventHostSignal)                       \
  X(REQUIRED, EventHostSynchronize)                  \
  X(REQUIRED, EventQueryStatus)                      \
  X(REQUIRED, EventHostReset)                        \
                                                     \
  X(REQUIRED, MemAllocDevice)                        \
  X(REQUIRED, MemAllocHost)                          \
  X(REQUIRED, MemAllocShared)                        \
  X(REQUIRED, MemFree)                               \
  X(REQUIRED, MemGetAllocProperties)                 \
  X(OPTIONAL, MemGetIpcHandle)                       \
  X(OPTIONAL, MemOpenIpcHandle)                      \
  X(OPTIONAL, MemCloseIpcHandle)                     \
                                                     \
  X(OPTIONAL, VirtualMemReserve)                     \
  X(OPTIONAL, VirtualMemFree)                        \
  X(OPTIONAL, VirtualMemQueryPageSize)               \
  X(OPTIONAL, VirtualMemMap)                         \
  X(OPTIONAL, VirtualMemUnmap)                       \
  X(OPTIONAL, PhysicalMemCreate)                     \
  X(OPTIONAL, PhysicalMemDestroy)                    \
                                                     \
  X(REQUIRED, ModuleCreate)                          \
  X(REQUIRED, ModuleDestroy)                         \
  X(OPTIONAL, ModuleGetGlobalPointer)                \
  X(REQUIRED, ModuleBuildLogDestroy)                 \
  X(REQUIRED, ModuleBuildLogGetString)               \
  X(REQUIRED, KernelCreate)                          \
  X(REQUIRED, KernelDestroy)                         \
  X(REQUIRED, KernelSetGroupSize)                    \
  X(REQUIRED, KernelSetArgumentValue)                \
  X(REQUIRED, KernelSetIndirectAccess)               \
  X(REQUIRED, KernelGetProperties)

/// X(Name, parameters): entries newer than version 1.4. The loader exports them as ze<Name>; they are null where it
/// doesn't.
#define ANYPLACE_LEVELZERO_NEWER_ENTRIES(X)                                      \
  X(CommandListIsImmediate, (ze_command_list_handle_t, ze_bool_t*))              \
  X(CommandListGetDeviceHandle, (ze_command_list_handle_t, ze_device_handle_t*)) \
  X(MemPutIpcHandle, (ze_context_handle_t, ze_ipc_mem_handle_t))

struct Api {
#define ANYPLACE_LEVELZERO_MEMBER(need, Name) decltype(&ze##Name) Name;
  ANYPLACE_LEVELZERO_ENTRIES(ANYPLACE_LEVELZERO_MEMBER)
#undef ANYPLACE_LEVELZERO_MEMBER
#define ANYPLACE_LEVELZERO_MEMBER(Name, parameters) ze_result_t(ZE_APICALL* Name) parameters;
  ANYPLACE_LEVELZERO_NEWER_ENTRIES(ANYPLACE_LEVELZERO_MEMBER)
#undef ANYPLACE_LEVELZERO_MEMBER
};

/// load_loader() fills the table, which never changes afterwards.
extern Api loaded_api;
inline const Api& api() noexcept { return loaded_api; }

/// Opens libze_loader.so.1, finds the entries and calls zeInit. Throws LIBRARY_MISSING or NO_DRIVER, with advice.
void load_loader();

/// A version as text, such as "1.4".
std::string version_text(ze_api_version_t version);

// ---- What ze_api.h 1.4 lacks (values: Level Zero specification 1.9, core API) --------------------------------------

/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER: the driver keeps the commands of an immediate list in order.
constexpr ze_command_queue_flags_t command_queue_flag_in_order = 1u << 1;
/// The specification has the flag from this version on. A driver of an earlier version might ignore the flag, and then
/// commands would run out of order.
constexpr auto first_version_with_in_order_lists = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 9));

/// These mirror ze_device_ip_version_ext_t of the extension ZE_extension_device_ip_version.
constexpr const char* device_ip_version_extension = "ZE_extension_device_ip_version";
constexpr auto structure_type_device_ip_version = static_cast<ze_structure_type_t>(0x1000f);
struct DeviceIpVersion {
  ze_structure_type_t stype;
  void* pNext;
  uint32_t ipVersion;
};

}  // namespace anyplace::levelzero
