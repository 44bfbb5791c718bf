// SPDX-License-Identifier: Apache-2.0
//
// The double's system management interface (Sysman): zesInit and what comes after it, with handles of its own and the
// devices in the reverse order. Only where the double has the loader's place; behind a real loader of version 1.4 there
// is no zesInit. Written from the Level Zero specification, "Sysman Programming Guide". Its figures are set as those of
// the other management libraries' doubles (../monitoring); its calls count in a book of their own.
#include <level_zero/zes_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "../monitoring/figures.h"
#include "state.h"

namespace anyplace::doubles {
namespace monitoring {

const char* const figures_variable = "SYSMAN_DOUBLE_FIGURES";
const char* const device_library = "";
int number_of_devices() { return levelzero::config().roots; }
// In Sysman's units; "clock" and "active" are the engines', to which the time with kernels is added.
const std::vector<Figure>& figures = *new std::vector<Figure>{
    {"lost", 0},          {"power_uj", 987654321}, {"limit", 120000},  {"core", 2050},    {"memory_clock", 0},
    {"reasons", 0x8},     {"temperature", 61},     {"active", 5000},   {"clock", 100000}, {"pcie_rx", 7000},
    {"pcie_tx", 8000},    {"corrected", 3},        {"uncorrected", 1}, {"hides_uuid", 0}, {"hides_us", 0},
    {"other_process", 0}, {"reserved", 2 << 20},   {"unlimited", 0}};

#define SYSMAN_DOUBLE_ENTRIES(X)                                                                              \
  X(zesDeviceGetProperties, (zes_device_handle_t device, zes_device_properties_t * out), (device, out))       \
  X(zesDevicePciGetProperties, (zes_device_handle_t device, zes_pci_properties_t * out), (device, out))       \
  X(zesDevicePciGetStats, (zes_device_handle_t device, zes_pci_stats_t * out), (device, out))                 \
  X(zesDeviceProcessesGetState, (zes_device_handle_t device, uint32_t * count, zes_process_state_t * out),    \
    (device, count, out))                                                                                     \
  X(zesDeviceEnumMemoryModules, (zes_device_handle_t device, uint32_t * count, zes_mem_handle_t * out),       \
    (device, count, out))                                                                                     \
  X(zesMemoryGetProperties, (zes_mem_handle_t device, zes_mem_properties_t * out), (device, out))             \
  X(zesMemoryGetState, (zes_mem_handle_t device, zes_mem_state_t * out), (device, out))                       \
  X(zesDeviceEnumPowerDomains, (zes_device_handle_t device, uint32_t * count, zes_pwr_handle_t * out),        \
    (device, count, out))                                                                                     \
  X(zesPowerGetProperties, (zes_pwr_handle_t device, zes_power_properties_t * out), (device, out))            \
  X(zesPowerGetEnergyCounter, (zes_pwr_handle_t device, zes_power_energy_counter_t * out), (device, out))     \
  X(zesPowerGetLimits,                                                                                        \
    (zes_pwr_handle_t device, zes_power_sustained_limit_t * out, zes_power_burst_limit_t * burst,             \
     zes_power_peak_limit_t * peak),                                                                          \
    (device, out, burst, peak))                                                                               \
  X(zesDeviceEnumFrequencyDomains, (zes_device_handle_t device, uint32_t * count, zes_freq_handle_t * out),   \
    (device, count, out))                                                                                     \
  X(zesFrequencyGetProperties, (zes_freq_handle_t device, zes_freq_properties_t * out), (device, out))        \
  X(zesFrequencyGetState, (zes_freq_handle_t device, zes_freq_state_t * out), (device, out))                  \
  X(zesDeviceEnumTemperatureSensors, (zes_device_handle_t device, uint32_t * count, zes_temp_handle_t * out), \
    (device, count, out))                                                                                     \
  X(zesTemperatureGetProperties, (zes_temp_handle_t device, zes_temp_properties_t * out), (device, out))      \
  X(zesTemperatureGetState, (zes_temp_handle_t device, double* out), (device, out))                           \
  X(zesDeviceEnumEngineGroups, (zes_device_handle_t device, uint32_t * count, zes_engine_handle_t * out),     \
    (device, count, out))                                                                                     \
  X(zesEngineGetProperties, (zes_engine_handle_t device, zes_engine_properties_t * out), (device, out))       \
  X(zesEngineGetActivity, (zes_engine_handle_t device, zes_engine_stats_t * out), (device, out))              \
  X(zesDeviceEnumRasErrorSets, (zes_device_handle_t device, uint32_t * count, zes_ras_handle_t * out),        \
    (device, count, out))                                                                                     \
  X(zesRasGetProperties, (zes_ras_handle_t device, zes_ras_properties_t * out), (device, out))                \
  X(zesRasGetState, (zes_ras_handle_t device, ze_bool_t clear, zes_ras_state_t * out), (device, clear, out))

#define SYSMAN_DOUBLE_NAME(symbol, parameters, arguments) #symbol,
const std::vector<const char*>& entry_names =
    *new std::vector<const char*>{"zesInit", "zesDriverGet", "zesDeviceGet", SYSMAN_DOUBLE_ENTRIES(SYSMAN_DOUBLE_NAME)};
#undef SYSMAN_DOUBLE_NAME

}  // namespace monitoring

namespace levelzero {
namespace {

using monitoring::figure;

std::atomic<bool> has_begun{false};

/// A handle is a number that names the root device and which of its domains it is.
constexpr uintptr_t mark = 0x5e5a0000;
template <class Handle>
Handle handle_of(int root, unsigned domain = 0) {
  return reinterpret_cast<Handle>(mark | static_cast<uintptr_t>(root) << 8U | domain);  // NOLINT: a number
}
template <class Handle>
int root_of(Handle handle) {
  return static_cast<int>((reinterpret_cast<uintptr_t>(handle) & 0xff00U) >> 8U);
}
template <class Handle>
unsigned domain_of(Handle handle) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(handle) & 0xffU);
}
template <class Handle>
ze_result_t check(const char* entry, Handle handle) {
  if (const int failure = monitoring::count(entry); failure != 0) return static_cast<ze_result_t>(failure);
  if (!has_begun || phase() != Phase::ready) return ZE_RESULT_ERROR_UNINITIALIZED;
  if ((reinterpret_cast<uintptr_t>(handle) & ~uintptr_t{0xffff}) != mark || root_of(handle) >= config().roots) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  return figure(root_of(handle), "lost") != 0 ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

template <class Handle>
ze_result_t give_domains(zes_device_handle_t device, uint32_t* count, Handle* out, unsigned there) {
  if (out != nullptr) {
    for (unsigned i = 0; i < std::min(*count, there); ++i) out[i] = handle_of<Handle>(root_of(device), i);
  }
  if (*count == 0 || *count > there) *count = there;
  return ZE_RESULT_SUCCESS;
}

/// Of a root and its sub-devices.
uint64_t used_bytes(int root) {
  const Locked lock(state().mutex);
  uint64_t used = 0;
  for (const DeviceRef& device : state().devices) {
    if (device->index == root || device->parent == root) used += state().memory.used(device->index);
  }
  return used;
}
int index_of(int root) {
  for (const DeviceRef& device : state().devices) {
    if (device->parent < 0 && device->number == root) return device->index;
  }
  return root;
}

ze_result_t give(zes_device_handle_t device, zes_device_properties_t* out) {
  const int root = root_of(device);
  ze_device_properties_t core{};
  core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  for (const DeviceRef& each : state().devices) {
    if (each->index == index_of(root)) static_cast<void>(do_zeDeviceGetProperties(each->handle, &core));
  }
  if (figure(root, "hides_uuid") != 0) core.uuid = {};
  out->core = core;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_device_handle_t device, zes_pci_properties_t* out) {
  out->address = {0, static_cast<uint32_t>(0x17 + index_of(root_of(device))), 0, 0};
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_device_handle_t device, zes_pci_stats_t* out) {
  *out = {};
  out->rxCounter = figure(root_of(device), "pcie_rx");
  out->txCounter = figure(root_of(device), "pcie_tx");
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_process_state_t* out) {
  const int root = root_of(device);
  std::vector<zes_process_state_t> all;
  const auto add = [&](uint32_t pid, uint64_t bytes, uint32_t engines) {
    zes_process_state_t process{};
    process.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
    process.processId = pid;
    process.memSize = bytes;
    process.engines = engines;
    all.push_back(process);
  };
  if (figure(root, "hides_us") == 0) {
    add(static_cast<uint32_t>(getpid()), used_bytes(index_of(root)), ZES_ENGINE_TYPE_FLAG_COMPUTE);
  }
  if (const auto other = static_cast<uint32_t>(figure(root, "other_process")); other != 0) {
    add(other, 4096, ZES_ENGINE_TYPE_FLAG_3D);
  }
  const auto there = static_cast<uint32_t>(all.size());
  if (out != nullptr && *count < there) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (out != nullptr) std::copy(all.begin(), all.end(), out);
  *count = there;
  return ZE_RESULT_SUCCESS;
}

// The second module is the host's, and is not to count.
ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_mem_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_mem_handle_t module, zes_mem_properties_t* out) {
  out->location = domain_of(module) == 0 ? ZES_MEM_LOC_DEVICE : ZES_MEM_LOC_SYSTEM;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_mem_handle_t module, zes_mem_state_t* out) {
  const int root = root_of(module);
  out->size = config().device_bytes;
  const uint64_t used = used_bytes(index_of(root)) + figure(root, "reserved");
  out->free = out->size - std::min(used, out->size);
  return ZE_RESULT_SUCCESS;
}

// The first domain is a part of the device, and is not to count.
ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_pwr_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_pwr_handle_t domain, zes_power_properties_t* out) {
  out->onSubdevice = domain_of(domain) == 0;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_pwr_handle_t domain, zes_power_energy_counter_t* out) {
  out->energy = domain_of(domain) == 0 ? 1 : figure(root_of(domain), "power_uj");
  out->timestamp = 1;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_pwr_handle_t domain, zes_power_sustained_limit_t* out, zes_power_burst_limit_t*,
                 zes_power_peak_limit_t*) {
  if (out != nullptr) {
    out->enabled = figure(root_of(domain), "unlimited") == 0;
    out->power = static_cast<int32_t>(figure(root_of(domain), "limit"));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_freq_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_freq_handle_t domain, zes_freq_properties_t* out) {
  out->type = domain_of(domain) == 0 ? ZES_FREQ_DOMAIN_GPU : ZES_FREQ_DOMAIN_MEMORY;
  return ZE_RESULT_SUCCESS;
}
// A figure of 0 is a clock that the driver doesn't know.
ze_result_t give(zes_freq_handle_t domain, zes_freq_state_t* out) {
  const uint64_t megahertz = figure(root_of(domain), domain_of(domain) == 0 ? "core" : "memory_clock");
  out->actual = megahertz == 0 ? -1 : static_cast<double>(megahertz);
  out->throttleReasons = static_cast<uint32_t>(figure(root_of(domain), "reasons"));
  return ZE_RESULT_SUCCESS;
}

// The second sensor is the memory's.
ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_temp_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_temp_handle_t sensor, zes_temp_properties_t* out) {
  out->type = domain_of(sensor) == 0 ? ZES_TEMP_SENSORS_GPU : ZES_TEMP_SENSORS_MEMORY;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_temp_handle_t sensor, double* out) {
  *out = domain_of(sensor) == 0 ? static_cast<double>(figure(root_of(sensor), "temperature")) : 99;
  return ZE_RESULT_SUCCESS;
}

ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_engine_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_engine_handle_t group, zes_engine_properties_t* out) {
  out->type = domain_of(group) == 0 ? ZES_ENGINE_GROUP_ALL : ZES_ENGINE_GROUP_COMPUTE_ALL;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_engine_handle_t group, zes_engine_stats_t* out) {
  const int root = root_of(group);
  const KernelTime::Microseconds time = state().devices[static_cast<std::size_t>(index_of(root))]->kernel_time->now();
  *out = {domain_of(group) == 0 ? 1 : figure(root, "active") + time.active, figure(root, "clock") + time.clock};
  return ZE_RESULT_SUCCESS;
}

