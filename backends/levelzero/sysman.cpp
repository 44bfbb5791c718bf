// SPDX-License-Identifier: Apache-2.0
//
// Each figure is queried separately: one that the device or the driver lacks is unknown, and the others are still
// known.
#include "sysman.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/sampled.h"
#include "anyplace/backend/kit/vendor_library.h"
#include "device_base.h"

namespace anyplace::levelzero {
namespace {

using anyplace::backend::millikelvin;
using anyplace::backend::Sampled;
using anyplace::backend::VendorLibrary;

#define ANYPLACE_SYSMAN_ENTRIES(X) \
  X(DeviceGetProperties)           \
  X(DevicePciGetProperties)        \
  X(DevicePciGetStats)             \
  X(DeviceProcessesGetState)       \
  X(DeviceEnumMemoryModules)       \
  X(MemoryGetProperties)           \
  X(MemoryGetState)                \
  X(DeviceEnumPowerDomains)        \
  X(PowerGetProperties)            \
  X(PowerGetEnergyCounter)         \
  X(PowerGetLimits)                \
  X(DeviceEnumFrequencyDomains)    \
  X(FrequencyGetProperties)        \
  X(FrequencyGetState)             \
  X(DeviceEnumTemperatureSensors)  \
  X(TemperatureGetProperties)      \
  X(TemperatureGetState)           \
  X(DeviceEnumEngineGroups)        \
  X(EngineGetProperties)           \
  X(EngineGetActivity)             \
  X(DeviceEnumRasErrorSets)        \
  X(RasGetProperties)              \
  X(RasGetState)

/// Functions that the loader exports. Each may be null.
struct Entries {
#define ANYPLACE_SYSMAN_MEMBER(Name) decltype(&zes##Name) Name = nullptr;
  ANYPLACE_SYSMAN_ENTRIES(ANYPLACE_SYSMAN_MEMBER)
#undef ANYPLACE_SYSMAN_MEMBER
  // The header may be older than these entries.
  ze_result_t(ZE_APICALL* Init)(std::uint32_t flags) = nullptr;
  ze_result_t(ZE_APICALL* DriverGet)(std::uint32_t* count, zes_driver_handle_t* drivers) = nullptr;
  ze_result_t(ZE_APICALL* DeviceGet)(zes_driver_handle_t driver, std::uint32_t* count,
                                     zes_device_handle_t* devices) = nullptr;
};

/// The management interface, which is initialised at most once and never shut down.
struct Interface {
  Entries entries;
  std::vector<zes_device_handle_t> devices;
  bool has_core_handles = false;  ///< whether the handles are those of ze_api.h
  bool ready = false;
  std::string text;  ///< the source of the figures, or what is missing
};

/// All devices of all drivers; none if one of the calls fails.
std::vector<zes_device_handle_t> devices_of(const Entries& entries) {
  std::uint32_t count = 0;
  if (entries.DriverGet(&count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return {};
  std::vector<zes_driver_handle_t> drivers(count);
  if (entries.DriverGet(&count, drivers.data()) != ZE_RESULT_SUCCESS) return {};
  std::vector<zes_device_handle_t> all;
  for (const zes_driver_handle_t driver : drivers) {
    std::uint32_t devices = 0;
    if (driver == nullptr || entries.DeviceGet(driver, &devices, nullptr) != ZE_RESULT_SUCCESS || devices == 0)
      continue;
    std::vector<zes_device_handle_t> some(devices);
    if (entries.DeviceGet(driver, &devices, some.data()) != ZE_RESULT_SUCCESS) continue;
    all.insert(all.end(), some.begin(), some.end());
  }
  std::erase(all, nullptr);
  return all;
}

Interface begin() {
  Interface made;
  std::string reason;
  const VendorLibrary library = VendorLibrary::open("libze_loader.so.1", reason);
  if (!library) {
    made.text = "libze_loader.so.1 can't be opened: " + reason;
    return made;
  }
#define ANYPLACE_SYSMAN_FIND(Name) library.read("zes" #Name, made.entries.Name);
  ANYPLACE_SYSMAN_ENTRIES(ANYPLACE_SYSMAN_FIND)
#undef ANYPLACE_SYSMAN_FIND
  library.read("zesInit", made.entries.Init);
  library.read("zesDriverGet", made.entries.DriverGet);
  library.read("zesDeviceGet", made.entries.DeviceGet);
  const char* const enabled = std::getenv("ZES_ENABLE_SYSMAN");
  made.text = "Level Zero Sysman, " + library.path();
  if (enabled != nullptr && std::string_view(enabled) == "1") {
    made.has_core_handles = made.ready = true;
    return made;
  }
  const Entries& entries = made.entries;
  if (entries.Init == nullptr || entries.DriverGet == nullptr || entries.DeviceGet == nullptr ||
      entries.DeviceGetProperties == nullptr) {
    made.text = library.path() +
                " has no zesInit: figures come of Level Zero's system management, which needs a loader of version 1.5 "
                "of the API or newer (the package libze1 of a newer release, or level-zero), or ZES_ENABLE_SYSMAN=1 in "
                "the environment";
    return made;
  }
  if (const ze_result_t result = entries.Init(0); result != ZE_RESULT_SUCCESS) {
    made.text = library.path() + ": zesInit gives " + Results::name_of(result) +
                ": see that the driver's system management is installed, and that this user may read /sys/class/drm";
    return made;
  }
  made.devices = devices_of(made.entries);
  made.ready = true;
  return made;
}

const Interface& interface() {
  // The object is never destroyed, because threads may sample while the process exits.
  static const Interface& once = *new Interface(begin());
  return once;
}

constexpr std::uint64_t ns_of_us = 1000, hz_of_mhz = 1000000;

/// The calls of one sample.
class Questions {
 public:
  Questions(DeviceBase& device, const Entries& entries, zes_device_handle_t handle)
      : device_(device), entries_(entries), handle_(handle) {}

  void memory(const Sampled& to) {
    std::uint64_t used = 0, total = 0;
    for (const zes_mem_handle_t module :
         all<zes_mem_handle_t>(entries_.DeviceEnumMemoryModules, "zesDeviceEnumMemoryModules")) {
      zes_mem_properties_t properties{};
      properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
      if (!ask(entries_.MemoryGetProperties, "zesMemoryGetProperties", module, &properties)) return;
      if (properties.location != ZES_MEM_LOC_DEVICE) continue;
      zes_mem_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
      if (!ask(entries_.MemoryGetState, "zesMemoryGetState", module, &state)) return;
      total += state.size;
      used += state.size - std::min(state.free, state.size);
    }
    if (total == 0) return;
    to.memory_total_bytes(total);
    to.memory_used_bytes(used);
  }
  void power(const Sampled& to) {
    for (const auto& [domain, properties] : described<zes_pwr_handle_t, zes_power_properties_t>(
             entries_.DeviceEnumPowerDomains, "zesDeviceEnumPowerDomains", entries_.PowerGetProperties,
             "zesPowerGetProperties", ZES_STRUCTURE_TYPE_POWER_PROPERTIES)) {
      if (properties.onSubdevice) continue;
      zes_power_energy_counter_t energy{};
      if (ask(entries_.PowerGetEnergyCounter, "zesPowerGetEnergyCounter", domain, &energy)) {
        to.energy_microjoules(energy.energy);
      }
      zes_power_sustained_limit_t limit{};
      const bool told =
          ask(entries_.PowerGetLimits, "zesPowerGetLimits", domain, &limit,
              static_cast<zes_power_burst_limit_t*>(nullptr), static_cast<zes_power_peak_limit_t*>(nullptr));
      if (told && limit.enabled && limit.power > 0) to.power_limit_milliwatts(static_cast<std::uint64_t>(limit.power));
      return;
    }
  }
  void clocks(const Sampled& to) {
    std::optional<std::uint64_t> core, memory, reasons;
    for (const auto& [domain, properties] : described<zes_freq_handle_t, zes_freq_properties_t>(
             entries_.DeviceEnumFrequencyDomains, "zesDeviceEnumFrequencyDomains", entries_.FrequencyGetProperties,
             "zesFrequencyGetProperties", ZES_STRUCTURE_TYPE_FREQ_PROPERTIES)) {
      zes_freq_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
      if (!ask(entries_.FrequencyGetState, "zesFrequencyGetState", domain, &state)) continue;
      const bool is_core = properties.type == ZES_FREQ_DOMAIN_GPU;
      if (is_core) reasons = reasons.value_or(0) | throttle_of(state.throttleReasons);
      // A frequency that isn't positive is unknown. Each tile has a domain; the fastest one counts.
      if (!(state.actual > 0)) continue;
      std::optional<std::uint64_t>& clock = is_core ? core : memory;
      clock = std::max(clock.value_or(0), static_cast<std::uint64_t>(state.actual * hz_of_mhz));
    }
    to.core_clock_hz(core);
    to.memory_clock_hz(memory);
    to.throttle(reasons);
  }
  void temperature(const Sampled& to) {
    std::optional<double> gpu, anywhere;
    for (const auto& [sensor, properties] : described<zes_temp_handle_t, zes_temp_properties_t>(
             entries_.DeviceEnumTemperatureSensors, "zesDeviceEnumTemperatureSensors",
             entries_.TemperatureGetProperties, "zesTemperatureGetProperties", ZES_STRUCTURE_TYPE_TEMP_PROPERTIES)) {
      double celsius = 0;
      if (properties.type != ZES_TEMP_SENSORS_GPU && properties.type != ZES_TEMP_SENSORS_GLOBAL) continue;
      if (!ask(entries_.TemperatureGetState, "zesTemperatureGetState", sensor, &celsius)) continue;
      if (!(celsius > -273.15 && celsius < 1e6)) continue;
      std::optional<double>& hottest = properties.type == ZES_TEMP_SENSORS_GPU ? gpu : anywhere;
      hottest = std::max(hottest.value_or(celsius), celsius);
    }
    const std::optional<double> told = gpu ? gpu : anywhere;
    if (told) to.temperature_millikelvin(millikelvin(static_cast<std::int64_t>(*told * 1000)));
  }
  /// Reads how long engines were busy. If tiles have groups of their own, the mean over them counts.
  void engines(const Sampled& to) {
    const auto groups = described<zes_engine_handle_t, zes_engine_properties_t>(
        entries_.DeviceEnumEngineGroups, "zesDeviceEnumEngineGroups", entries_.EngineGetProperties,
        "zesEngineGetProperties", ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES);
    // A device without separate compute engines computes in its render engines.
    for (const zes_engine_group_t wanted :
         {ZES_ENGINE_GROUP_COMPUTE_ALL, ZES_ENGINE_GROUP_3D_RENDER_COMPUTE_ALL, ZES_ENGINE_GROUP_ALL}) {
      std::uint64_t active = 0, clock = 0, count = 0;
      for (const auto& [group, properties] : groups) {
        zes_engine_stats_t stats{};
        if (properties.type != wanted) continue;
        if (!ask(entries_.EngineGetActivity, "zesEngineGetActivity", group, &stats)) continue;
        active += stats.activeTime;
        clock += stats.timestamp;
        ++count;
      }
      if (count == 0 || clock == 0) continue;
      to.compute_active_ns(active * ns_of_us / count);
      to.active_clock_ns(clock * ns_of_us / count);
      return;
    }
  }
  void traffic(const Sampled& to) {
    zes_pci_stats_t stats{};
    if (!ask(entries_.DevicePciGetStats, "zesDevicePciGetStats", handle_, &stats)) return;
    to.pcie_rx_bytes(stats.rxCounter);
    to.pcie_tx_bytes(stats.txCounter);
  }
  /// Reads the counts of memory errors. Before version 1.7 the specification has none for the device's memory, so those
  /// of caches and registers are taken, which are nearest.
  void errors(const Sampled& to) {
    std::optional<std::uint64_t> counts[2];
    for (const auto& [set, properties] : described<zes_ras_handle_t, zes_ras_properties_t>(
             entries_.DeviceEnumRasErrorSets, "zesDeviceEnumRasErrorSets", entries_.RasGetProperties,
             "zesRasGetProperties", ZES_STRUCTURE_TYPE_RAS_PROPERTIES)) {
      zes_ras_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_RAS_STATE;
      if (!ask(entries_.RasGetState, "zesRasGetState", set, ze_bool_t{0}, &state)) continue;
      auto& sum = counts[properties.type == ZES_RAS_ERROR_TYPE_UNCORRECTABLE ? 1 : 0];
      sum = sum.value_or(0) + state.category[ZES_RAS_ERROR_CAT_CACHE_ERRORS];
    }
    to.ecc_corrected(counts[0]);
    to.ecc_uncorrected(counts[1]);
  }

  /// Returns false if the loader lacks the call or it can't tell. Throws DEVICE_LOST.
  template <class... Parameters, class... Arguments>
  bool ask(ze_result_t(ZE_APICALL* entry)(Parameters...), const char* call, Arguments... arguments) {
    if (entry == nullptr) return false;
    const ze_result_t result = entry(arguments...);
    if (Results::is_sticky(result)) device_.fail(result, call);
    const bool expected = result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE ||
                          result == ZE_RESULT_ERROR_NOT_AVAILABLE || result == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
    if (!expected && failed_.empty()) failed_ = std::string("; ") + call + " gives " + Results::name_of(result);
    return result == ZE_RESULT_SUCCESS;
  }
  template <class Handle, class Enumerate>
  std::vector<Handle> all(Enumerate entry, const char* call) {
    std::uint32_t count = 0;
    if (!ask(entry, call, handle_, &count, static_cast<Handle*>(nullptr)) || count == 0) return {};
    std::vector<Handle> handles(count);
    if (!ask(entry, call, handle_, &count, handles.data())) return {};
    handles.resize(std::min<std::size_t>(count, handles.size()));
    std::erase(handles, nullptr);
    return handles;
  }
  /// All objects of a kind with their properties; those whose properties can't be read are left out.
  template <class Handle, class Properties, class Enumerate, class Describe>
  std::vector<std::pair<Handle, Properties>> described(Enumerate enumerate, const char* enumeration, Describe describe,
                                                       const char* description, zes_structure_type_t type) {
    std::vector<std::pair<Handle, Properties>> known;
    for (const Handle handle : all<Handle>(enumerate, enumeration)) {
      Properties properties{};
      properties.stype = type;
      if (ask(describe, description, handle, &properties)) known.emplace_back(handle, properties);
    }
    return known;
  }
  /// Returns "" or a text such as "; zesX gives ZE_RESULT_Y".
  const std::string& failed() const noexcept { return failed_; }

 private:
  static std::uint64_t throttle_of(zes_freq_throttle_reason_flags_t flags) noexcept {
    struct Row {
      std::uint32_t theirs;
      unsigned ours;
    };
    constexpr Row rows[] = {{ZES_FREQ_THROTTLE_REASON_FLAG_AVE_PWR_CAP, ANYPLACE_THROTTLE_BIT_POWER},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_BURST_PWR_CAP, ANYPLACE_THROTTLE_BIT_POWER},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_CURRENT_LIMIT, ANYPLACE_THROTTLE_BIT_CURRENT},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT, ANYPLACE_THROTTLE_BIT_TEMPERATURE},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_PSU_ALERT, ANYPLACE_THROTTLE_BIT_CURRENT},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE, ANYPLACE_THROTTLE_BIT_SOFTWARE},
                            {ZES_FREQ_THROTTLE_REASON_FLAG_HW_RANGE, ANYPLACE_THROTTLE_BIT_HARDWARE}};
    std::uint64_t bits = 0;
    for (const Row& row : rows) {
      if ((flags & row.theirs) != 0) bits |= std::uint64_t{1} << row.ours;
      flags &= ~row.theirs;
    }
    return flags == 0 ? bits : bits | std::uint64_t{1} << ANYPLACE_THROTTLE_BIT_OTHER;
  }

  DeviceBase& device_;
  const Entries& entries_;
  const zes_device_handle_t handle_;
  std::string failed_;
};

