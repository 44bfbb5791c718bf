// SPDX-License-Identifier: Apache-2.0
//
// Each figure is queried separately: one that the device or the driver lacks is unknown, and the others are still
// known.
#include "monitor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>

#include "anyplace/backend/kit/sampled.h"
#include "error.h"

namespace anyplace::cuda {
namespace {

constexpr std::uint64_t ppm_of_percent = 10000, hz_of_mhz = 1000000, microjoules_of_millijoule = 1000, kib = 1024;

std::string text_of(NvmlResult result) { return "NVML's code " + std::to_string(result); }

/// Interprets the results of NVML's calls. It keeps the first failure, other than the results by which NVML says that a
/// figure isn't available.
class Answers {
 public:
  bool told(NvmlResult result, const char* call) {
    switch (result) {
      case nvml_result::success:
        return true;
      case nvml_result::gpu_is_lost:
      case nvml_result::reset_required:
        throw Failure(ANYPLACE_STATUS_DEVICE_LOST,
                      std::string(call) + " says that the device " +
                          (result == nvml_result::gpu_is_lost ? "has fallen off the bus" : "has to be reset") +
                          "\nsee `dmesg` (NVRM: Xid), and restart the process once the device is back",
                      result,
                      result == nvml_result::gpu_is_lost ? "NVML_ERROR_GPU_IS_LOST" : "NVML_ERROR_RESET_REQUIRED");
      case nvml_result::not_supported:
      case nvml_result::no_permission:
      case nvml_result::not_found:
      case nvml_result::function_not_found:
      case nvml_result::no_data:
        return false;
      default:
        if (failed_.empty()) failed_ = std::string(call) + ": " + text_of(result);
        return false;
    }
  }
  /// Returns "" or a text such as "; nvmlX: NVML's code 999".
  std::string failed() const { return failed_.empty() ? "" : "; " + failed_; }

 private:
  std::string failed_;
};

/// The calls of one sample.
class Questions {
 public:
  Questions(const Nvml& nvml, NvmlDevice device) : nvml_(nvml), device_(device) {}

  /// Calls `entry(device, arguments..., &out)`. Returns nothing if the library lacks the entry or can't tell.
  template <class Out, class... Parameters, class... Arguments>
  std::optional<Out> ask(NvmlResult (*entry)(NvmlDevice, Parameters...), const char* call, Arguments... arguments) {
    if (entry == nullptr) return std::nullopt;
    Out out{};
    return answers_.told(entry(device_, arguments..., &out), call) ? std::optional(out) : std::nullopt;
  }
#define ANYPLACE_NVML_ASK(Out, Member, ...) ask<Out>(nvml_.Member, "nvml" #Member __VA_OPT__(, ) __VA_ARGS__)

  void busy(const backend::Sampled& to) {
    if (const auto rates = ANYPLACE_NVML_ASK(NvmlUtilization, DeviceGetUtilizationRates)) {
      to.compute_ppm(std::min(rates->gpu, 100u) * ppm_of_percent);
      to.memory_ppm(std::min(rates->memory, 100u) * ppm_of_percent);
    }
    if (const auto memory = ANYPLACE_NVML_ASK(NvmlMemory, DeviceGetMemoryInfo)) {
      to.memory_used_bytes(memory->used);
      to.memory_total_bytes(memory->total);
    }
  }
  void power(const backend::Sampled& to) {
    const auto celsius = ANYPLACE_NVML_ASK(unsigned, DeviceGetTemperature, nvml_temperature_gpu);
    if (celsius) to.temperature_millikelvin(backend::millikelvin(std::int64_t{static_cast<int>(*celsius)} * 1000));
    if (const auto power = ANYPLACE_NVML_ASK(unsigned, DeviceGetPowerUsage)) to.power_milliwatts(*power);
    if (const auto limit = ANYPLACE_NVML_ASK(unsigned, DeviceGetEnforcedPowerLimit)) to.power_limit_milliwatts(*limit);
    if (const auto energy = ANYPLACE_NVML_ASK(unsigned long long, DeviceGetTotalEnergyConsumption)) {
      to.energy_microjoules(*energy * microjoules_of_millijoule);
    }
  }
  void clocks(const backend::Sampled& to) {
    const auto core = ANYPLACE_NVML_ASK(unsigned, DeviceGetClockInfo, nvml_clock_sm);
    if (core && *core != 0) to.core_clock_hz(*core * hz_of_mhz);
    const auto memory = ANYPLACE_NVML_ASK(unsigned, DeviceGetClockInfo, nvml_clock_memory);
    if (memory && *memory != 0) to.memory_clock_hz(*memory * hz_of_mhz);
    const auto reasons = ANYPLACE_NVML_ASK(unsigned long long, DeviceGetCurrentClocksThrottleReasons);
    if (reasons) to.throttle(throttle_of(*reasons));
  }
  void errors(const backend::Sampled& to) {
    const auto corrected =
        ANYPLACE_NVML_ASK(unsigned long long, DeviceGetTotalEccErrors, nvml_ecc_corrected, nvml_ecc_since_load);
    if (corrected) to.ecc_corrected(*corrected);
    const auto uncorrected =
        ANYPLACE_NVML_ASK(unsigned long long, DeviceGetTotalEccErrors, nvml_ecc_uncorrected, nvml_ecc_since_load);
    if (uncorrected) to.ecc_uncorrected(*uncorrected);
  }
  /// Reads the counters of traffic. The call succeeds even if it can't read some of the fields.
  void traffic(const backend::Sampled& to) {
    if (nvml_.DeviceGetFieldValues == nullptr) return;
    NvmlFieldValue fields[4]{};
    constexpr unsigned ids[4] = {nvml_field::pcie_rx_bytes, nvml_field::pcie_tx_bytes, nvml_field::nvlink_rx_kib,
                                 nvml_field::nvlink_tx_kib};
    for (int i = 0; i < 4; ++i) fields[i].field = ids[i];
    fields[2].scope = fields[3].scope = nvml_field::all_links;
    if (!answers_.told(nvml_.DeviceGetFieldValues(device_, 4, fields), "nvmlDeviceGetFieldValues")) return;
    to.pcie_rx_bytes(value_of(fields[0]));
    to.pcie_tx_bytes(value_of(fields[1]));
    if (const auto received = value_of(fields[2])) to.link_rx_bytes(*received * kib);
    if (const auto sent = value_of(fields[3])) to.link_tx_bytes(*sent * kib);
  }
  std::string failed() const { return answers_.failed(); }

