// SPDX-License-Identifier: Apache-2.0
//
// A device's properties and capabilities. Nothing here makes a context.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/sampled.h"
#include "device.h"
#include "graph.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::bit;
using anyplace::backend::set_text;

/// Level Zero's priorities are low, normal and high.
constexpr std::int32_t least_priority = 1, greatest_priority = -1;

std::string hexadecimal(const char* format, unsigned value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

void read_properties(ze_device_handle_t device, const Context& context, Facts& facts) {
  // From version 1.2 on the timer's resolution can be queried in ticks per second; before that it is in nanoseconds per
  // tick.
  facts.properties.stype = context.version() >= ZE_API_VERSION_1_2 ? ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
                                                                   : ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  DeviceIpVersion ip{structure_type_device_ip_version, nullptr, 0};
  if (context.has_extension(device_ip_version_extension)) facts.properties.pNext = &ip;
  Results::check(api().DeviceGetProperties(device, &facts.properties), "zeDeviceGetProperties");
  facts.properties.pNext = nullptr;
  facts.ip_version = ip.ipVersion;
}

void read_queue_groups(ze_device_handle_t device, Facts& facts) {
  std::uint32_t count = 0;
  Results::check(api().DeviceGetCommandQueueGroupProperties(device, &count, nullptr),
                 "zeDeviceGetCommandQueueGroupProperties");
  std::vector<ze_command_queue_group_properties_t> groups(count);
  for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  if (count == 0) return;
  Results::check(api().DeviceGetCommandQueueGroupProperties(device, &count, groups.data()),
                 "zeDeviceGetCommandQueueGroupProperties");
  for (std::uint32_t i = 0; i < std::min<std::size_t>(count, groups.size()); ++i) {
    // Queue groups that can only copy aren't used, because a stream needs both.
    constexpr auto wanted = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    if ((groups[i].flags & wanted) != wanted || groups[i].numQueues == 0) continue;
    facts.has_queue_group = true;
    facts.queue_group = i;
    facts.queues = groups[i].numQueues;
    facts.longest_fill_pattern = std::max<std::uint64_t>(groups[i].maxMemoryFillPatternSize, 1);
    return;
  }
}

std::uint64_t read_total_memory(ze_device_handle_t device) {
  std::uint32_t count = 0;
  if (api().DeviceGetMemoryProperties(device, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0)
    return ANYPLACE_UNKNOWN;
  std::vector<ze_device_memory_properties_t> memories(count);
  for (auto& memory : memories) memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  if (api().DeviceGetMemoryProperties(device, &count, memories.data()) != ZE_RESULT_SUCCESS) return ANYPLACE_UNKNOWN;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, memories.size()); ++i) total += memories[i].totalSize;
  return total == 0 ? ANYPLACE_UNKNOWN : total;
}

bool shares_memory(const Context& context) {
  ze_driver_ipc_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES;
  return api().DriverGetIpcProperties != nullptr &&
         api().DriverGetIpcProperties(context.driver(), &properties) == ZE_RESULT_SUCCESS &&
         (properties.flags & ZE_IPC_PROPERTY_FLAG_MEMORY) != 0;
}

/// The address as text, such as "0000:17:00.0".
std::string pci_text(ze_device_handle_t device) {
  if (api().DevicePciGetPropertiesExt == nullptr) return "";
  ze_pci_ext_properties_t pci{};
  pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  pci.address.domain = ~std::uint32_t{0};
  if (api().DevicePciGetPropertiesExt(device, &pci) != ZE_RESULT_SUCCESS || pci.address.domain == ~std::uint32_t{0})
    return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", pci.address.domain & 0xffffu, pci.address.bus & 0xffu,
                pci.address.device & 0xffu, pci.address.function & 0xfu);
  return text;
}

std::string driver_text(const Context& context) {
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  const bool known = api().DriverGetProperties(context.driver(), &properties) == ZE_RESULT_SUCCESS;
  // The number of a driver's version is encoded in the vendor's own way, so the API's version is shown with it.
  const std::string version = known ? std::to_string(properties.driverVersion) + " (" : "(";
  return version + "API " + version_text(context.version()) + ")";
}

}  // namespace

std::string uuid_text(const ze_device_uuid_t& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(uuid.id); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hexadecimal("%02x", uuid.id[i]);
  }
  return text;
}

namespace {

/// Reads which types kernels can compute with.
void read_module_features(ze_device_handle_t device, anyplace_device_properties& out) {
  ze_device_module_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  Results::check(api().DeviceGetModuleProperties(device, &properties), "zeDeviceGetModuleProperties");
  constexpr std::pair<ze_device_module_flags_t, std::uint32_t> features[] = {
      {ZE_DEVICE_MODULE_FLAG_FP16, ANYPLACE_FEATURE_FLOAT16},
      {ZE_DEVICE_MODULE_FLAG_FP64, ANYPLACE_FEATURE_FLOAT64},
      {ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS, ANYPLACE_FEATURE_INT64_ATOMICS}};
  for (const auto& [flag, feature] : features) {
    out.features_known |= feature;
    if ((properties.flags & flag) != 0) out.features |= feature;
  }
}

}  // namespace

Facts read_facts(ze_device_handle_t device, const Context& context) {
  Facts facts;
  read_properties(device, context, facts);
  facts.compute.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  Results::check(api().DeviceGetComputeProperties(device, &facts.compute), "zeDeviceGetComputeProperties");
  facts.access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
  Results::check(api().DeviceGetMemoryAccessProperties(device, &facts.access), "zeDeviceGetMemoryAccessProperties");
  facts.total_memory = read_total_memory(device);
  facts.shares_memory = shares_memory(context);
  read_queue_groups(device, facts);
  const auto resolution = static_cast<double>(facts.properties.timerResolution);
  if (resolution > 0) facts.ticks_per_second = context.version() >= ZE_API_VERSION_1_2 ? resolution : 1e9 / resolution;
  const std::uint32_t bits = facts.properties.timestampValidBits;
  facts.timestamp_bits = bits == 0 || bits > 64 ? 64 : bits;
  return facts;
}