/// The device's domain, bus, device and function, to compare with the result of zesDevicePciGetProperties.
std::optional<zes_pci_address_t> address_of(ze_device_handle_t device) {
  if (api().DevicePciGetPropertiesExt == nullptr) return std::nullopt;
  ze_pci_ext_properties_t pci{};
  pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  if (api().DevicePciGetPropertiesExt(device, &pci) != ZE_RESULT_SUCCESS) return std::nullopt;
  return zes_pci_address_t{pci.address.domain, pci.address.bus, pci.address.device, pci.address.function};
}

}  // namespace

zes_device_handle_t Sysman::find_among(const std::vector<zes_device_handle_t>& all) {
  Questions questions(device_, interface().entries, nullptr);
  const ze_device_uuid_t& own = device_.facts().properties.uuid;
  for (const zes_device_handle_t each : all) {
    zes_device_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    properties.core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    if (interface().entries.DeviceGetProperties(each, &properties) != ZE_RESULT_SUCCESS) continue;
    if (std::memcmp(properties.core.uuid.id, own.id, sizeof(own.id)) == 0) return each;
  }
  const std::optional<zes_pci_address_t> address = address_of(device_.native());
  if (!address || interface().entries.DevicePciGetProperties == nullptr) return nullptr;
  for (const zes_device_handle_t each : all) {
    zes_pci_properties_t pci{};
    pci.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
    if (interface().entries.DevicePciGetProperties(each, &pci) != ZE_RESULT_SUCCESS) continue;
    if (pci.address.domain == address->domain && pci.address.bus == address->bus &&
        pci.address.device == address->device && pci.address.function == address->function) {
      return each;
    }
  }
  return nullptr;
}

