// SPDX-License-Identifier: Apache-2.0
//
// What backends/hip/rocm_smi.h declares of ROCm SMI is what AMD's header declares. The compiler compares; the case only
// says that it did.
#include <rocm_smi/rocm_smi.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <type_traits>

#include "hip/rocm_smi.h"

namespace rocm_smi_header_test {

namespace ours = anyplace::hip;

// An enumeration crosses as the integer of its size.
template <class T>
struct Crossing {
  static_assert(!std::is_enum_v<T> || sizeof(T) == sizeof(int) || sizeof(T) == sizeof(std::uint64_t));
  using type = std::conditional_t<std::is_enum_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, int>, T>;
};
template <>
struct Crossing<rsmi_error_count_t> {
  using type = ours::rsmi::Errors;
};
template <>
struct Crossing<rsmi_process_info_t> {
  using type = ours::rsmi::Process;
};
template <>
struct Crossing<rsmi_frequencies_t> {
  using type = ours::rsmi::Frequencies;
};
template <class T>
struct Crossing<T*> {
  using type = typename Crossing<T>::type*;
};
static_assert(sizeof(rsmi_error_count_t) == sizeof(ours::rsmi::Errors));
static_assert(sizeof(rsmi_process_info_t) == sizeof(ours::rsmi::Process));
static_assert(offsetof(rsmi_process_info_t, vram_usage) == offsetof(ours::rsmi::Process, vram_bytes));
static_assert(sizeof(rsmi_frequencies_t) <= sizeof(ours::rsmi::Frequencies));

template <class Function>
struct Crossed;
template <class Result, class... Parameters>
struct Crossed<Result(Parameters...)> {
  using type = typename Crossing<Result>::type (*)(typename Crossing<Parameters>::type...);
};
#define ANYPLACE_SAME_ENTRY(Member, exported) \
  static_assert(std::is_same_v<Crossed<decltype(exported)>::type, decltype(ours::RocmSmi::Member)>);
ANYPLACE_SAME_ENTRY(Init, rsmi_init)
ANYPLACE_SAME_ENTRY(NumMonitorDevices, rsmi_num_monitor_devices)
ANYPLACE_SAME_ENTRY(DevPciId, rsmi_dev_pci_id_get)
ANYPLACE_SAME_ENTRY(DevBusyPercent, rsmi_dev_busy_percent_get)
ANYPLACE_SAME_ENTRY(DevMemoryBusyPercent, rsmi_dev_memory_busy_percent_get)
ANYPLACE_SAME_ENTRY(DevMemoryTotal, rsmi_dev_memory_total_get)
ANYPLACE_SAME_ENTRY(DevMemoryUsage, rsmi_dev_memory_usage_get)
ANYPLACE_SAME_ENTRY(DevTempMetric, rsmi_dev_temp_metric_get)
ANYPLACE_SAME_ENTRY(DevPowerAve, rsmi_dev_power_ave_get)
ANYPLACE_SAME_ENTRY(DevPowerCap, rsmi_dev_power_cap_get)
ANYPLACE_SAME_ENTRY(DevEnergyCount, rsmi_dev_energy_count_get)
ANYPLACE_SAME_ENTRY(DevGpuClkFreq, rsmi_dev_gpu_clk_freq_get)
ANYPLACE_SAME_ENTRY(ComputeProcessInfo, rsmi_compute_process_info_get)
ANYPLACE_SAME_ENTRY(ComputeProcessGpus, rsmi_compute_process_gpus_get)

static_assert(ours::rsmi::success == RSMI_STATUS_SUCCESS && ours::rsmi::not_supported == RSMI_STATUS_NOT_SUPPORTED &&
              ours::rsmi::file_error == RSMI_STATUS_FILE_ERROR && ours::rsmi::permission == RSMI_STATUS_PERMISSION &&
              ours::rsmi::not_found == RSMI_STATUS_NOT_FOUND && ours::rsmi::no_data == RSMI_STATUS_NO_DATA);
static_assert(ours::rsmi::temperature_current == RSMI_TEMP_CURRENT && ours::rsmi::memory_vram == RSMI_MEM_TYPE_VRAM &&
              ours::rsmi::clock_system == RSMI_CLK_TYPE_SYS && ours::rsmi::clock_memory == RSMI_CLK_TYPE_MEM &&
              ours::rsmi::sensor_edge == RSMI_TEMP_TYPE_EDGE &&
              ours::rsmi::sensor_junction == RSMI_TEMP_TYPE_JUNCTION && ours::rsmi::block_umc == RSMI_GPU_BLOCK_UMC);

TEST_CASE("What is declared of ROCm SMI is what its header declares") {
  rsmi_frequencies_t theirs{};
  theirs.num_supported = 3;
  theirs.current = 2;
  theirs.frequency[2] = 1234567890;
  ours::rsmi::Frequencies read{};
  std::memcpy(&read, &theirs, sizeof(theirs));
  CHECK(ours::rsmi::current_of(read) == 1234567890);
}

}  // namespace rocm_smi_header_test
