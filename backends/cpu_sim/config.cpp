// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "failure.h"
#include "processor.h"
#include "profile.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::uint64_t max_workers = 1024;
constexpr std::uint64_t max_backoff_us = 1'000'000;
constexpr std::uint64_t max_bytes = INT64_MAX;

/// Parses the digits at the start of `text`. Returns false when there are none or the number is past `limit`.
bool parse_digits(const std::string& text, std::uint64_t limit, std::uint64_t* number, std::size_t* used) noexcept {
  std::uint64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    if (digit > limit || value > (limit - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *number = value;
  *used = i;
  return i > 0;
}

/// "" where the process runs with raised privileges: some of the variables name files.
std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& allowed) {
  bad_argument(std::string(name) + " is " + in_quotes(value) + "\nallowed is " + allowed);
}

std::uint64_t count_variable(const char* name, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  std::size_t used = 0;
  if (!parse_digits(text, most, &number, &used) || used != text.size() || number < least) {
    refuse(name, text, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

Protect protect_variable() {
  const std::string text = variable("ANYPLACE_CPU_SIM_PROTECT");
  if (text.empty() || text == "0") return Protect::off;
  if (text == "1") return Protect::automatic;
  if (text == "keys") return Protect::keys;
  if (text == "pages") return Protect::pages;
  refuse("ANYPLACE_CPU_SIM_PROTECT", text, "0, 1, keys or pages");
}

/// Refuses what only the deterministic mode takes. Who asks for threads by name leaves it without effect.
void refuse_without_mode() {
  for (const char* const name :
       {"ANYPLACE_CPU_SIM_SEED", "ANYPLACE_CPU_SIM_STRATEGY", "ANYPLACE_CPU_SIM_REPORT", "ANYPLACE_CPU_SIM_HASH"}) {
    if (variable(name).empty()) continue;
    bad_argument(std::string(name) + " needs the deterministic mode, and ANYPLACE_CPU_SIM_MODE isn't set" +
                 "\nset it to deterministic, or to threads to leave " + name + " without effect");
  }
}

void read_deterministic(Config& config) {
  const std::string mode = variable("ANYPLACE_CPU_SIM_MODE");
  if (!mode.empty() && mode != "threads" && mode != "deterministic") {
    refuse("ANYPLACE_CPU_SIM_MODE", mode, "threads or deterministic");
  }
  if (const std::string profile = variable("ANYPLACE_CPU_SIM_PROFILE"); !profile.empty()) {
    if (mode == "threads") {
      bad_argument(
          "ANYPLACE_CPU_SIM_PROFILE needs the deterministic mode, and ANYPLACE_CPU_SIM_MODE is \"threads\""
          "\nunset one of the two");
    }
    try {
      config.profile = std::make_shared<const Profile>(load_profile(profile));
    } catch (const ProfileError& error) {
      bad_argument(std::string("ANYPLACE_CPU_SIM_PROFILE: ") + error.what());
    }
    config.strategy = "eager";
  }
  config.deterministic = mode == "deterministic" || config.profile != nullptr;
  if (!config.deterministic && mode.empty()) refuse_without_mode();
  config.seed = count_variable("ANYPLACE_CPU_SIM_SEED", 0, UINT64_MAX, 0);
  config.prints_hash = count_variable("ANYPLACE_CPU_SIM_HASH", 0, 1, 0) == 1;
  if (const std::string strategy = variable("ANYPLACE_CPU_SIM_STRATEGY"); !strategy.empty()) config.strategy = strategy;
  if (config.deterministic) config.job = Job::from_environment();
  config.report = file_of_rank(variable("ANYPLACE_CPU_SIM_REPORT"), config.job);
  if (config.strategy.starts_with("choices:")) config.strategy = file_of_rank(config.strategy, config.job);
}

}  // namespace

bool parse_bytes(const std::string& text, std::uint64_t* bytes) noexcept {
  std::uint64_t number = 0;
  std::size_t used = 0;
  if (!parse_digits(text, max_bytes, &number, &used)) return false;
  const char* const suffixes[] = {"", "KiB", "MiB", "GiB", "TiB"};
  for (unsigned i = 0; i < 5; ++i) {
    if (text.compare(used, std::string::npos, suffixes[i]) != 0) continue;
    if (number == 0 || number > max_bytes >> (10 * i)) return false;
    *bytes = number << (10 * i);
    return true;
  }
  return false;
}

Config Config::from_environment() {
  Config config;
  read_deterministic(config);
  if (config.profile != nullptr) config.memory_bytes = config.profile->memory_bytes;
  const std::uint32_t devices = config.profile == nullptr ? 2 : config.profile->devices;
  config.devices =
      static_cast<std::int32_t>(count_variable("ANYPLACE_CPU_SIM_DEVICES", 0, ANYPLACE_MAX_DEVICES, devices));
  const std::uint64_t cores = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 2, max_workers);
  config.workers = static_cast<std::uint32_t>(count_variable("ANYPLACE_CPU_SIM_WORKERS", 1, max_workers, cores));
  config.backoff_ns =
      static_cast<std::int64_t>(count_variable("ANYPLACE_CPU_SIM_IDLE_BACKOFF", 0, max_backoff_us, 25)) * 1000;
  const std::string faults = variable("ANYPLACE_CPU_SIM_FAULTS");
  if (!faults.empty() && faults != "report" && faults != "off") {
    refuse("ANYPLACE_CPU_SIM_FAULTS", faults, "report or off");
  }
  config.report_faults = faults != "off";
  config.protect = protect_variable();
  if (config.protect != Protect::off && !config.report_faults) {
    bad_argument("ANYPLACE_CPU_SIM_PROTECT needs the signal handlers that ANYPLACE_CPU_SIM_FAULTS=off leaves out" +
                 std::string("\nunset one of the two"));
  }
  const std::string processor = variable("ANYPLACE_CPU_SIM_PROCESSOR");
  config.processor_level = level_of(processor);
  if (!processor.empty() && config.processor_level == 0) {
    refuse("ANYPLACE_CPU_SIM_PROCESSOR", processor, "x86-64, x86-64-v2, x86-64-v3 or x86-64-v4");
  }
  const std::string memory = variable("ANYPLACE_CPU_SIM_MEMORY");
  if (!memory.empty() && !parse_bytes(memory, &config.memory_bytes)) {
    refuse("ANYPLACE_CPU_SIM_MEMORY", memory,
           "a number of bytes from 1 to 9223372036854775807, or a number with KiB, MiB, GiB or TiB, as in 512MiB");
  }
  return config;
}

}  // namespace anyplace::cpu_sim
