// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "anyplace/backend/kit/launchers.h"
#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::uint32_t most_ranks = 1 << 20;

std::string launcher_text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::uint32_t number_of(const char* name, std::uint32_t least, std::uint32_t most) {
  const std::string text = launcher_text(name);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    bad_argument(std::string(name) + " is " + in_quotes(text) +
                 ", by which this process is a rank of a job\nallowed is " + "a number from " + std::to_string(least) +
                 " to " + std::to_string(most));
  }
  return number;
}

/// Returns what tells the launcher's jobs apart.
std::string job_name(const backend::Launcher& launcher) {
  std::string name = launcher.name;
  for (const char* const variable : launcher.job) {
    if (variable != nullptr) name += " " + launcher_text(variable);
  }
  // MPICH's launcher doesn't name its jobs, but starts all ranks of a machine itself.
  return launcher.job[0] == nullptr ? name + " " + std::to_string(getppid()) : name;
}

bool is_on_machine(const backend::Launcher& launcher, std::uint32_t size) {
  if (launcher.ranks_here == nullptr) return launcher_text("SLURM_NNODES") == "1";
  const std::string here = launcher_text(launcher.ranks_here);
  if (!here.empty()) return here == std::to_string(size);
  // Ranks that were started by hand, with torchrun's variables.
  const std::string address = launcher_text("MASTER_ADDR");
  return address == "127.0.0.1" || address == "localhost" || address == "::1";
}

}  // namespace

Job Job::from_environment() {
  const backend::Launcher* const launcher = backend::launcher_of_process();
  if (launcher == nullptr) return {};
  Job job;
  job.size = number_of(launcher->size, 1, most_ranks);
  job.rank = number_of(launcher->rank, 0, job.size - 1);
  job.name = job_name(*launcher);
  job.is_on_machine = cpu_sim::is_on_machine(*launcher, job.size);
  return job;
}

/// The mixing is SplitMix64's (Steele et al., OOPSLA 2014), so that seeds of neighbours have nothing in common.
std::uint64_t seed_of_rank(std::uint64_t seed, std::uint32_t rank) noexcept {
  if (rank == 0) return seed;
  std::uint64_t z = seed + rank * 0xd1342543de82ef95;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string file_of_rank(const std::string& path, const Job& job) {
  return path.empty() || job.rank == 0 ? path : path + "." + std::to_string(job.rank);
}

}  // namespace anyplace::cpu_sim
