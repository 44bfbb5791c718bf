// SPDX-License-Identifier: Apache-2.0
//
// What backends/cuda/nvml.h declares of NVML is what NVIDIA's header declares. The compiler compares; the case only
// says that it did.
#include <nvml.h>

#include <catch2/catch.hpp>
#include <type_traits>

#include "cuda/nvml.h"

namespace nvml_header_test {

using namespace anyplace::cuda;

// A handle and an enumeration cross as a pointer and an int.
template <class T>
struct Crossing {
  using type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Crossing<nvmlDevice_t> {
  using type = NvmlDevice;
};
template <class T>
struct Crossing<T*> {
  using type = typename Crossing<T>::type*;
};
#define ANYPLACE_SAME_STRUCT(theirs, ours) \
  template <>                              \
  struct Crossing<theirs> {                \
    using type = ours;                     \
  };                                       \
  static_assert(sizeof(theirs) == sizeof(ours) && alignof(theirs) == alignof(ours));
ANYPLACE_SAME_STRUCT(nvmlUtilization_t, NvmlUtilization)
ANYPLACE_SAME_STRUCT(nvmlMemory_t, NvmlMemory)
ANYPLACE_SAME_STRUCT(nvmlProcessInfo_t, NvmlProcess)
ANYPLACE_SAME_STRUCT(nvmlProcessUtilizationSample_t, NvmlProcessUtilization)
ANYPLACE_SAME_STRUCT(nvmlFieldValue_t, NvmlFieldValue)

#define ANYPLACE_SAME_FIELD(theirs, their_field, ours, our_field)            \
  static_assert(offsetof(theirs, their_field) == offsetof(ours, our_field)); \
  static_assert(sizeof(theirs::their_field) == sizeof(ours::our_field));
ANYPLACE_SAME_FIELD(nvmlUtilization_t, memory, NvmlUtilization, memory)
ANYPLACE_SAME_FIELD(nvmlMemory_t, total, NvmlMemory, total)
ANYPLACE_SAME_FIELD(nvmlMemory_t, used, NvmlMemory, used)
ANYPLACE_SAME_FIELD(nvmlProcessInfo_t, pid, NvmlProcess, pid)
ANYPLACE_SAME_FIELD(nvmlProcessInfo_t, usedGpuMemory, NvmlProcess, used_memory)
ANYPLACE_SAME_FIELD(nvmlProcessUtilizationSample_t, timeStamp, NvmlProcessUtilization, timestamp)
ANYPLACE_SAME_FIELD(nvmlProcessUtilizationSample_t, smUtil, NvmlProcessUtilization, sm)
ANYPLACE_SAME_FIELD(nvmlFieldValue_t, scopeId, NvmlFieldValue, scope)
ANYPLACE_SAME_FIELD(nvmlFieldValue_t, valueType, NvmlFieldValue, type)
ANYPLACE_SAME_FIELD(nvmlFieldValue_t, nvmlReturn, NvmlFieldValue, result)
ANYPLACE_SAME_FIELD(nvmlFieldValue_t, value, NvmlFieldValue, value)

template <class Function>
struct Crossed;
template <class Result, class... Parameters>
struct Crossed<Result(Parameters...)> {
  using type = typename Crossing<Result>::type (*)(typename Crossing<Parameters>::type...);
};
#define ANYPLACE_SAME_ENTRY(Member, exported) \
  static_assert(std::is_same_v<Crossed<decltype(exported)>::type, decltype(Nvml::Member)>);
ANYPLACE_SAME_ENTRY(Init, nvmlInit_v2)
ANYPLACE_SAME_ENTRY(SystemGetNVMLVersion, nvmlSystemGetNVMLVersion)
ANYPLACE_SAME_ENTRY(DeviceGetHandleByUUID, nvmlDeviceGetHandleByUUID)
ANYPLACE_SAME_ENTRY(DeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2)
ANYPLACE_SAME_ENTRY(DeviceGetUtilizationRates, nvmlDeviceGetUtilizationRates)
ANYPLACE_SAME_ENTRY(DeviceGetMemoryInfo, nvmlDeviceGetMemoryInfo)
ANYPLACE_SAME_ENTRY(DeviceGetTemperature, nvmlDeviceGetTemperature)
ANYPLACE_SAME_ENTRY(DeviceGetPowerUsage, nvmlDeviceGetPowerUsage)
ANYPLACE_SAME_ENTRY(DeviceGetEnforcedPowerLimit, nvmlDeviceGetEnforcedPowerLimit)
ANYPLACE_SAME_ENTRY(DeviceGetTotalEnergyConsumption, nvmlDeviceGetTotalEnergyConsumption)
ANYPLACE_SAME_ENTRY(DeviceGetClockInfo, nvmlDeviceGetClockInfo)
ANYPLACE_SAME_ENTRY(DeviceGetCurrentClocksThrottleReasons, nvmlDeviceGetCurrentClocksThrottleReasons)
ANYPLACE_SAME_ENTRY(DeviceGetTotalEccErrors, nvmlDeviceGetTotalEccErrors)
ANYPLACE_SAME_ENTRY(DeviceGetFieldValues, nvmlDeviceGetFieldValues)
ANYPLACE_SAME_ENTRY(DeviceGetComputeRunningProcesses, nvmlDeviceGetComputeRunningProcesses_v3)
ANYPLACE_SAME_ENTRY(DeviceGetGraphicsRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v3)
ANYPLACE_SAME_ENTRY(DeviceGetProcessUtilization, nvmlDeviceGetProcessUtilization)

static_assert(nvml_result::success == NVML_SUCCESS && nvml_result::not_supported == NVML_ERROR_NOT_SUPPORTED &&
              nvml_result::no_permission == NVML_ERROR_NO_PERMISSION &&
              nvml_result::not_found == NVML_ERROR_NOT_FOUND &&
              nvml_result::insufficient_size == NVML_ERROR_INSUFFICIENT_SIZE &&
              nvml_result::function_not_found == NVML_ERROR_FUNCTION_NOT_FOUND &&
              nvml_result::gpu_is_lost == NVML_ERROR_GPU_IS_LOST &&
              nvml_result::reset_required == NVML_ERROR_RESET_REQUIRED && nvml_result::no_data == NVML_ERROR_NO_DATA);
static_assert(nvml_value::unsigned_int == NVML_VALUE_TYPE_UNSIGNED_INT &&
              nvml_value::unsigned_long == NVML_VALUE_TYPE_UNSIGNED_LONG &&
              nvml_value::unsigned_long_long == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
static_assert(nvml_field::nvlink_tx_kib == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX &&
              nvml_field::nvlink_rx_kib == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
#ifdef NVML_FI_DEV_PCIE_COUNT_TX_BYTES  // the newest of what is compared
static_assert(nvml_field::pcie_tx_bytes == NVML_FI_DEV_PCIE_COUNT_TX_BYTES &&
              nvml_field::pcie_rx_bytes == NVML_FI_DEV_PCIE_COUNT_RX_BYTES);
#endif
static_assert(nvml_reason::idle == nvmlClocksThrottleReasonGpuIdle &&
              nvml_reason::application_clocks == nvmlClocksThrottleReasonApplicationsClocksSetting &&
              nvml_reason::power_cap == nvmlClocksThrottleReasonSwPowerCap &&
              nvml_reason::hardware == nvmlClocksThrottleReasonHwSlowdown &&
              nvml_reason::sync_boost == nvmlClocksThrottleReasonSyncBoost &&
              nvml_reason::software_thermal == nvmlClocksThrottleReasonSwThermalSlowdown &&
              nvml_reason::hardware_thermal == nvmlClocksThrottleReasonHwThermalSlowdown &&
              nvml_reason::power_brake == nvmlClocksThrottleReasonHwPowerBrakeSlowdown &&
              nvml_reason::display_clocks == nvmlClocksThrottleReasonDisplayClockSetting);
static_assert(nvml_temperature_gpu == NVML_TEMPERATURE_GPU && nvml_clock_sm == NVML_CLOCK_SM &&
              nvml_clock_memory == NVML_CLOCK_MEM && nvml_ecc_corrected == NVML_MEMORY_ERROR_TYPE_CORRECTED &&
              nvml_ecc_uncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED && nvml_ecc_since_load == NVML_VOLATILE_ECC);

TEST_CASE("What is declared of NVML is what its header declares") { SUCCEED(); }

}  // namespace nvml_header_test
