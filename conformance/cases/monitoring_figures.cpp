// SPDX-License-Identifier: Apache-2.0
//
// Figures of samples that have to agree: with the sample before, with the device's other figures, with the processes
// that use it, and with the work between. Other processes may use the device meanwhile, and a vendor's call may fail,
// so a figure that these can disturb has to be right in one of several rounds.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "table_module.h"

namespace anyplace::conformance::monitoring_figures_cases {
namespace {

constexpr int rounds = 5;

anyplace_device_sample sample_of(const TableBackend& backend, std::int32_t device, Caller caller = {}) {
  anyplace_device_sample taken{};
  taken.struct_size = sizeof(taken);
  TableBackend::require(ENTRY(backend, device_sample, device, &taken), "device_sample", caller);
  return taken;
}

bool tells(const anyplace_device_sample& sample, unsigned bit) noexcept { return (sample.known >> bit & 1) != 0; }

/// The names of the bits of `known`.
std::string names_of(std::uint64_t bits) {
  std::string names;
#define ANYPLACE_SAMPLE_NAME(upper, lower, bit, text) \
  if ((bits >> (bit)&1) != 0) names += " " #lower;
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLE_NAME)
#undef ANYPLACE_SAMPLE_NAME
  return names;
}

// ---- Work

anyplace_status compute(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept {
  volatile std::uint32_t value = 1;
  for (int i = 0; i < 2000; ++i) value = value * 1664525u + 1013904223u;
  return ANYPLACE_STATUS_OK;
}

/// Kernels and fills of one device. They are queried and not waited for, because a thread that waits may do the work
/// itself, unnoticed by the device's counters.
class Work {
 public:
  Work(const Run& run, const TableBackend& backend, std::int32_t device) : backend_(backend) {
    const std::uint64_t capabilities = backend.properties(device).capabilities;
    stream_ = backend.stream_of(device);
    MUST(backend, memory_allocate, device, ANYPLACE_MEMORY_DEVICE, bytes, &memory_);
    if ((capabilities >> ANYPLACE_CAPABILITY_BIT_HOST_KERNELS & 1) != 0) {
      MUST(
          backend, kernel_from_host, device, compute, nullptr, [](void*) {}, &host_kernel_);
    } else if ((capabilities >> ANYPLACE_CAPABILITY_BIT_MODULES & 1) != 0 && !run.module_file().empty()) {
      const TableImage image(run);
      const anyplace_module_desc desc = image.desc();
      anyplace_module module = 0;
      MUST(backend, module_load, device, &desc, &module);
      MUST(backend, module_kernel, module, "fill", &fill_);
    }
  }

  bool computes() const noexcept { return host_kernel_ != 0 || fill_ != 0; }
  void run() const {
    if (host_kernel_ != 0) {
      const anyplace_launch launch = launch_of(64);
      MUST(backend_, kernel_launch, stream_, host_kernel_, &launch);
    } else if (fill_ != 0) {
      FillLaunch fill(memory_, bytes / 4, 7);
      MUST(backend_, kernel_launch, stream_, fill_, &fill.launch());
    }
    MUST(backend_, memory_set, stream_, memory_, 1, 1, bytes);
    for (std::int32_t done = 0; done == 0;) MUST(backend_, stream_query, stream_, &done);
  }

 private:
  static constexpr std::uint64_t bytes = 1 << 20;
  const TableBackend& backend_;
  anyplace_stream stream_ = 0;
  anyplace_address memory_ = 0;
  anyplace_kernel host_kernel_ = 0;
  anyplace_kernel fill_ = 0;
};

// ---- Known figures

ANYPLACE_CASE("monitoring", "monitoring.sample", "a figure that was known stays known while there is work",
              Capability::monitoring) {
  const TableBackend backend(run);
  const std::uint64_t first = sample_of(backend, backend.device()).known;
  const Work work(run, backend, backend.device());
  std::uint64_t again = 0;
  for (int round = 0; round < rounds && (first & ~again) != 0; ++round) {
    work.run();
    again |= sample_of(backend, backend.device()).known;
  }
  CHECK_EQUAL(names_of(first & ~again), std::string());
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "no bit is known that this version has no figure for",
              Capability::monitoring) {
  const TableBackend backend(run);
  if (backend.table().abi_minor > ANYPLACE_ABI_MINOR) skip("a backend that is no newer than this suite");
  const anyplace_device_sample now = sample_of(backend, backend.device());
  std::uint64_t figures = 0;
#define ANYPLACE_ADD_FIGURE(upper, lower, bit, text) figures |= std::uint64_t{1} << (bit);
  ANYPLACE_SAMPLE_LIST(ANYPLACE_ADD_FIGURE)
#undef ANYPLACE_ADD_FIGURE
  std::uint64_t reasons = 0;
#define ANYPLACE_ADD_REASON(upper, lower, bit, text) reasons |= std::uint64_t{1} << (bit);
  ANYPLACE_THROTTLE_LIST(ANYPLACE_ADD_REASON)
#undef ANYPLACE_ADD_REASON
  CHECK_EQUAL(now.known & ~figures, 0u);
  CHECK_EQUAL(now.throttle & ~reasons, 0u);
}

ANYPLACE_CASE("monitoring", "monitoring.sample", "the source says something when no figure is known",
              Capability::monitoring) {
  const TableBackend backend(run);
  const anyplace_device_sample now = sample_of(backend, backend.device());
  CHECK(now.known != 0 || now.source[0] != '\0');
}

// ---- Counters

/// Takes samples, with work between, until a figure that the first one knew has risen. The case never ends if a counter
/// stands still while there is work.
void check_rises(const TableBackend& backend, std::int32_t device, const Work& work, unsigned bit,
                 std::uint64_t anyplace_device_sample::*figure) {
  const anyplace_device_sample first = sample_of(backend, device);
  if (!tells(first, bit)) return;
  for (std::uint64_t now = first.*figure; now <= first.*figure;) {
    work.run();
    step(__FILE__, __LINE__,
         ("waiting for device " + std::to_string(device) + "'s" + names_of(std::uint64_t{1} << bit) + " to rise")
             .c_str());
    now = sample_of(backend, device).*figure;
  }
}

ANYPLACE_CASE("monitoring", "monitoring.counters", "the active time rises as each device works",
              Capability::monitoring) {
  const TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t i = 0; i < std::min(count, 2); ++i) {
    const std::int32_t device = i == 0 ? backend.device() : backend.second();
    const Work work(run, backend, device);
    if (work.computes()) {
      check_rises(backend, device, work, ANYPLACE_SAMPLE_BIT_COMPUTE_ACTIVE_NS,
                  &anyplace_device_sample::compute_active_ns);
    }
    check_rises(backend, device, work, ANYPLACE_SAMPLE_BIT_MEMORY_ACTIVE_NS, &anyplace_device_sample::memory_active_ns);
    check_rises(backend, device, work, ANYPLACE_SAMPLE_BIT_ACTIVE_CLOCK_NS, &anyplace_device_sample::active_clock_ns);
  }
}

std::uint64_t host_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

/// A sample, with the host's clock before and after it.
struct Moment {
  std::uint64_t before;
  anyplace_device_sample sample;
  std::uint64_t after;