ze_result_t give(zes_device_handle_t device, uint32_t* count, zes_ras_handle_t* out) {
  return give_domains(device, count, out, 2);
}
ze_result_t give(zes_ras_handle_t set, zes_ras_properties_t* out) {
  out->type = domain_of(set) == 0 ? ZES_RAS_ERROR_TYPE_CORRECTABLE : ZES_RAS_ERROR_TYPE_UNCORRECTABLE;
  return ZE_RESULT_SUCCESS;
}
ze_result_t give(zes_ras_handle_t set, ze_bool_t clear, zes_ras_state_t* out) {
  if (clear) return misuse("a counter of others' is cleared", ZE_RESULT_ERROR_INVALID_ARGUMENT);
  for (uint64_t& category : out->category) category = 1000;
  out->category[ZES_RAS_ERROR_CAT_CACHE_ERRORS] =
      figure(root_of(set), domain_of(set) == 0 ? "corrected" : "uncorrected");
  return ZE_RESULT_SUCCESS;
}

#define SYSMAN_DOUBLE_EXPORT(symbol, parameters, arguments)                                                  \
  extern "C" __attribute__((visibility("default"))) ze_result_t sysman_##symbol parameters __asm__(#symbol); \
  ze_result_t sysman_##symbol parameters {                                                                   \
    const ze_result_t refused = check(#symbol, device);                                                      \
    return refused != ZE_RESULT_SUCCESS ? refused : give arguments;                                          \
  }
