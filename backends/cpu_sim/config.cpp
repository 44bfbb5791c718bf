// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

constexpr uint64_t kMaxWorkers = 1024;
constexpr uint64_t kMaxDozeUs = 1'000'000;
constexpr uint64_t kMaxBytes = INT64_MAX;

/// The digits at the start of `text`; false when there are none or the number is past `limit`.
bool parse_digits(const std::string& text, uint64_t limit, uint64_t* number, std::size_t* used) noexcept {
  uint64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    const auto digit = static_cast<uint64_t>(text[i] - '0');
    if (value > (limit - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *number = value;
  *used = i;
  return i > 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& allowed) {
  bad_argument(std::string(name) + " is " + quoted(value) + "\nallowed is " + allowed);
}

uint64_t count_variable(const char* name, uint64_t least, uint64_t most, uint64_t otherwise) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  uint64_t number = 0;
  std::size_t used = 0;
  if (!parse_digits(text, most, &number, &used) || used != text.size() || number < least) {
    refuse(name, text, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

}  // namespace

bool parse_bytes(const std::string& text, uint64_t* bytes) noexcept {
  uint64_t number = 0;
  std::size_t used = 0;
  if (!parse_digits(text, kMaxBytes, &number, &used)) return false;
  const char* const suffixes[] = {"", "KiB", "MiB", "GiB", "TiB"};
  for (unsigned i = 0; i < 5; ++i) {
    if (text.compare(used, std::string::npos, suffixes[i]) != 0) continue;
    if (number == 0 || number > kMaxBytes >> (10 * i)) return false;
    *bytes = number << (10 * i);
    return true;
  }
  return false;
}

Config Config::from_environment() {
  Config config;
  config.devices = static_cast<int32_t>(count_variable("ANYPLACE_CPU_SIM_DEVICES", 0, ANYPLACE_MAX_DEVICES, 2));
  const uint64_t cores = std::clamp<uint64_t>(std::thread::hardware_concurrency(), 2, kMaxWorkers);
  config.workers = static_cast<uint32_t>(count_variable("ANYPLACE_CPU_SIM_WORKERS", 1, kMaxWorkers, cores));
  config.doze_ns = static_cast<int64_t>(count_variable("ANYPLACE_CPU_SIM_DOZE", 0, kMaxDozeUs, 25)) * 1000;
  const std::string faults = variable("ANYPLACE_CPU_SIM_FAULTS");
  if (!faults.empty() && faults != "report" && faults != "off") {
    refuse("ANYPLACE_CPU_SIM_FAULTS", faults, "report or off");
  }
  config.report_faults = faults != "off";
  const std::string memory = variable("ANYPLACE_CPU_SIM_MEMORY");
  if (!memory.empty() && !parse_bytes(memory, &config.memory_bytes)) {
    refuse("ANYPLACE_CPU_SIM_MEMORY", memory,
           "a number of bytes from 1 to 9223372036854775807, or a number with KiB, MiB, GiB or TiB, as in 512MiB");
  }
  return config;
}

}  // namespace anyplace::cpu_sim
