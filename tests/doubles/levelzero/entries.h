// SPDX-License-Identifier: Apache-2.0
//
// The functions of Level Zero that the double has, once: for the tables that a loader asks for, for the symbols of a
// library that stands in for the loader, and for the counts.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>

namespace anyplace::doubles::levelzero {

enum class Kind : uint8_t {
  early,  // may be called before zeInit succeeded
  use,
  release,  // gives something back, also when it is made to fail
};

// X(table of the loader, its member without pfn, kind, symbol, parameters, arguments)
// clang-format off
#define LEVELZERO_DOUBLE_ENTRIES(X) \
  X(Global, Init, early, zeInit, (ze_init_flags_t flags), (flags)) \
  X(Driver, Get, use, zeDriverGet, (uint32_t* pCount, ze_driver_handle_t* phDrivers), (pCount, phDrivers)) \
  X(Driver, GetApiVersion, use, zeDriverGetApiVersion, (ze_driver_handle_t hDriver, ze_api_version_t* version), (hDriver, version)) \
  X(Driver, GetProperties, use, zeDriverGetProperties, (ze_driver_handle_t hDriver, ze_driver_properties_t* pDriverProperties), (hDriver, pDriverProperties)) \
  X(Driver, GetIpcProperties, use, zeDriverGetIpcProperties, (ze_driver_handle_t hDriver, ze_driver_ipc_properties_t* pIpcProperties), (hDriver, pIpcProperties)) \
  X(Driver, GetExtensionProperties, use, zeDriverGetExtensionProperties, (ze_driver_handle_t hDriver, uint32_t* pCount, ze_driver_extension_properties_t* pExtensionProperties), (hDriver, pCount, pExtensionProperties)) \
  X(Driver, GetExtensionFunctionAddress, use, zeDriverGetExtensionFunctionAddress, (ze_driver_handle_t hDriver, const char* name, void** ppFunctionAddress), (hDriver, name, ppFunctionAddress)) \
  X(Device, Get, use, zeDeviceGet, (ze_driver_handle_t hDriver, uint32_t* pCount, ze_device_handle_t* phDevices), (hDriver, pCount, phDevices)) \
  X(Device, GetSubDevices, use, zeDeviceGetSubDevices, (ze_device_handle_t hDevice, uint32_t* pCount, ze_device_handle_t* phSubdevices), (hDevice, pCount, phSubdevices)) \
  X(Device, GetProperties, use, zeDeviceGetProperties, (ze_device_handle_t hDevice, ze_device_properties_t* pDeviceProperties), (hDevice, pDeviceProperties)) \
  X(Device, GetComputeProperties, use, zeDeviceGetComputeProperties, (ze_device_handle_t hDevice, ze_device_compute_properties_t* pComputeProperties), (hDevice, pComputeProperties)) \
  X(Device, GetModuleProperties, use, zeDeviceGetModuleProperties, (ze_device_handle_t hDevice, ze_device_module_properties_t* pModuleProperties), (hDevice, pModuleProperties)) \
  X(Device, GetCommandQueueGroupProperties, use, zeDeviceGetCommandQueueGroupProperties, (ze_device_handle_t hDevice, uint32_t* pCount, ze_command_queue_group_properties_t* pCommandQueueGroupProperties), (hDevice, pCount, pCommandQueueGroupProperties)) \
  X(Device, GetMemoryProperties, use, zeDeviceGetMemoryProperties, (ze_device_handle_t hDevice, uint32_t* pCount, ze_device_memory_properties_t* pMemProperties), (hDevice, pCount, pMemProperties)) \
  X(Device, GetMemoryAccessProperties, use, zeDeviceGetMemoryAccessProperties, (ze_device_handle_t hDevice, ze_device_memory_access_properties_t* pMemAccessProperties), (hDevice, pMemAccessProperties)) \
  X(Device, CanAccessPeer, use, zeDeviceCanAccessPeer, (ze_device_handle_t hDevice, ze_device_handle_t hPeerDevice, ze_bool_t* value), (hDevice, hPeerDevice, value)) \
  X(Device, GetStatus, use, zeDeviceGetStatus, (ze_device_handle_t hDevice), (hDevice)) \
  X(Device, PciGetPropertiesExt, use, zeDevicePciGetPropertiesExt, (ze_device_handle_t hDevice, ze_pci_ext_properties_t* pPciProperties), (hDevice, pPciProperties)) \
  X(Context, Create, use, zeContextCreate, (ze_driver_handle_t hDriver, const ze_context_desc_t* desc, ze_context_handle_t* phContext), (hDriver, desc, phContext)) \
  X(Context, Destroy, release, zeContextDestroy, (ze_context_handle_t hContext), (hContext)) \
  X(CommandList, CreateImmediate, use, zeCommandListCreateImmediate, (ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_command_queue_desc_t* altdesc, ze_command_list_handle_t* phCommandList), (hContext, hDevice, altdesc, phCommandList)) \
  X(CommandQueue, Create, use, zeCommandQueueCreate, (ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_command_queue_desc_t* desc, ze_command_queue_handle_t* phCommandQueue), (hContext, hDevice, desc, phCommandQueue)) \
  X(CommandQueue, Destroy, release, zeCommandQueueDestroy, (ze_command_queue_handle_t hCommandQueue), (hCommandQueue)) \
  X(CommandQueue, ExecuteCommandLists, use, zeCommandQueueExecuteCommandLists, (ze_command_queue_handle_t hCommandQueue, uint32_t numCommandLists, ze_command_list_handle_t* phCommandLists, ze_fence_handle_t hFence), (hCommandQueue, numCommandLists, phCommandLists, hFence)) \
  X(CommandList, Create, use, zeCommandListCreate, (ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_command_list_desc_t* desc, ze_command_list_handle_t* phCommandList), (hContext, hDevice, desc, phCommandList)) \
  X(CommandList, Close, use, zeCommandListClose, (ze_command_list_handle_t hCommandList), (hCommandList)) \
  X(CommandList, AppendEventReset, use, zeCommandListAppendEventReset, (ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent), (hCommandList, hEvent)) \
  X(CommandList, Destroy, release, zeCommandListDestroy, (ze_command_list_handle_t hCommandList), (hCommandList)) \
  X(CommandList, AppendBarrier, use, zeCommandListAppendBarrier, (ze_command_list_handle_t hCommandList, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(CommandList, AppendSignalEvent, use, zeCommandListAppendSignalEvent, (ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent), (hCommandList, hEvent)) \
  X(CommandList, AppendWaitOnEvents, use, zeCommandListAppendWaitOnEvents, (ze_command_list_handle_t hCommandList, uint32_t numEvents, ze_event_handle_t* phEvents), (hCommandList, numEvents, phEvents)) \
  X(CommandList, AppendWriteGlobalTimestamp, use, zeCommandListAppendWriteGlobalTimestamp, (ze_command_list_handle_t hCommandList, uint64_t* dstptr, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, dstptr, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(CommandList, AppendMemoryCopy, use, zeCommandListAppendMemoryCopy, (ze_command_list_handle_t hCommandList, void* dstptr, const void* srcptr, size_t size, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, dstptr, srcptr, size, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(CommandList, AppendMemoryCopyRegion, use, zeCommandListAppendMemoryCopyRegion, (ze_command_list_handle_t hCommandList, void* dstptr, const ze_copy_region_t* dstRegion, uint32_t dstPitch, uint32_t dstSlicePitch, const void* srcptr, const ze_copy_region_t* srcRegion, uint32_t srcPitch, uint32_t srcSlicePitch, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, dstptr, dstRegion, dstPitch, dstSlicePitch, srcptr, srcRegion, srcPitch, srcSlicePitch, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(CommandList, AppendMemoryFill, use, zeCommandListAppendMemoryFill, (ze_command_list_handle_t hCommandList, void* ptr, const void* pattern, size_t pattern_size, size_t size, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, ptr, pattern, pattern_size, size, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(CommandList, AppendLaunchKernel, use, zeCommandListAppendLaunchKernel, (ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel, const ze_group_count_t* pLaunchFuncArgs, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t* phWaitEvents), (hCommandList, hKernel, pLaunchFuncArgs, hSignalEvent, numWaitEvents, phWaitEvents)) \
  X(EventPool, Create, use, zeEventPoolCreate, (ze_context_handle_t hContext, const ze_event_pool_desc_t* desc, uint32_t numDevices, ze_device_handle_t* phDevices, ze_event_pool_handle_t* phEventPool), (hContext, desc, numDevices, phDevices, phEventPool)) \
  X(EventPool, Destroy, release, zeEventPoolDestroy, (ze_event_pool_handle_t hEventPool), (hEventPool)) \
  X(Event, Create, use, zeEventCreate, (ze_event_pool_handle_t hEventPool, const ze_event_desc_t* desc, ze_event_handle_t* phEvent), (hEventPool, desc, phEvent)) \
  X(Event, Destroy, release, zeEventDestroy, (ze_event_handle_t hEvent), (hEvent)) \
  X(Event, HostSignal, use, zeEventHostSignal, (ze_event_handle_t hEvent), (hEvent)) \
  X(Event, HostSynchronize, use, zeEventHostSynchronize, (ze_event_handle_t hEvent, uint64_t timeout), (hEvent, timeout)) \
  X(Event, QueryStatus, use, zeEventQueryStatus, (ze_event_handle_t hEvent), (hEvent)) \
  X(Event, HostReset, use, zeEventHostReset, (ze_event_handle_t hEvent), (hEvent)) \
  X(Mem, AllocDevice, use, zeMemAllocDevice, (ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t* device_desc, size_t size, size_t alignment, ze_device_handle_t hDevice, void** pptr), (hContext, device_desc, size, alignment, hDevice, pptr)) \
  X(Mem, AllocHost, use, zeMemAllocHost, (ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment, void** pptr), (hContext, host_desc, size, alignment, pptr)) \
  X(Mem, AllocShared, use, zeMemAllocShared, (ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t* device_desc, const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment, ze_device_handle_t hDevice, void** pptr), (hContext, device_desc, host_desc, size, alignment, hDevice, pptr)) \
  X(Mem, Free, release, zeMemFree, (ze_context_handle_t hContext, void* ptr), (hContext, ptr)) \
  X(Mem, GetAllocProperties, use, zeMemGetAllocProperties, (ze_context_handle_t hContext, const void* ptr, ze_memory_allocation_properties_t* pMemAllocProperties, ze_device_handle_t* phDevice), (hContext, ptr, pMemAllocProperties, phDevice)) \
  X(Mem, GetIpcHandle, use, zeMemGetIpcHandle, (ze_context_handle_t hContext, const void* ptr, ze_ipc_mem_handle_t* pIpcHandle), (hContext, ptr, pIpcHandle)) \
  X(Mem, OpenIpcHandle, use, zeMemOpenIpcHandle, (ze_context_handle_t hContext, ze_device_handle_t hDevice, ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void** pptr), (hContext, hDevice, handle, flags, pptr)) \
  X(Mem, CloseIpcHandle, release, zeMemCloseIpcHandle, (ze_context_handle_t hContext, const void* ptr), (hContext, ptr)) \
  X(VirtualMem, Reserve, use, zeVirtualMemReserve, (ze_context_handle_t hContext, const void* pStart, size_t size, void** pptr), (hContext, pStart, size, pptr)) \
  X(VirtualMem, Free, release, zeVirtualMemFree, (ze_context_handle_t hContext, const void* ptr, size_t size), (hContext, ptr, size)) \
  X(VirtualMem, QueryPageSize, use, zeVirtualMemQueryPageSize, (ze_context_handle_t hContext, ze_device_handle_t hDevice, size_t size, size_t* pagesize), (hContext, hDevice, size, pagesize)) \
  X(VirtualMem, Map, use, zeVirtualMemMap, (ze_context_handle_t hContext, const void* ptr, size_t size, ze_physical_mem_handle_t hPhysicalMemory, size_t offset, ze_memory_access_attribute_t access), (hContext, ptr, size, hPhysicalMemory, offset, access)) \
  X(VirtualMem, Unmap, release, zeVirtualMemUnmap, (ze_context_handle_t hContext, const void* ptr, size_t size), (hContext, ptr, size)) \
  X(PhysicalMem, Create, use, zePhysicalMemCreate, (ze_context_handle_t hContext, ze_device_handle_t hDevice, ze_physical_mem_desc_t* desc, ze_physical_mem_handle_t* phPhysicalMemory), (hContext, hDevice, desc, phPhysicalMemory)) \
  X(PhysicalMem, Destroy, release, zePhysicalMemDestroy, (ze_context_handle_t hContext, ze_physical_mem_handle_t hPhysicalMemory), (hContext, hPhysicalMemory)) \
  X(Module, Create, use, zeModuleCreate, (ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_module_desc_t* desc, ze_module_handle_t* phModule, ze_module_build_log_handle_t* phBuildLog), (hContext, hDevice, desc, phModule, phBuildLog)) \
  X(Module, Destroy, release, zeModuleDestroy, (ze_module_handle_t hModule), (hModule)) \
  X(Module, GetGlobalPointer, use, zeModuleGetGlobalPointer, (ze_module_handle_t hModule, const char* pGlobalName, size_t* pSize, void** pptr), (hModule, pGlobalName, pSize, pptr)) \
  X(ModuleBuildLog, Destroy, release, zeModuleBuildLogDestroy, (ze_module_build_log_handle_t hModuleBuildLog), (hModuleBuildLog)) \
  X(ModuleBuildLog, GetString, use, zeModuleBuildLogGetString, (ze_module_build_log_handle_t hModuleBuildLog, size_t* pSize, char* pBuildLog), (hModuleBuildLog, pSize, pBuildLog)) \
  X(Kernel, Create, use, zeKernelCreate, (ze_module_handle_t hModule, const ze_kernel_desc_t* desc, ze_kernel_handle_t* phKernel), (hModule, desc, phKernel)) \
  X(Kernel, Destroy, release, zeKernelDestroy, (ze_kernel_handle_t hKernel), (hKernel)) \
  X(Kernel, SetGroupSize, use, zeKernelSetGroupSize, (ze_kernel_handle_t hKernel, uint32_t groupSizeX, uint32_t groupSizeY, uint32_t groupSizeZ), (hKernel, groupSizeX, groupSizeY, groupSizeZ)) \
  X(Kernel, SetArgumentValue, use, zeKernelSetArgumentValue, (ze_kernel_handle_t hKernel, uint32_t argIndex, size_t argSize, const void* pArgValue), (hKernel, argIndex, argSize, pArgValue)) \
  X(Kernel, SetIndirectAccess, use, zeKernelSetIndirectAccess, (ze_kernel_handle_t hKernel, ze_kernel_indirect_access_flags_t flags), (hKernel, flags)) \
  X(Kernel, GetProperties, use, zeKernelGetProperties, (ze_kernel_handle_t hKernel, ze_kernel_properties_t* pKernelProperties), (hKernel, pKernelProperties))

// What is newer than the header's version, and not in its tables.
#define LEVELZERO_DOUBLE_NEWER_ENTRIES(X) \
  X(zeCommandListIsImmediate, (ze_command_list_handle_t hCommandList, ze_bool_t* pIsImmediate), (hCommandList, pIsImmediate)) \
  X(zeCommandListGetDeviceHandle, (ze_command_list_handle_t hCommandList, ze_device_handle_t* phDevice), (hCommandList, phDevice)) \
  X(zeMemPutIpcHandle, (ze_context_handle_t hContext, ze_ipc_mem_handle_t handle), (hContext, handle))
// clang-format on

#define LEVELZERO_DOUBLE_DECLARE(table, member, kind, symbol, parameters, arguments) ze_result_t do_##symbol parameters;
LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_DOUBLE_DECLARE)
#undef LEVELZERO_DOUBLE_DECLARE
#define LEVELZERO_DOUBLE_DECLARE(symbol, parameters, arguments) ze_result_t do_##symbol parameters;
LEVELZERO_DOUBLE_NEWER_ENTRIES(LEVELZERO_DOUBLE_DECLARE)
#undef LEVELZERO_DOUBLE_DECLARE

}  // namespace anyplace::doubles::levelzero
