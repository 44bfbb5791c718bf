// SPDX-License-Identifier: Apache-2.0
//
// The driver, its devices and what they say of themselves; contexts.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

constexpr uint64_t driver = uint64_t{0x02e0} << 48U | 0xd;
ze_driver_handle_t driver_handle() { return reinterpret_cast<ze_driver_handle_t>(driver); }  // NOLINT: a number

ze_result_t check_driver(ze_driver_handle_t handle) {
  if (handle == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return handle == driver_handle() ? ZE_RESULT_SUCCESS
                                   : misuse("a handle that is no driver", ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

/// As all that give lists do it: a count of 0 asks for the count, and nothing is written behind the caller's count.
template <class T>
ze_result_t give(const std::vector<T>& all, uint32_t* count, T* out) {
  if (count == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto there = static_cast<uint32_t>(all.size());
  const uint32_t given = std::min(*count, there);
  if (*count == 0 || *count > there) *count = there;
  if (out != nullptr) std::copy_n(all.begin(), given, out);
  return ZE_RESULT_SUCCESS;
}

ze_result_t find_device(ze_device_handle_t handle, DeviceRef& device) {
  return find(state().device_table, handle, device, "device");
}

/// Keeps what the caller set of a struct that is filled.
template <class T>
void fill(T* out, T with) {
  with.stype = out->stype;
  with.pNext = out->pNext;
  *out = with;
}

struct IpVersion {  // ze_device_ip_version_ext_t
  ze_structure_type_t stype;
  void* pNext;
  uint32_t ipVersion;
};
constexpr auto ip_version_type = static_cast<ze_structure_type_t>(0x1000f);
constexpr const char* ip_version_extension = "ZE_extension_device_ip_version";

ze_device_uuid_t uuid_of(const Device& device) {
  ze_device_uuid_t uuid{};
  constexpr unsigned char pattern[16] = {0x86, 0x80, 0xa0, 0x56, 0x08, 0x00, 0x4a, 0x11,
                                         0x8b, 0x5e, 0xca, 0xfe, 0x00, 0x00, 0x00, 0x00};
  std::copy_n(pattern, 16, uuid.id);
  uuid.id[15] = static_cast<unsigned char>(device.index);
  return uuid;
}

}  // namespace

// ---- The driver
// ------------------------------------------------------------------------------------------------------

ze_result_t do_zeDriverGet(uint32_t* count, ze_driver_handle_t* drivers) {
  return give(std::vector<ze_driver_handle_t>{driver_handle()}, count, drivers);
}

ze_result_t do_zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t* version) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  if (version == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *version = static_cast<ze_api_version_t>(state().config.api_version);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t* properties) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, "ze_driver_properties_t"));
  ze_driver_properties_t with{};
  with.uuid.id[0] = 0x02;
  with.driverVersion = 0x01000000;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDriverGetIpcProperties(ze_driver_handle_t driver, ze_driver_ipc_properties_t* properties) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES, "ze_driver_ipc_properties_t"));
  ze_driver_ipc_properties_t with{};
  if (state().config.ipc != "none") with.flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t* count,
                                              ze_driver_extension_properties_t* out) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  std::vector<ze_driver_extension_properties_t> all(2);
  std::snprintf(all[0].name, sizeof(all[0].name), "%s", ip_version_extension);
  std::snprintf(all[1].name, sizeof(all[1].name), "%s", ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME);
  for (auto& one : all) one.version = ZE_MAKE_VERSION(1, 0);
  return give(all, count, out);
}

ze_result_t do_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char* name, void** address) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  if (name == nullptr || address == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *address = nullptr;
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

// ---- Devices
// ---------------------------------------------------------------------------------------------------------

ze_result_t do_zeDeviceGet(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* out) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  std::vector<ze_device_handle_t> roots;
  for (const DeviceRef& device : state().devices) {
    if (device->parent < 0) roots.push_back(device->handle);
  }
  return give(roots, count, out);
}

ze_result_t do_zeDeviceGetSubDevices(ze_device_handle_t handle, uint32_t* count, ze_device_handle_t* out) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  std::vector<ze_device_handle_t> parts;
  for (const DeviceRef& part : state().devices) {
    if (part->parent == device->index) parts.push_back(part->handle);
  }
  return give(parts, count, out);
}

