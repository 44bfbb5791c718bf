// SPDX-License-Identifier: Apache-2.0
//
// ROCm SMI, AMD's system management library, opened at run time: entries.DevPowerAve(index, 0, &power) is
// rsmi_dev_power_ave_get(index, 0, &power). Nothing here knows what anyplace does with it.
//
// The part of its C interface that is used here hasn't changed from ROCm 5 to 7, and each release has it, Debian's too
// (librocm-smi64-1); AMD SMI, its successor, has changed its structs within a major. The needed part of rocm_smi.h is
// declared here, after the ROCm SMI API reference (rocm.docs.amd.com/projects/rocm_smi_lib); a test compares the two
// where the header is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::hip {

namespace rsmi {
using Status = int;
constexpr Status success = 0, not_supported = 2, file_error = 3, permission = 4, not_found = 10, no_data = 14;
constexpr int temperature_current = 0, memory_vram = 0, clock_system = 0, clock_memory = 4;
constexpr std::uint32_t sensor_edge = 0, sensor_junction = 1;
constexpr std::uint64_t block_umc = 1;  // the controllers of the memory

struct Errors {
  std::uint64_t corrected;
  std::uint64_t uncorrected;
};
struct Process {
  std::uint32_t pid;
  std::uint32_t pasid;
  std::uint64_t vram_bytes;
  std::uint64_t sdma_microseconds;
  std::uint32_t cu_occupancy;
};
/// Room for rsmi_frequencies_t in both forms and more: from release 6 on it begins with a bool.
struct Frequencies {
  std::uint64_t words[64];
};
/// The current frequency in Hz; 0 if there is none. It tells the form by the content.
std::uint64_t current_of(const Frequencies& frequencies) noexcept;
}  // namespace rsmi

/// The entries as X(Member, exported, parameters).
#define ANYPLACE_ROCM_SMI_ENTRIES(X)                                                                      \
  X(Init, "rsmi_init", (std::uint64_t flags))                                                             \
  X(NumMonitorDevices, "rsmi_num_monitor_devices", (std::uint32_t*))                                      \
  X(DevPciId, "rsmi_dev_pci_id_get", (std::uint32_t, std::uint64_t*))                                     \
  X(DevBusyPercent, "rsmi_dev_busy_percent_get", (std::uint32_t, std::uint32_t*))                         \
  X(DevMemoryBusyPercent, "rsmi_dev_memory_busy_percent_get", (std::uint32_t, std::uint32_t*))            \
  X(DevMemoryTotal, "rsmi_dev_memory_total_get", (std::uint32_t, int, std::uint64_t*))                    \
  X(DevMemoryUsage, "rsmi_dev_memory_usage_get", (std::uint32_t, int, std::uint64_t*))                    \
  X(DevTempMetric, "rsmi_dev_temp_metric_get", (std::uint32_t, std::uint32_t, int, std::int64_t*))        \
  X(DevPowerAve, "rsmi_dev_power_ave_get", (std::uint32_t, std::uint32_t, std::uint64_t*))                \
  X(DevPowerCap, "rsmi_dev_power_cap_get", (std::uint32_t, std::uint32_t, std::uint64_t*))                \
  X(DevEnergyCount, "rsmi_dev_energy_count_get", (std::uint32_t, std::uint64_t*, float*, std::uint64_t*)) \
  X(DevGpuClkFreq, "rsmi_dev_gpu_clk_freq_get", (std::uint32_t, int, rsmi::Frequencies*))                 \
  X(DevEccCount, "rsmi_dev_ecc_count_get", (std::uint32_t, std::uint64_t, rsmi::Errors*))                 \
  X(ComputeProcessInfo, "rsmi_compute_process_info_get", (rsmi::Process*, std::uint32_t*))                \
  X(ComputeProcessGpus, "rsmi_compute_process_gpus_get", (std::uint32_t, std::uint32_t*, std::uint32_t*)) \
  X(ComputeProcessByDevice, "rsmi_compute_process_info_by_device_get", (std::uint32_t, std::uint32_t, rsmi::Process*))

struct RocmSmi {
#define ANYPLACE_ROCM_SMI_POINTER(Member, exported, parameters) rsmi::Status(*Member) parameters = nullptr;
  ANYPLACE_ROCM_SMI_ENTRIES(ANYPLACE_ROCM_SMI_POINTER)
#undef ANYPLACE_ROCM_SMI_POINTER
};

/// The initialised library with its devices' PCI addresses ("0000:43:00.0") by its own indices, or what is missing.
struct RocmSmiLibrary {
  RocmSmi entries;
  std::vector<std::string> addresses;
  bool ready = false;
  std::string text;  ///< "ROCm SMI, /opt/rocm/lib/librocm_smi64.so.6", or what is missing
};

/// Opens and initialises the library at the first call. It is never shut down, because others in the process may use
/// it. Thread-safe. Throws Failure(OUT_OF_MEMORY) for a shortage that may pass.
const RocmSmiLibrary& rocm_smi();

}  // namespace anyplace::hip