std::uint64_t Device::capabilities() const {
  std::uint64_t all = 0;
  const auto add = [&](bool there, unsigned number) { all |= there ? bit(number) : 0; };
  add(facts().ticks_per_second != 0, ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS);
  add(true, ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  add(true, ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS);
  add(true, ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  add(true, ANYPLACE_CAPABILITY_BIT_GATES);
  add(memory_.has_host(), ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY);
  add(memory_.has_shared(), ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY);
  add(true, ANYPLACE_CAPABILITY_BIT_COPY_2D);
  add(peers_can_copy, ANYPLACE_CAPABILITY_BIT_PEER_COPY);
  add(true, ANYPLACE_CAPABILITY_BIT_PEER_ACCESS);
  add(true, ANYPLACE_CAPABILITY_BIT_MODULES);
  add(true, ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
  add(true, ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE);
  add(VirtualMemory::is_offered(), ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY);
  add(true, ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS);
  add(SharedMemory::is_supported(*this), ANYPLACE_CAPABILITY_BIT_INTERPROCESS_MEMORY);
  add(Graph::is_supported(), ANYPLACE_CAPABILITY_BIT_GRAPHS);
  add(true, ANYPLACE_CAPABILITY_BIT_MONITORING);
  add(sysman_.lists_processes(), ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES);
  return all;
}

void Device::add_figures(anyplace_device_properties& out) const {
  const ze_device_properties_t& p = facts().properties;
  const ze_device_compute_properties_t& c = facts().compute;
  out.clock_hz = std::uint64_t{p.coreClockRate} * 1000000;
  out.max_allocation = p.maxMemAllocSize;
  out.multiprocessors = p.numSlices * p.numSubslicesPerSlice;
  const std::size_t count = std::min<std::size_t>(c.numSubGroupSizes, std::size(c.subGroupSizes));
  for (std::size_t i = 0; i < count; ++i) out.sub_group_sizes |= c.subGroupSizes[i];
  // By the specification's chapter "Memory" an allocation has one address, for the host and all devices.
  out.features = out.features_known = ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
  read_module_features(native(), out);
}

void Device::properties(anyplace_device_properties& out) const {
  const ze_device_properties_t& p = facts().properties;
  const ze_device_compute_properties_t& c = facts().compute;
  out.compute_units = std::max<std::uint32_t>(p.numSlices * p.numSubslicesPerSlice * p.numEUsPerSubslice, 1);
  out.capabilities = capabilities();
  out.image_formats = bit(ANYPLACE_IMAGE_SPIRV) | bit(ANYPLACE_IMAGE_NATIVE);
  out.total_memory = facts().total_memory;
  out.address_alignment = Memory::alignment;
  out.max_shared_bytes = c.maxSharedLocalMemory;
  const std::uint32_t grid[3] = {c.maxGroupCountX, c.maxGroupCountY, c.maxGroupCountZ};
  const std::uint32_t block[3] = {c.maxGroupSizeX, c.maxGroupSizeY, c.maxGroupSizeZ};
  for (int i = 0; i < 3; ++i) {
    out.max_grid[i] = std::max<std::uint32_t>(grid[i], 1);
    out.max_block[i] = std::max<std::uint32_t>(block[i], 1);
  }
  out.max_threads_per_block = std::max<std::uint32_t>(c.maxTotalGroupSize, 1);
  add_figures(out);
  out.least_priority = least_priority;
  out.greatest_priority = greatest_priority;
  set_text(out.name, std::string(p.name, strnlen(p.name, sizeof(p.name))));
  set_text(out.vendor, p.vendorId == 0x8086 ? "Intel" : hexadecimal("PCI vendor 0x%04x", p.vendorId));
  set_text(out.architecture, architecture());
  set_text(out.driver_version, driver_text(driver_context()));
  set_text(out.uuid, uuid_text(p.uuid));
  set_text(out.pci, pci_text(native()));
}

std::string Device::architecture() const {
  const std::uint32_t ip = facts().ip_version;  // bits: 10 architecture, 8 release, 8 unused, 6 revision
  if (ip == 0) return hexadecimal("0x%04x", facts().properties.deviceId);
  return std::to_string(ip >> 22) + "." + std::to_string(ip >> 14 & 0xff) + "." + std::to_string(ip & 0x3f);
}

std::uint32_t Device::spirv_version() const {
  ze_device_module_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  return api().DeviceGetModuleProperties(native(), &properties) == ZE_RESULT_SUCCESS ? properties.spirvVersionSupported
                                                                                     : 0;
}

/// The free memory is unknown: only the system management interface has it, which is another library.
void Device::memory_info(anyplace_memory_info& out) const {
  out.free_bytes = ANYPLACE_UNKNOWN;
  out.total_bytes = facts().total_memory;
}

void Device::sample(anyplace_device_sample& out) {
  sysman_.sample(out);
  // If the management interface knows nothing of the device, the device's own properties have to do.
  const bool known = (out.known & bit(ANYPLACE_SAMPLE_BIT_MEMORY_TOTAL_BYTES)) != 0;
  if (!known && facts().total_memory != ANYPLACE_UNKNOWN) {
    backend::Sampled(out).memory_total_bytes(facts().total_memory);
  }
}

}  // namespace anyplace::levelzero