 private:
  static std::uint64_t throttle_of(unsigned long long reasons) noexcept {
    struct Row {
      unsigned long long theirs;
      unsigned ours;
    };
    constexpr Row rows[] = {{nvml_reason::idle, ANYPLACE_THROTTLE_BIT_IDLE},
                            {nvml_reason::application_clocks, ANYPLACE_THROTTLE_BIT_SOFTWARE},
                            {nvml_reason::power_cap, ANYPLACE_THROTTLE_BIT_POWER},
                            {nvml_reason::hardware, ANYPLACE_THROTTLE_BIT_HARDWARE},
                            {nvml_reason::sync_boost, ANYPLACE_THROTTLE_BIT_SYNCHRONIZED_CLOCKS},
                            {nvml_reason::software_thermal, ANYPLACE_THROTTLE_BIT_TEMPERATURE},
                            {nvml_reason::hardware_thermal, ANYPLACE_THROTTLE_BIT_TEMPERATURE},
                            {nvml_reason::power_brake, ANYPLACE_THROTTLE_BIT_CURRENT},
                            {nvml_reason::display_clocks, ANYPLACE_THROTTLE_BIT_SOFTWARE}};
    std::uint64_t bits = 0;
    for (const Row& row : rows) {
      if ((reasons & row.theirs) != 0) bits |= std::uint64_t{1} << row.ours;
      reasons &= ~row.theirs;
    }
    return reasons == 0 ? bits : bits | std::uint64_t{1} << ANYPLACE_THROTTLE_BIT_OTHER;
  }
  static std::optional<std::uint64_t> value_of(const NvmlFieldValue& field) noexcept {
    if (field.result != nvml_result::success) return std::nullopt;
    if (field.type == nvml_value::unsigned_int) return field.value & 0xffffffffu;
    if (field.type == nvml_value::unsigned_long || field.type == nvml_value::unsigned_long_long) return field.value;
    return std::nullopt;
  }

  const Nvml& nvml_;
  NvmlDevice device_;
  Answers answers_;
};

using ListProcesses = NvmlResult (*)(NvmlDevice, unsigned*, NvmlProcess*);

/// Returns false if the processes can't be listed.
bool list(ListProcesses entry, const char* call, NvmlDevice device, Answers& answers, std::vector<NvmlProcess>& out) {
  if (entry == nullptr) return false;
  unsigned count = 16;
  NvmlResult result = nvml_result::insufficient_size;
  // The size is tried again, because processes may begin between the calls.
  for (int round = 0; round < 8 && result == nvml_result::insufficient_size; ++round) {
    out.assign(count, NvmlProcess{});
    result = entry(device, &count, out.data());
    if (result == nvml_result::insufficient_size) count = std::max(count, static_cast<unsigned>(out.size())) * 2;
  }
  if (!answers.told(result, call)) return false;
  out.resize(std::min<std::size_t>(count, out.size()));
  return true;
}

/// Adds each process's newest sample of its share in the last second.
void add_shares(const Nvml& nvml, NvmlDevice device, Answers& answers, std::map<unsigned, anyplace_process>& to) {
  if (nvml.DeviceGetProcessUtilization == nullptr) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - std::chrono::seconds(1));
  std::vector<NvmlProcessUtilization> samples(512);
  auto count = static_cast<unsigned>(samples.size());
  const NvmlResult result =
      nvml.DeviceGetProcessUtilization(device, samples.data(), &count, static_cast<unsigned long long>(since.count()));
  if (!answers.told(result, "nvmlDeviceGetProcessUtilization")) return;
  samples.resize(std::min<std::size_t>(count, samples.size()));
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.timestamp < b.timestamp; });
  for (const NvmlProcessUtilization& sample : samples) {
    const auto process = to.find(sample.pid);
    if (process == to.end() || sample.sm > 100) continue;
    process->second.compute_ppm = static_cast<std::uint32_t>(sample.sm * ppm_of_percent);
    process->second.compute_known = 1;
  }
}