ze_result_t do_zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  if (properties == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const bool in_ticks = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (!in_ticks) {
    LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, "ze_device_properties_t"));
  }
  if (auto* const ip = static_cast<IpVersion*>(properties->pNext); ip != nullptr && ip->stype == ip_version_type) {
    ip->ipVersion = 12U << 22U | 55U << 14U | 8U;
  }
  const Config& c = state().config;
  ze_device_properties_t with{};
  with.type = ZE_DEVICE_TYPE_GPU;
  with.vendorId = 0x8086;
  with.deviceId = 0x56a0;
  if (device->parent >= 0) with.flags = ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
  with.subdeviceId = static_cast<uint32_t>(device->number);
  with.coreClockRate = 2400;
  with.maxMemAllocSize = c.largest_block != 0 ? c.largest_block : c.device_bytes;
  with.numThreadsPerEU = 8;
  with.physicalEUSimdWidth = 8;
  with.numEUsPerSubslice = 16;
  with.numSubslicesPerSlice = 4;
  with.numSlices = 8;
  with.timerResolution = c.ticks == 0 ? 0 : (in_ticks ? c.ticks : 1'000'000'000 / c.ticks);
  with.timestampValidBits = c.timestamp_bits;
  with.kernelTimestampValidBits = 32;
  with.uuid = uuid_of(*device);
  std::snprintf(with.name, sizeof(with.name), "Double of a GPU");
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetComputeProperties(ze_device_handle_t handle, ze_device_compute_properties_t* properties) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  LEVELZERO_DOUBLE_TRY(
      check_desc(properties, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, "ze_device_compute_properties_t"));
  ze_device_compute_properties_t with{};
  with.maxTotalGroupSize = 1024;
  with.maxGroupSizeX = with.maxGroupSizeY = with.maxGroupSizeZ = 1024;
  with.maxGroupCountX = with.maxGroupCountY = with.maxGroupCountZ = 0xffffffff;
  with.maxSharedLocalMemory = 64 * 1024;
  with.numSubGroupSizes = 2;
  with.subGroupSizes[0] = 16;
  with.subGroupSizes[1] = 32;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetModuleProperties(ze_device_handle_t handle, ze_device_module_properties_t* properties) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  LEVELZERO_DOUBLE_TRY(
      check_desc(properties, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, "ze_device_module_properties_t"));
  ze_device_module_properties_t with{};
  with.spirvVersionSupported = state().config.spirv_version;
  with.maxArgumentsSize = 2048;
  with.flags = ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t handle, uint32_t* count,
                                                      ze_command_queue_group_properties_t* out) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  if (count == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  constexpr uint32_t groups = 3;
  const uint32_t given = out == nullptr ? 0 : std::min(*count, groups);
  if (*count == 0 || *count > groups) *count = groups;
  // One that has no queue, one that only copies, and the one that is meant.
  const ze_command_queue_group_property_flags_t flags[groups] = {
      ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
      ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
      ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
          ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_METRICS};
  const uint32_t queues[groups] = {0, 1, state().config.queues};
  for (uint32_t i = 0; i < given; ++i) {
    LEVELZERO_DOUBLE_TRY(
        check_desc(&out[i], ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, "ze_command_queue_group_properties_t"));
    ze_command_queue_group_properties_t with{};
    with.flags = flags[i];
    with.maxMemoryFillPatternSize = i == 1 ? 1 : state().config.fill_pattern;
    with.numQueues = queues[i];
    fill(&out[i], with);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetMemoryProperties(ze_device_handle_t handle, uint32_t* count,
                                           ze_device_memory_properties_t* out) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  if (count == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const bool asked_for_count = *count == 0;
  *count = 1;
  if (out == nullptr || asked_for_count) return ZE_RESULT_SUCCESS;
  LEVELZERO_DOUBLE_TRY(check_desc(out, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, "ze_device_memory_properties_t"));
  ze_device_memory_properties_t with{};
  with.maxClockRate = 1000;
  with.maxBusWidth = 256;
  with.totalSize = state().config.device_bytes;
  fill(out, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetMemoryAccessProperties(ze_device_handle_t handle,
                                                 ze_device_memory_access_properties_t* properties) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES,
                                  "ze_device_memory_access_properties_t"));
  ze_device_memory_access_properties_t with{};
  with.hostAllocCapabilities = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  with.deviceAllocCapabilities = with.hostAllocCapabilities;
  if (state().config.managed) with.sharedSingleDeviceAllocCapabilities = with.hostAllocCapabilities;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceCanAccessPeer(ze_device_handle_t handle, ze_device_handle_t peer_handle, ze_bool_t* value) {
  DeviceRef device;
  DeviceRef peer;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  LEVELZERO_DOUBLE_TRY(find_device(peer_handle, peer));
  if (value == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *value = reaches(*device, *peer) ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeDeviceGetStatus(ze_device_handle_t handle) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  return health_of(*device);
}

ze_result_t do_zeDevicePciGetPropertiesExt(ze_device_handle_t handle, ze_pci_ext_properties_t* properties) {
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find_device(handle, device));
  LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES, "ze_pci_ext_properties_t"));
  ze_pci_ext_properties_t with{};
  const int root = device->parent < 0 ? device->index : device->parent;
  with.address.bus = static_cast<uint32_t>(0x17 + root);
  with.maxSpeed.genVersion = 4;
  with.maxSpeed.width = 16;
  fill(properties, with);
  return ZE_RESULT_SUCCESS;
}

// ---- Contexts
// --------------------------------------------------------------------------------------------------------

ze_result_t do_zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t* desc, ze_context_handle_t* out) {
  LEVELZERO_DOUBLE_TRY(check_driver(driver));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC, "ze_context_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->flags > 1) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  auto context = std::make_shared<Context>();
  const Locked lock(state().mutex);
  context->id = ++state().contexts_made;
  *out = state().contexts.add(std::move(context));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeContextDestroy(ze_context_handle_t handle) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find(state().contexts, handle, context, "context"));
  const auto blocks = state().memory.live();
  const bool has_memory =
      std::any_of(blocks.begin(), blocks.end(), [&context](const Block& block) { return block.owner == context->id; });
  const Locked lock(state().mutex);
  // Whatever else belongs to it holds a reference, beside the table's and this one.
  if ((context.use_count() != 2 || has_memory) && !any_device_lost())
    return misuse("a context was destroyed that still has objects", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  state().contexts.remove(handle);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyplace::doubles::levelzero
