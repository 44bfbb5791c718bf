// SPDX-License-Identifier: Apache-2.0
//
// The double of NVML, over the devices of the CUDA double. It has them the other way round: its index 0 is the last
// physical device, so that who goes by an index sees another device's figures. Written from the NVML API Reference
// Guide; NVML_DOUBLE_FIGURES sets what a device says.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "../cuda/config.h"
#include "cuda/nvml.h"
#include "figures.h"

using anyplace::cuda::NvmlDevice;
using anyplace::cuda::NvmlFieldValue;
using anyplace::cuda::NvmlMemory;
using anyplace::cuda::NvmlProcess;
using anyplace::cuda::NvmlProcessUtilization;
using anyplace::cuda::NvmlResult;
using anyplace::cuda::NvmlUtilization;

namespace anyplace::doubles {
namespace monitoring {

const char* const figures_variable = "NVML_DOUBLE_FIGURES";
const char* const device_library = "libcuda.so.1";
int number_of_devices() { return cuda::config().physical_devices; }
// In NVML's units.
const std::vector<Figure>& figures = *new std::vector<Figure>{
    {"lost", 0},           {"gpu", 37},       {"memory", 12},        {"reserved", 1 << 20}, {"temperature", 54},
    {"power", 65123},      {"limit", 300000}, {"energy", 123456789}, {"sm", 1410},          {"memory_clock", 2619},
    {"reasons", 0x4},      {"corrected", 2},  {"uncorrected", 0},    {"pcie_tx", 1000},     {"pcie_rx", 2000},
    {"nvlink_tx", 10},     {"nvlink_rx", 20}, {"no_links", 0},       {"other_process", 0},  {"other_bytes", 4096},
    {"other_graphics", 0}, {"hides_us", 0},   {"process_gpu", 25}};

#define NVML_DOUBLE_NAME(Member, exported, parameters) exported,
const std::vector<const char*>& entry_names = *new std::vector<const char*>{ANYPLACE_NVML_ENTRIES(NVML_DOUBLE_NAME)};
#undef NVML_DOUBLE_NAME

namespace {

using namespace cuda;
namespace result = anyplace::cuda::nvml_result;

constexpr int uninitialized = 1, invalid_argument = 2;
std::atomic<bool> initialised{false};

/// The object of a physical device is its number and 1.
NvmlDevice device_of(int physical) { return reinterpret_cast<NvmlDevice>(static_cast<uintptr_t>(physical) + 1); }
int physical_of(NvmlDevice device) { return static_cast<int>(reinterpret_cast<uintptr_t>(device)) - 1; }

NvmlResult check(const char* entry) {
  if (const int failure = count(entry); failure != 0) return failure;
  return initialised ? result::success : uninitialized;
}
NvmlResult check(const char* entry, NvmlDevice device, const void* out) {
  if (const NvmlResult refused = check(entry); refused != result::success) return refused;
  const int physical = physical_of(device);
  if (out == nullptr || physical < 0 || physical >= config().physical_devices) return invalid_argument;
  return figure(physical, "lost") != 0 ? result::gpu_is_lost : result::success;
}
template <class Out>
NvmlResult tell(const char* entry, NvmlDevice device, Out* out, const char* name) {
  const NvmlResult refused = check(entry, device, out);
  if (refused == result::success) *out = static_cast<Out>(figure(physical_of(device), name));
  return refused;
}

std::string uuid_of(int physical) {
  unsigned char bytes[16];
  uuid_bytes(config(), physical, bytes);
  char text[48];
  int at = std::snprintf(text, sizeof(text), "%s", config().mig ? "MIG-" : "GPU-");
  for (int i = 0; i < 16; ++i) {
    const char* const dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    at += std::snprintf(text + at, sizeof(text) - static_cast<size_t>(at), "%s%02x", dash, bytes[i]);
  }
  return text;
}

void write(NvmlProcess* out, unsigned room, unsigned& count, unsigned pid, uint64_t bytes) {
  if (count < room) out[count] = {pid, bytes, 0xffffffffu, 0xffffffffu};
  ++count;
}
NvmlResult list(NvmlDevice device, unsigned* count, NvmlProcess* out, bool graphics) {
  const int physical = physical_of(device);
  const unsigned room = *count;
  unsigned found = 0;
  const int64_t used = use_of_device(physical);
  if (!graphics && used >= 0 && figure(physical, "hides_us") == 0) {
    write(out, room, found, static_cast<unsigned>(getpid()), static_cast<uint64_t>(used));
  }
  const auto other = static_cast<unsigned>(figure(physical, "other_process"));
  if (other != 0 && (figure(physical, "other_graphics") != 0) == graphics) {
    write(out, room, found, other, figure(physical, "other_bytes"));
  }
  *count = found;
  return found > room ? result::insufficient_size : result::success;
}

}  // namespace
}  // namespace monitoring
}  // namespace anyplace::doubles

using namespace anyplace::doubles::monitoring;

#define NVML_DOUBLE extern "C" __attribute__((visibility("default"))) NvmlResult