zes_device_handle_t Sysman::find(std::string& why) {
  const Interface& sysman = interface();
  if (!sysman.ready) {
    why = sysman.text;
    return nullptr;
  }
  if (sysman.has_core_handles) return reinterpret_cast<zes_device_handle_t>(device_.native());
  const std::lock_guard lock(mutex_);
  if (found_ == nullptr) found_ = find_among(sysman.devices);
  if (found_ == nullptr) {
    why = sysman.text + ": it knows no device " + uuid_text(device_.facts().properties.uuid) +
          "; see that this user may read /sys/class/drm";
  }
  return found_;
}

void Sysman::sample(anyplace_device_sample& out) {
  device_.require();
  const Sampled to(out);
  std::string why;
  const zes_device_handle_t handle = find(why);
  if (handle == nullptr) {
    to.source(why);
    return;
  }
  Questions questions(device_, interface().entries, handle);
  questions.memory(to);
  questions.power(to);
  questions.clocks(to);
  questions.temperature(to);
  questions.engines(to);
  questions.traffic(to);
  questions.errors(to);
  to.source(interface().text + questions.failed());
}

bool Sysman::lists_processes() {
  std::string why;
  const zes_device_handle_t handle = find(why);
  std::uint32_t count = 0;
  return handle != nullptr && interface().entries.DeviceProcessesGetState != nullptr &&
         interface().entries.DeviceProcessesGetState(handle, &count, nullptr) == ZE_RESULT_SUCCESS;
}

