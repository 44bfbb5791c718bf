// SPDX-License-Identifier: Apache-2.0
//
// The double of ROCm SMI, over the devices of the HIP double, in the reverse order. Written from the ROCm SMI API
// reference; ROCM_SMI_DOUBLE_FIGURES sets what a device says.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../hip/config.h"
#include "figures.h"
#include "hip/rocm_smi.h"

namespace anyplace::doubles::monitoring {

namespace rsmi = anyplace::hip::rsmi;

const char* const figures_variable = "ROCM_SMI_DOUBLE_FIGURES";
const char* const device_library = "libamdhip64.so.6";
int number_of_devices() { return hip::config().physical_devices; }
// In ROCm SMI's units. "form": 0 is rsmi_frequencies_t of ROCm 5, 1 and 2 that of later ones without and with the flag.
const std::vector<Figure>& figures = *new std::vector<Figure>{
    {"gpu", 44},        {"memory", 7},       {"edge", 48500},       {"junction", 71250},          {"power", 98765432},
    {"cap", 500000000}, {"energy", 1000000}, {"clock", 1700000000}, {"memory_clock", 1600000000}, {"form", 1},
    {"corrected", 5},   {"uncorrected", 1},  {"reserved", 1 << 20}, {"other_process", 0},         {"hides_us", 0}};

#define ROCM_SMI_DOUBLE_NAME(Member, exported, parameters) exported,
const std::vector<const char*>& entry_names =
    *new std::vector<const char*>{ANYPLACE_ROCM_SMI_ENTRIES(ROCM_SMI_DOUBLE_NAME)};
#undef ROCM_SMI_DOUBLE_NAME

namespace {

constexpr rsmi::Status invalid_args = 1, init_error = 8, insufficient_size = 11;
std::atomic<bool> begun{false};

int physical_of(std::uint32_t index) { return number_of_devices() - 1 - static_cast<int>(index); }

rsmi::Status check(const char* entry) {
  if (const int failure = count(entry); failure != 0) return failure;
  return begun ? rsmi::success : init_error;
}
rsmi::Status check(const char* entry, std::uint32_t index, const void* out) {
  if (const rsmi::Status refused = check(entry); refused != rsmi::success) return refused;
  return out != nullptr && index < static_cast<std::uint32_t>(number_of_devices()) ? rsmi::success : invalid_args;
}
template <class Out>
rsmi::Status tell(const char* entry, std::uint32_t index, Out* out, const char* name) {
  const rsmi::Status refused = check(entry, index, out);
  if (refused == rsmi::success) *out = static_cast<Out>(figure(physical_of(index), name));
  return refused;
}
std::uint64_t used_of(int physical) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(use_of_device(physical), 0));
}

}  // namespace
}  // namespace anyplace::doubles::monitoring

using namespace anyplace::doubles::monitoring;

#define ROCM_SMI_DOUBLE extern "C" __attribute__((visibility("default"))) rsmi::Status