NVML_DOUBLE nvmlInit_v2(void) {
  if (const int failure = count("nvmlInit_v2"); failure != 0) return failure;
  initialised = true;
  return result::success;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(NvmlResult) { return "a double's"; }
NVML_DOUBLE nvmlSystemGetNVMLVersion(char* text, unsigned bytes) {
  if (const NvmlResult refused = check("nvmlSystemGetNVMLVersion"); refused != result::success) return refused;
  std::snprintf(text, bytes, "12.999.1");
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  if (const NvmlResult refused = check("nvmlDeviceGetHandleByUUID"); refused != result::success) return refused;
  for (int i = 0; i < anyplace::doubles::cuda::config().physical_devices; ++i) {
    if (uuid_of(i) == uuid) return *device = device_of(i), result::success;
  }
  return result::not_found;
}
NVML_DOUBLE nvmlDeviceGetHandleByPciBusId_v2(const char* pci, NvmlDevice* device) {
  if (const NvmlResult refused = check("nvmlDeviceGetHandleByPciBusId_v2"); refused != result::success) return refused;
  for (int i = 0; i < anyplace::doubles::cuda::config().physical_devices; ++i) {
    char text[32];
    std::snprintf(text, sizeof(text), "0000:%02x:00.0", 0x17 + i);
    if (std::strcmp(pci, text) == 0) return *device = device_of(i), result::success;
  }
  return result::not_found;
}
NVML_DOUBLE nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(anyplace::doubles::cuda::config().physical_devices);
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  const auto devices = static_cast<unsigned>(anyplace::doubles::cuda::config().physical_devices);
  if (index >= devices) return invalid_argument;
  *device = device_of(static_cast<int>(devices - 1 - index));
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* out) {
  const NvmlResult refused = check("nvmlDeviceGetUtilizationRates", device, out);
  if (refused != result::success) return refused;
  *out = {static_cast<unsigned>(figure(physical_of(device), "gpu")),
          static_cast<unsigned>(figure(physical_of(device), "memory"))};
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* out) {
  const NvmlResult refused = check("nvmlDeviceGetMemoryInfo", device, out);
  if (refused != result::success) return refused;
  const int64_t allocated = use_of_device(physical_of(device));
  out->total = anyplace::doubles::cuda::config().device_bytes;
  out->used = figure(physical_of(device), "reserved") + static_cast<uint64_t>(std::max<int64_t>(allocated, 0));
  out->used = std::min(out->used, out->total);
  out->free = out->total - out->used;
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetTemperature(NvmlDevice device, int sensor, unsigned* out) {
  if (sensor != 0) return invalid_argument;
  return tell("nvmlDeviceGetTemperature", device, out, "temperature");
}
NVML_DOUBLE nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned* out) {
  return tell("nvmlDeviceGetPowerUsage", device, out, "power");
}
NVML_DOUBLE nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, unsigned* out) {
  return tell("nvmlDeviceGetEnforcedPowerLimit", device, out, "limit");
}
NVML_DOUBLE nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device, unsigned long long* out) {
  return tell("nvmlDeviceGetTotalEnergyConsumption", device, out, "energy");
}
NVML_DOUBLE nvmlDeviceGetClockInfo(NvmlDevice device, int type, unsigned* out) {
  if (type != 1 && type != 2) return invalid_argument;
  return tell("nvmlDeviceGetClockInfo", device, out, type == 1 ? "sm" : "memory_clock");
}
NVML_DOUBLE nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device, unsigned long long* out) {
  return tell("nvmlDeviceGetCurrentClocksThrottleReasons", device, out, "reasons");
}
NVML_DOUBLE nvmlDeviceGetTotalEccErrors(NvmlDevice device, int type, int counter, unsigned long long* out) {
  if (type < 0 || type > 1 || counter != 0) return invalid_argument;
  return tell("nvmlDeviceGetTotalEccErrors", device, out, type == 0 ? "corrected" : "uncorrected");
}
NVML_DOUBLE nvmlDeviceGetFieldValues(NvmlDevice device, int values, NvmlFieldValue* out) {
  const NvmlResult refused = check("nvmlDeviceGetFieldValues", device, out);
  if (refused != result::success) return refused;
  const int physical = physical_of(device);
  for (NvmlFieldValue* field = out; field != out + values; ++field) {
    const char* name = nullptr;
    switch (field->field) {
      case 138:
        name = "nvlink_tx";
        break;
      case 139:
        name = "nvlink_rx";
        break;
      case 197:
        name = "pcie_tx";
        break;
      case 198:
        name = "pcie_rx";
        break;
      default:
        break;
    }
    const bool of_links = field->field == 138 || field->field == 139;
    const bool known =
        name != nullptr && (!of_links || (field->scope == 0xffffffffu && figure(physical, "no_links") == 0));
    field->result = known ? result::success : result::not_supported;
    field->type = 3;
    field->value = known ? figure(physical, name) : 0xdeadu;
  }
  return result::success;
}
NVML_DOUBLE nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, unsigned* count, NvmlProcess* out) {
  const NvmlResult refused = check("nvmlDeviceGetComputeRunningProcesses_v3", device, count);
  return refused != result::success ? refused : list(device, count, out, false);
}
NVML_DOUBLE nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlDevice device, unsigned* count, NvmlProcess* out) {
  const NvmlResult refused = check("nvmlDeviceGetGraphicsRunningProcesses_v3", device, count);
  return refused != result::success ? refused : list(device, count, out, true);
}
// The older sample comes last.
NVML_DOUBLE nvmlDeviceGetProcessUtilization(NvmlDevice device, NvmlProcessUtilization* out, unsigned* count,
                                            unsigned long long since) {
  const NvmlResult refused = check("nvmlDeviceGetProcessUtilization", device, count);
  if (refused != result::success) return refused;
  if (*count < 2) return result::insufficient_size;
  const auto own = static_cast<unsigned>(getpid());
  out[0] = {own, since + 2, static_cast<unsigned>(figure(physical_of(device), "process_gpu")), 1, 0, 0};
  out[1] = {own, since + 1, 99, 1, 0, 0};
  *count = 2;
  return result::success;
}
