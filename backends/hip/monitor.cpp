// SPDX-License-Identifier: Apache-2.0
//
// Each figure is queried separately: one that the device or the driver lacks is unknown, and the others are still
// known.
#include "monitor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "anyplace/backend/kit/sampled.h"
#include "error.h"
#include "rocm_smi.h"

namespace anyplace::hip {
namespace {

constexpr std::uint64_t ppm_of_percent = 10000, microwatts_of_milliwatt = 1000;

/// The calls of one sample.
class Questions {
 public:
  Questions(const RocmSmi& entries, std::uint32_t index) : entries_(entries), index_(index) {}

  /// Calls `entry(index, arguments..., &out)`. Returns nothing if the library lacks the entry or can't tell.
  template <class Out, class... Parameters, class... Arguments>
  std::optional<Out> ask(rsmi::Status (*entry)(std::uint32_t, Parameters...), const char* call,
                         Arguments... arguments) {
    if (entry == nullptr) return std::nullopt;
    Out out{};
    return told(entry(index_, arguments..., &out), call) ? std::optional(out) : std::nullopt;
  }
  bool told(rsmi::Status status, const char* call) {
    if (status == rsmi::success) return true;
    const bool expected = status == rsmi::not_supported || status == rsmi::file_error || status == rsmi::permission ||
                          status == rsmi::not_found || status == rsmi::no_data;
    if (!expected && failed_.empty()) failed_ = std::string("; ") + call + " gives " + std::to_string(status);
    return false;
  }

  void busy(const backend::Sampled& to) {
    const auto compute = ask<std::uint32_t>(entries_.DevBusyPercent, "rsmi_dev_busy_percent_get");
    if (compute) to.compute_ppm(std::min(*compute, 100u) * ppm_of_percent);
    const auto memory = ask<std::uint32_t>(entries_.DevMemoryBusyPercent, "rsmi_dev_memory_busy_percent_get");
    if (memory) to.memory_ppm(std::min(*memory, 100u) * ppm_of_percent);
    const auto total = ask<std::uint64_t>(entries_.DevMemoryTotal, "rsmi_dev_memory_total_get", rsmi::memory_vram);
    if (!total || *total == 0) return;
    to.memory_total_bytes(*total);
    const auto used = ask<std::uint64_t>(entries_.DevMemoryUsage, "rsmi_dev_memory_usage_get", rsmi::memory_vram);
    if (used) to.memory_used_bytes(std::min(*used, *total));
  }
  /// Reads the temperature of the hottest point, by which the device slows down and which newer devices alone have;
  /// older devices have only that of the edge.
  void temperature(const backend::Sampled& to) {
    for (const std::uint32_t sensor : {rsmi::sensor_junction, rsmi::sensor_edge}) {
      const auto millicelsius =
          ask<std::int64_t>(entries_.DevTempMetric, "rsmi_dev_temp_metric_get", sensor, rsmi::temperature_current);
      if (!millicelsius) continue;
      to.temperature_millikelvin(backend::millikelvin(*millicelsius));
      return;
    }
  }
  void power(const backend::Sampled& to) {
    const auto power = ask<std::uint64_t>(entries_.DevPowerAve, "rsmi_dev_power_ave_get", 0u);
    if (power) to.power_milliwatts(*power / microwatts_of_milliwatt);
    const auto limit = ask<std::uint64_t>(entries_.DevPowerCap, "rsmi_dev_power_cap_get", 0u);
    if (limit && *limit != 0) to.power_limit_milliwatts(*limit / microwatts_of_milliwatt);
    if (entries_.DevEnergyCount == nullptr) return;
    std::uint64_t count = 0, when = 0;
    float microjoules = 0;  // of one step of the counter
    if (!told(entries_.DevEnergyCount(index_, &count, &microjoules, &when), "rsmi_dev_energy_count_get")) return;
    if (microjoules > 0) to.energy_microjoules(static_cast<std::uint64_t>(static_cast<double>(count) * microjoules));
  }
  void clocks(const backend::Sampled& to) {
    const auto core = ask<rsmi::Frequencies>(entries_.DevGpuClkFreq, "rsmi_dev_gpu_clk_freq_get", rsmi::clock_system);
    if (core && rsmi::current_of(*core) != 0) to.core_clock_hz(rsmi::current_of(*core));
    const auto memory = ask<rsmi::Frequencies>(entries_.DevGpuClkFreq, "rsmi_dev_gpu_clk_freq_get", rsmi::clock_memory);
    if (memory && rsmi::current_of(*memory) != 0) to.memory_clock_hz(rsmi::current_of(*memory));
  }
  void errors(const backend::Sampled& to) {
    const auto errors = ask<rsmi::Errors>(entries_.DevEccCount, "rsmi_dev_ecc_count_get", rsmi::block_umc);
    if (!errors) return;
    to.ecc_corrected(errors->corrected);
    to.ecc_uncorrected(errors->uncorrected);
  }
  const std::string& failed() const noexcept { return failed_; }