SYSMAN_DOUBLE_ENTRIES(SYSMAN_DOUBLE_EXPORT)

ze_result_t begin_entry(const char* entry) {
  if (const int failure = monitoring::count(entry); failure != 0) return static_cast<ze_result_t>(failure);
  return phase() == Phase::ready ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

}  // namespace
}  // namespace levelzero
}  // namespace anyplace::doubles

#define SYSMAN_DOUBLE extern "C" __attribute__((visibility("default"))) ze_result_t

SYSMAN_DOUBLE zesInit(uint32_t flags) {
  using namespace anyplace::doubles::levelzero;
  const ze_result_t refused = begin_entry("zesInit");
  if (refused != ZE_RESULT_SUCCESS) return refused;
  if (flags != 0) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  has_begun = true;
  return ZE_RESULT_SUCCESS;
}
SYSMAN_DOUBLE zesDriverGet(uint32_t* count, zes_driver_handle_t* drivers) {
  using namespace anyplace::doubles::levelzero;
  const ze_result_t refused = begin_entry("zesDriverGet");
  if (refused != ZE_RESULT_SUCCESS) return refused;
  if (drivers != nullptr && *count > 0) *drivers = handle_of<zes_driver_handle_t>(0, 0xff);
  *count = 1;
  return ZE_RESULT_SUCCESS;
}
// The devices come the other way round.
SYSMAN_DOUBLE zesDeviceGet(zes_driver_handle_t driver, uint32_t* count, zes_device_handle_t* devices) {
  using namespace anyplace::doubles::levelzero;
  const ze_result_t refused = begin_entry("zesDeviceGet");
  if (refused != ZE_RESULT_SUCCESS) return refused;
  if (domain_of(driver) != 0xff) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  const auto roots = static_cast<uint32_t>(config().roots);
  for (uint32_t i = 0; devices != nullptr && i < std::min(*count, roots); ++i) {
    devices[i] = handle_of<zes_device_handle_t>(static_cast<int>(roots - 1 - i));
  }
  if (*count == 0 || *count > roots) *count = roots;
  return ZE_RESULT_SUCCESS;
}