std::vector<anyplace_process> Sysman::processes() {
  device_.require();
  std::string why;
  const zes_device_handle_t handle = find(why);
  if (handle == nullptr) refuse(ANYPLACE_STATUS_UNSUPPORTED, why);
  Questions questions(device_, interface().entries, handle);
  std::vector<zes_process_state_t> states;
  bool told = false;
  // Processes may begin between the two calls.
  for (int round = 0; round < 8 && !told; ++round) {
    std::uint32_t count = 0;
    if (!questions.ask(interface().entries.DeviceProcessesGetState, "zesDeviceProcessesGetState", handle, &count,
                       static_cast<zes_process_state_t*>(nullptr))) {
      break;
    }
    zes_process_state_t empty{};
    empty.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
    states.assign(std::size_t{count} + 8, empty);
    count = static_cast<std::uint32_t>(states.size());
    const ze_result_t result = interface().entries.DeviceProcessesGetState(handle, &count, states.data());
    if (result == ZE_RESULT_ERROR_INVALID_SIZE) continue;
    if (Results::is_sticky(result)) device_.fail(result, "zesDeviceProcessesGetState");
    if (result != ZE_RESULT_SUCCESS) break;
    states.resize(std::min<std::size_t>(count, states.size()));
    told = true;
  }
  if (!told)
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the driver doesn't tell which processes use the device" + questions.failed());
  std::vector<anyplace_process> all;
  bool own = false;
  for (const zes_process_state_t& state : states) {
    const auto pid = static_cast<pid_t>(state.processId);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno != EPERM)) continue;
    own = own || pid == getpid();
    constexpr std::uint32_t computes = ZES_ENGINE_TYPE_FLAG_COMPUTE | ZES_ENGINE_TYPE_FLAG_RENDER,
                            draws = ZES_ENGINE_TYPE_FLAG_3D | ZES_ENGINE_TYPE_FLAG_MEDIA;
    anyplace_process& process = all.emplace_back();
    process.id = state.processId;
    process.memory_bytes = state.memSize;
    // A render engine computes and draws, so which of the two it did isn't known.
    if ((state.engines & computes) == ZES_ENGINE_TYPE_FLAG_COMPUTE) process.kinds |= ANYPLACE_PROCESS_COMPUTE;
    if ((state.engines & draws) != 0) process.kinds |= ANYPLACE_PROCESS_GRAPHICS;
    process.kinds_known = process.kinds;
  }
  if (!own && device_.context_or_null() != nullptr) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "the driver numbers processes in another PID namespace than this one's, or isn't permitted to see this one: "
           "it doesn't list this process, which uses the device\nstart the container with the host's PID namespace");
  }
  return all;
}

}  // namespace anyplace::levelzero
