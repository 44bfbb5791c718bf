// SPDX-License-Identifier: Apache-2.0
//
// NVML, NVIDIA's management library, opened at run time: nvml().DeviceGetPowerUsage(device, &power) is
// nvmlDeviceGetPowerUsage(device, &power). Nothing here knows what anyplace does with it.
//
// Few CUDA installations have nvml.h, so the needed part of it is declared here, after the NVML API Reference Guide
// (docs.nvidia.com/deploy/nvml-api); a test compares the two where the header is found. Without the library all figures
// are unknown, and without an entry its figure is; only the entries that initialise NVML and find a device are
// REQUIRED.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::cuda {

using NvmlDevice = struct NvmlDeviceObject*;
using NvmlResult = int;

namespace nvml_result {
constexpr NvmlResult success = 0, not_supported = 3, no_permission = 4, not_found = 6, insufficient_size = 7,
                     function_not_found = 13, gpu_is_lost = 15, reset_required = 16, no_data = 21;
}

struct NvmlUtilization {
  unsigned gpu;  // percent
  unsigned memory;
};
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;  // includes what the driver keeps for itself
};
/// The struct of the second and third form of the entries.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;  // all ones means unknown
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct NvmlProcessUtilization {
  unsigned pid;
  unsigned long long timestamp;  // microseconds since 1970
  unsigned sm;                   // percent
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};
struct NvmlFieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;  // of nvml_value
  NvmlResult result;
  unsigned long long value;
};
namespace nvml_value {
constexpr int unsigned_int = 1, unsigned_long = 2, unsigned_long_long = 3;
}
namespace nvml_field {
constexpr unsigned nvlink_tx_kib = 138, nvlink_rx_kib = 139, pcie_tx_bytes = 197, pcie_rx_bytes = 198;
constexpr unsigned all_links = 0xffffffffu;
}  // namespace nvml_field
namespace nvml_reason {  // bits that DeviceGetCurrentClocksThrottleReasons gives
constexpr unsigned long long idle = 0x1, application_clocks = 0x2, power_cap = 0x4, hardware = 0x8, sync_boost = 0x10,
                             software_thermal = 0x20, hardware_thermal = 0x40, power_brake = 0x80,
                             display_clocks = 0x100;
}
constexpr int nvml_temperature_gpu = 0, nvml_clock_sm = 1, nvml_clock_memory = 2;
constexpr int nvml_ecc_corrected = 0, nvml_ecc_uncorrected = 1, nvml_ecc_since_load = 0;

/// The entries as X(Member, exported, parameters).
#define ANYPLACE_NVML_ENTRIES(X)                                                                               \
  X(Init, "nvmlInit_v2", (void))                                                                               \
  X(ErrorString, "nvmlErrorString", (NvmlResult))                                                              \
  X(SystemGetNVMLVersion, "nvmlSystemGetNVMLVersion", (char*, unsigned))                                       \
  X(DeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID", (const char*, NvmlDevice*))                            \
  X(DeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", (const char*, NvmlDevice*))                 \
  X(DeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", (NvmlDevice, NvmlUtilization*))                \
  X(DeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo", (NvmlDevice, NvmlMemory*))                                 \
  X(DeviceGetTemperature, "nvmlDeviceGetTemperature", (NvmlDevice, int, unsigned*))                            \
  X(DeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (NvmlDevice, unsigned*))                                   \
  X(DeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", (NvmlDevice, unsigned*))                   \
  X(DeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption", (NvmlDevice, unsigned long long*)) \
  X(DeviceGetClockInfo, "nvmlDeviceGetClockInfo", (NvmlDevice, int, unsigned*))                                \
  X(DeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons",                        \
    (NvmlDevice, unsigned long long*))                                                                         \
  X(DeviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors", (NvmlDevice, int, int, unsigned long long*))       \
  X(DeviceGetFieldValues, "nvmlDeviceGetFieldValues", (NvmlDevice, int, NvmlFieldValue*))                      \
  X(DeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3",                               \
    (NvmlDevice, unsigned*, NvmlProcess*))                                                                     \
  X(DeviceGetGraphicsRunningProcesses, "nvmlDeviceGetGraphicsRunningProcesses_v3",                             \
    (NvmlDevice, unsigned*, NvmlProcess*))                                                                     \
  X(DeviceGetProcessUtilization, "nvmlDeviceGetProcessUtilization",                                            \
    (NvmlDevice, NvmlProcessUtilization*, unsigned*, unsigned long long))

struct Nvml {
#define ANYPLACE_NVML_POINTER(Member, exported, parameters) NvmlResult(*Member) parameters = nullptr;
  ANYPLACE_NVML_ENTRIES(ANYPLACE_NVML_POINTER)
#undef ANYPLACE_NVML_POINTER
};

/// The library and the text that names it, or the text that says why it can't be used and what to do about that.
struct NvmlLibrary {
  Nvml entries;
  bool ready = false;
  std::string text;  ///< "NVML 12.550.54, /usr/lib/libnvidia-ml.so.1", or what is missing
};

/// Opens the library and looks up its entries at the first call, but doesn't initialise it. Returns null if there is no
/// library. Thread-safe. Throws Failure(OUT_OF_MEMORY) for a shortage that may pass.
const Nvml* nvml_entries();
/// Initialises NVML at the first call. It is never shut down, because others in the process may use it. Thread-safe.
/// Throws Failure(OUT_OF_MEMORY) for a shortage that may pass.
const NvmlLibrary& nvml_library();

}  // namespace anyplace::cuda