  explicit Moment(const TableBackend& backend, Caller caller = {})
      : before(host_ns()), sample(sample_of(backend, backend.device(), caller)), after(host_ns()) {}
};

/// Returns what is wrong between two moments. Both clocks run through the same time, however long that is; the factor
/// is for drivers that update their counters only now and then.
std::string wrong_between(const Moment& first, const Moment& second) {
  constexpr std::uint64_t factor = 4;
  const std::uint64_t clock = second.sample.active_clock_ns - first.sample.active_clock_ns;
  const std::uint64_t least = second.before - first.after;
  const std::uint64_t most = second.after - first.before;
  if (clock < least / factor || clock > most * factor) {
    return "active_clock_ns rises by " + std::to_string(clock) + " in " + std::to_string(least) + " to " +
           std::to_string(most) + " ns";
  }
  const std::uint64_t compute = second.sample.compute_active_ns - first.sample.compute_active_ns;
  const std::uint64_t memory = second.sample.memory_active_ns - first.sample.memory_active_ns;
  if (std::max(compute, memory) <= clock) return "";
  return "in " + std::to_string(clock) + " ns of the clock there was something to compute for " +
         std::to_string(compute) + " ns, and memory was read or written for " + std::to_string(memory) + " ns";
}

ANYPLACE_CASE("monitoring", "monitoring.counters",
              "the clock of the active times is in nanoseconds, and no less than they", Capability::monitoring) {
  const TableBackend backend(run);
  const Work work(run, backend, backend.device());
  if (!tells(sample_of(backend, backend.device()), ANYPLACE_SAMPLE_BIT_ACTIVE_CLOCK_NS)) skip("a clock of the work");
  constexpr std::uint64_t long_enough = 5 * 1000 * 1000;  // suffices to tell microseconds from nanoseconds
  std::string wrong = "?";
  for (int round = 0; round < rounds && !wrong.empty(); ++round) {
    const Moment first(backend);
    std::optional<Moment> second;
    do {
      work.run();
      second.emplace(backend);
    } while (second->before - first.after < long_enough);
    wrong = wrong_between(first, *second);
  }
  CHECK_EQUAL(wrong, std::string());
}

// ---- Memory

/// Allocates on one device, and compares the samples of all devices.
struct Growth {
  std::int64_t own;
  std::int64_t other;
};
Growth allocate_more(const TableBackend& backend, std::int32_t device, std::int32_t other, std::uint64_t bytes) {
  const auto used = [&](std::int32_t which) {
    return static_cast<std::int64_t>(sample_of(backend, which).memory_used_bytes);
  };
  const anyplace_stream stream = backend.stream_of(device);
  const std::int64_t own = used(device);
  const std::int64_t others = used(other);
  anyplace_address address = 0;
  MUST(backend, memory_allocate, device, ANYPLACE_MEMORY_DEVICE, bytes, &address);
  backend.fill(stream, address, 1, bytes);
  const Growth growth{used(device) - own, used(other) - others};
  backend.destroy(stream);
  return growth;
}

constexpr std::uint64_t piece = 32 << 20;

ANYPLACE_CASE("monitoring", "monitoring.memory", "the memory in use grows by what is allocated",
              Capability::monitoring) {
  const TableBackend backend(run);
  const std::int32_t device = backend.device();
  backend.free(backend.allocate(4096));  // makes what a first allocation needs
  if (!tells(sample_of(backend, device), ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES)) skip("a figure of memory in use");
  std::int64_t grown = 0;
  for (int round = 0; round < rounds && grown < std::int64_t{piece} / 2; ++round) {
    grown = allocate_more(backend, device, device, piece).own;
  }
  CHECK(grown >= std::int64_t{piece} / 2);
}

ANYPLACE_CASE("monitoring", "monitoring.memory",
              "memory that is allocated on one device is in use there and nowhere else", Capability::monitoring,
              second_device) {
  const TableBackend backend(run);
  const std::int32_t devices[2] = {backend.device(), backend.second()};
  for (const std::int32_t device : devices) {
    anyplace_address address = 0;
    MUST(backend, memory_allocate, device, ANYPLACE_MEMORY_DEVICE, 4096, &address);
    if (!tells(sample_of(backend, device), ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES)) skip("a figure of memory in use");
  }
  for (int i = 0; i < 2; ++i) {
    Growth grown{0, 0};
    const auto is_right = [&] { return grown.own >= std::int64_t{piece} / 2 && grown.other < std::int64_t{piece} / 2; };
    for (int round = 0; round < rounds && !is_right(); ++round) {
      grown = allocate_more(backend, devices[i], devices[1 - i], piece);
    }
    if (is_right()) continue;
    check_failed(__FILE__, __LINE__,
                 std::to_string(piece) + " bytes of device " + std::to_string(devices[i]) + ": its sample has " +
                     std::to_string(grown.own) + " more in use, that of device " + std::to_string(devices[1 - i]) +
                     " has " + std::to_string(grown.other) + " more");
  }
}

/// Vendors' libraries may or may not count the memory that they reserve, so totals may differ somewhat.
ANYPLACE_CASE("monitoring", "monitoring.memory", "the total memory of a sample is that of the device's other figures",
              Capability::monitoring) {
  const TableBackend backend(run);
  std::int32_t count = 0;
  MUST(backend, device_count, &count);
  for (std::int32_t i = 0; i < std::min(count, 2); ++i) {
    const std::int32_t device = i == 0 ? backend.device() : backend.second();
    const anyplace_device_sample now = sample_of(backend, device);
    if (!tells(now, ANYPLACE_SAMPLE_BIT_MEMORY_TOTAL_BYTES)) skip("a total that samples tell");
    // The total in the memory figures may be a limit.
    const std::uint64_t facts = backend.properties(device).total_memory;
    const std::uint64_t memory = backend.memory(device).total_bytes;
    const std::uint64_t most = facts == ANYPLACE_UNKNOWN ? memory : facts;
    const std::uint64_t least = std::min(memory, most);
    if (most == ANYPLACE_UNKNOWN) skip("a total that the device's figures tell");
    const std::string said = "a sample's total is " + std::to_string(now.memory_total_bytes) + ", device_memory's " +
                             std::to_string(memory) + ", device_properties' " + std::to_string(facts);
    const bool right = now.memory_total_bytes >= least / 4 * 3 && now.memory_total_bytes <= most / 3 * 4;
    if (!right) check_failed(__FILE__, __LINE__, said);
  }
}

// ---- Processes

std::vector<anyplace_process> processes_of(const TableBackend& backend, Caller caller = {}) {
  std::vector<anyplace_process> processes(1024);
  auto count = static_cast<std::uint32_t>(processes.size());
  TableBackend::require(
      ENTRY(backend, list_processes, backend.device(), processes.data(), sizeof(anyplace_process), &count),
      "list_processes", caller);
  processes.resize(std::min<std::size_t>(count, processes.size()));
  return processes;
}

ANYPLACE_CASE("monitoring", "monitoring.memory", "all processes together have no more memory than is in use",
              Capability::monitoring, Capability::list_processes) {
  const TableBackend backend(run);
  const std::int32_t device = backend.device();
  const anyplace_stream stream = backend.stream();
  const anyplace_address address = backend.allocate(piece);
  backend.fill(stream, address, 1, piece);
  std::uint64_t used = 0;
  std::uint64_t sum = 1;
  for (int round = 0; round < rounds && sum > used; ++round) {
    const anyplace_device_sample before = sample_of(backend, device);
    if (!tells(before, ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES)) skip("a figure of memory in use");
    sum = 0;
    for (const anyplace_process& process : processes_of(backend)) {
      if (process.memory_bytes != ANYPLACE_UNKNOWN) sum += process.memory_bytes;
    }
    used = std::max(before.memory_used_bytes, sample_of(backend, device).memory_used_bytes);
  }
  CHECK(sum <= used);
  backend.free(address);
}

}  // namespace
}  // namespace anyplace::conformance::monitoring_figures_cases