 private:
  const RocmSmi& entries_;
  const std::uint32_t index_;
  std::string failed_;
};

/// The library's index of the device; nothing, with the reason in `why`, if it has none.
std::optional<std::uint32_t> find(const RocmSmiLibrary& library, const std::string& pci, std::string& why) {
  if (!library.ready) {
    why = library.text;
    return std::nullopt;
  }
  const auto at = std::find(library.addresses.begin(), library.addresses.end(), pci);
  if (!pci.empty() && at != library.addresses.end()) return static_cast<std::uint32_t>(at - library.addresses.begin());
  why = library.text + ": it knows no device " + (pci.empty() ? "without a PCI address" : "at " + pci);
  return std::nullopt;
}

/// Lists all compute processes of the system.
std::vector<rsmi::Process> all_processes(const RocmSmi& entries) {
  std::uint32_t count = 0;
  rsmi::Status status = entries.ComputeProcessInfo(nullptr, &count);
  std::vector<rsmi::Process> all(std::size_t{count} + 16);  // more may begin meanwhile
  count = static_cast<std::uint32_t>(all.size());
  if (status == rsmi::success) status = entries.ComputeProcessInfo(all.data(), &count);
  if (status != rsmi::success) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "ROCm SMI doesn't tell which processes there are "
           "(rsmi_compute_process_info_get gives " +
               std::to_string(status) + ")\nsee that this user may read /sys/class/kfd/kfd/proc");
  }
  all.resize(std::min<std::size_t>(count, all.size()));
  return all;
}

bool uses_device(const RocmSmi& entries, std::uint32_t pid, std::uint32_t index) {
  std::uint32_t count = 0;
  if (entries.ComputeProcessGpus(pid, nullptr, &count) != rsmi::success || count == 0) return false;
  std::vector<std::uint32_t> indices(count);
  if (entries.ComputeProcessGpus(pid, indices.data(), &count) != rsmi::success) return false;
  indices.resize(std::min<std::size_t>(count, indices.size()));
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

}  // namespace

bool lists_processes() {
  const RocmSmiLibrary& library = rocm_smi();
  return library.ready && library.entries.ComputeProcessInfo != nullptr &&
         library.entries.ComputeProcessGpus != nullptr;
}

void sample_device(const std::string& pci, anyplace_device_sample& out) {
  const backend::Sampled to(out);
  const RocmSmiLibrary& library = rocm_smi();
  std::string why;
  const std::optional<std::uint32_t> index = find(library, pci, why);
  if (!index) {
    to.source(why);
    return;
  }
  Questions questions(library.entries, *index);
  questions.busy(to);
  questions.temperature(to);
  questions.power(to);
  questions.clocks(to);
  questions.errors(to);
  to.source(library.text + questions.failed());
}

std::vector<anyplace_process> processes_of(const std::string& pci, bool uses) {
  const RocmSmiLibrary& library = rocm_smi();
  std::string why;
  const std::optional<std::uint32_t> index = find(library, pci, why);
  if (!index) refuse(ANYPLACE_STATUS_UNSUPPORTED, why);
  const RocmSmi& entries = library.entries;
  std::vector<anyplace_process> found;
  bool own = false;
  for (const rsmi::Process& process : all_processes(entries)) {
    const auto pid = static_cast<pid_t>(process.pid);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno != EPERM)) continue;
    if (!uses_device(entries, process.pid, *index)) continue;
    own = own || pid == getpid();
    anyplace_process& entry = found.emplace_back();
    entry.id = process.pid;
    // The list itself contains each process's sum over all devices.
    rsmi::Process here{};
    const bool told = entries.ComputeProcessByDevice != nullptr &&
                      entries.ComputeProcessByDevice(process.pid, *index, &here) == rsmi::success;
    entry.memory_bytes = told ? here.vram_bytes : ANYPLACE_UNKNOWN;
    entry.kinds = entry.kinds_known = ANYPLACE_PROCESS_COMPUTE;
  }
  if (uses && !own) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "the driver numbers processes in another PID namespace than this one's: it doesn't list this process, which "
           "uses the device\nstart the container with the host's PID namespace (--pid=host)");
  }
  return found;
}

}  // namespace anyplace::hip