ROCM_SMI_DOUBLE rsmi_init(std::uint64_t) {
  if (const int failure = count("rsmi_init"); failure != 0) return failure;
  begun = true;
  return rsmi::success;
}
ROCM_SMI_DOUBLE rsmi_num_monitor_devices(std::uint32_t* number) {
  const rsmi::Status refused = check("rsmi_num_monitor_devices");
  if (refused == rsmi::success) *number = static_cast<std::uint32_t>(number_of_devices());
  return refused;
}
ROCM_SMI_DOUBLE rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* id) {
  const rsmi::Status refused = check("rsmi_dev_pci_id_get", index, id);
  if (refused == rsmi::success) *id = static_cast<std::uint64_t>(0x43 + physical_of(index)) << 8U;
  return refused;
}
ROCM_SMI_DOUBLE rsmi_dev_busy_percent_get(std::uint32_t index, std::uint32_t* out) {
  return tell("rsmi_dev_busy_percent_get", index, out, "gpu");
}
ROCM_SMI_DOUBLE rsmi_dev_memory_busy_percent_get(std::uint32_t index, std::uint32_t* out) {
  return tell("rsmi_dev_memory_busy_percent_get", index, out, "memory");
}
ROCM_SMI_DOUBLE rsmi_dev_memory_total_get(std::uint32_t index, int type, std::uint64_t* out) {
  const rsmi::Status refused = check("rsmi_dev_memory_total_get", index, out);
  if (refused == rsmi::success) *out = type == 0 ? anyplace::doubles::hip::config().device_bytes : 1;
  return refused;
}
ROCM_SMI_DOUBLE rsmi_dev_memory_usage_get(std::uint32_t index, int type, std::uint64_t* out) {
  const rsmi::Status refused = check("rsmi_dev_memory_usage_get", index, out);
  if (refused != rsmi::success) return refused;
  const std::uint64_t used = used_of(physical_of(index)) + figure(physical_of(index), "reserved");
  *out = type == 0 ? std::min(used, anyplace::doubles::hip::config().device_bytes) : 0;
  return rsmi::success;
}
// A figure of 0: there is no such sensor.
ROCM_SMI_DOUBLE rsmi_dev_temp_metric_get(std::uint32_t index, std::uint32_t sensor, int metric, std::int64_t* out) {
  const rsmi::Status refused = check("rsmi_dev_temp_metric_get", index, out);
  if (refused != rsmi::success) return refused;
  *out = static_cast<std::int64_t>(figure(physical_of(index), sensor == 0 ? "edge" : "junction"));
  return sensor > 1 || metric != 0 || *out == 0 ? rsmi::not_supported : rsmi::success;
}
ROCM_SMI_DOUBLE rsmi_dev_power_ave_get(std::uint32_t index, std::uint32_t, std::uint64_t* out) {
  return tell("rsmi_dev_power_ave_get", index, out, "power");
}
ROCM_SMI_DOUBLE rsmi_dev_power_cap_get(std::uint32_t index, std::uint32_t, std::uint64_t* out) {
  return tell("rsmi_dev_power_cap_get", index, out, "cap");
}
ROCM_SMI_DOUBLE rsmi_dev_energy_count_get(std::uint32_t index, std::uint64_t* out, float* resolution,
                                          std::uint64_t* when) {
  *resolution = 15.25F;
  *when = 1;
  return tell("rsmi_dev_energy_count_get", index, out, "energy");
}
ROCM_SMI_DOUBLE rsmi_dev_gpu_clk_freq_get(std::uint32_t index, int type, rsmi::Frequencies* out) {
  const rsmi::Status refused = check("rsmi_dev_gpu_clk_freq_get", index, out);
  if (refused != rsmi::success) return refused;
  if (type != 0 && type != 4) return rsmi::not_supported;
  const std::uint64_t form = figure(physical_of(index), "form");
  const std::uint32_t head[3] = {form == 2 ? 1u : 0u, 3, 1};  // the flag, three frequencies, the second
  std::memcpy(out, head + (form == 0 ? 1 : 0), sizeof(head) - (form == 0 ? sizeof(head[0]) : 0));
  std::uint64_t* const frequencies = out->words + (form == 0 ? 1 : 2);
  frequencies[0] = 500000000;
  frequencies[1] = figure(physical_of(index), type == 0 ? "clock" : "memory_clock");
  frequencies[2] = 2100000000;
  return rsmi::success;
}
ROCM_SMI_DOUBLE rsmi_dev_ecc_count_get(std::uint32_t index, std::uint64_t block, rsmi::Errors* out) {
  const rsmi::Status refused = check("rsmi_dev_ecc_count_get", index, out);
  if (refused != rsmi::success) return refused;
  if (block != 1) return rsmi::not_supported;
  *out = {figure(physical_of(index), "corrected"), figure(physical_of(index), "uncorrected")};
  return rsmi::success;
}

// Of the processes this one is listed while it uses a device, and one that a test names.
ROCM_SMI_DOUBLE rsmi_compute_process_info_get(rsmi::Process* out, std::uint32_t* number) {
  const rsmi::Status refused = check("rsmi_compute_process_info_get");
  if (refused != rsmi::success) return refused;
  std::vector<rsmi::Process> all;
  std::uint64_t used = 0;
  bool uses = false;
  for (int i = 0; i < number_of_devices(); ++i) {
    uses = uses || use_of_device(i) >= 0;
    used += used_of(i);
  }
  if (uses && figure(0, "hides_us") == 0) all.push_back({static_cast<std::uint32_t>(getpid()), 1, used, 0, 0});
  if (const auto other = static_cast<std::uint32_t>(figure(0, "other_process")); other != 0) {
    all.push_back({other, 2, 4096, 0, 0});
  }
  const auto there = static_cast<std::uint32_t>(all.size());
  const bool fits = out == nullptr || *number >= there;
  if (out != nullptr) std::copy_n(all.begin(), std::min(*number, there), out);
  *number = there;
  return fits ? rsmi::success : insufficient_size;
}
// The other one uses physical device 0.
ROCM_SMI_DOUBLE rsmi_compute_process_gpus_get(std::uint32_t pid, std::uint32_t* out, std::uint32_t* number) {
  const rsmi::Status refused = check("rsmi_compute_process_gpus_get");
  if (refused != rsmi::success) return refused;
  std::vector<std::uint32_t> all;
  for (int i = 0; i < number_of_devices(); ++i) {
    const bool uses = pid == static_cast<std::uint32_t>(getpid()) ? use_of_device(i) >= 0 : i == 0;
    if (uses) all.push_back(static_cast<std::uint32_t>(number_of_devices() - 1 - i));
  }
  const auto there = static_cast<std::uint32_t>(all.size());
  if (out != nullptr) std::copy_n(all.begin(), std::min(*number, there), out);
  *number = there;
  return rsmi::success;
}
ROCM_SMI_DOUBLE rsmi_compute_process_info_by_device_get(std::uint32_t pid, std::uint32_t index, rsmi::Process* out) {
  const rsmi::Status refused = check("rsmi_compute_process_info_by_device_get", index, out);
  if (refused != rsmi::success) return refused;
  const bool own = pid == static_cast<std::uint32_t>(getpid());
  *out = {pid, 1, own ? used_of(physical_of(index)) : 4096, 0, 0};
  return rsmi::success;
}