bool is_there(unsigned pid) noexcept { return pid != 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM); }

}  // namespace

NvmlDevice Monitor::find(const NvmlLibrary& library, const std::string& uuid, const std::string& pci,
                         std::string& why) {
  const std::lock_guard lock(mutex_);
  if (device_ != nullptr) return device_;
  Answers answers;
  NvmlDevice found = nullptr;
  const Nvml& nvml = library.entries;
  const bool is_instance = uuid.starts_with("MIG-");
  if (!uuid.empty() && answers.told(nvml.DeviceGetHandleByUUID(uuid.c_str(), &found), "nvmlDeviceGetHandleByUUID")) {
    return device_ = found;
  }
  // The PCI address is that of the whole GPU. For an instance of it those figures would be wrong.
  if (!is_instance && !pci.empty() &&
      answers.told(nvml.DeviceGetHandleByPciBusId(pci.c_str(), &found), "nvmlDeviceGetHandleByPciBusId_v2")) {
    return device_ = found;
  }
  why = "it knows no device " + (uuid.empty() ? pci : uuid) + answers.failed();
  return nullptr;
}

void Monitor::sample(const std::string& uuid, const std::string& pci, anyplace_device_sample& out) {
  const backend::Sampled to(out);
  const NvmlLibrary& library = nvml_library();
  std::string why;
  NvmlDevice const device = library.ready ? find(library, uuid, pci, why) : nullptr;
  if (device == nullptr) {
    to.source(library.text + (why.empty() ? "" : ": " + why));
    return;
  }
  Questions questions(library.entries, device);
  questions.busy(to);
  questions.power(to);
  questions.clocks(to);
  questions.errors(to);
  questions.traffic(to);
  to.source(library.text + questions.failed());
}

bool Monitor::lists_processes() {
  const Nvml* const nvml = nvml_entries();
  return nvml != nullptr && nvml->Init != nullptr && nvml->DeviceGetHandleByUUID != nullptr &&
         nvml->DeviceGetHandleByPciBusId != nullptr && nvml->DeviceGetComputeRunningProcesses != nullptr;
}

std::vector<anyplace_process> Monitor::processes(const std::string& uuid, const std::string& pci, bool uses) {
  const NvmlLibrary& library = nvml_library();
  std::string why;
  NvmlDevice const device = library.ready ? find(library, uuid, pci, why) : nullptr;
  if (device == nullptr) refuse(ANYPLACE_STATUS_UNSUPPORTED, library.text + (why.empty() ? "" : ": " + why));
  const Nvml& nvml = library.entries;
  Answers answers;
  std::vector<NvmlProcess> compute, graphics;
  if (!list(nvml.DeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3", device, answers,
            compute)) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "NVML doesn't tell which processes use the device" + answers.failed());
  }
  const bool knows_graphics = list(nvml.DeviceGetGraphicsRunningProcesses, "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                   device, answers, graphics);
  std::map<unsigned, anyplace_process> found;
  const auto add = [&](const std::vector<NvmlProcess>& processes, std::uint32_t kind) {
    for (const NvmlProcess& process : processes) {
      if (!is_there(process.pid)) continue;
      anyplace_process& entry = found[process.pid];
      entry.id = process.pid;
      entry.memory_bytes = process.used_memory;  // all ones means unknown on both sides
      entry.kinds |= kind;
      entry.kinds_known = ANYPLACE_PROCESS_COMPUTE;
      if (knows_graphics) entry.kinds_known |= ANYPLACE_PROCESS_GRAPHICS;
    }
  };
  add(compute, ANYPLACE_PROCESS_COMPUTE);
  if (knows_graphics) add(graphics, ANYPLACE_PROCESS_GRAPHICS);
  if (uses && found.count(static_cast<unsigned>(getpid())) == 0) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "the driver numbers processes in another PID namespace than this one's: it doesn't list this process, which "
           "uses the device\nstart the container with the host's PID namespace (--pid=host)");
  }
  add_shares(nvml, device, answers, found);
  std::vector<anyplace_process> all;
  for (const auto& [pid, process] : found) all.push_back(process);
  return all;
}

}  // namespace anyplace::cuda
