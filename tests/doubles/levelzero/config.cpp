// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <level_zero/ze_api.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#ifndef LEVELZERO_DOUBLE_DEFAULT_API
#define LEVELZERO_DOUBLE_DEFAULT_API "1.4"
#endif

namespace anyplace::doubles::levelzero {
namespace {

[[noreturn]] void misconfigured(const char* variable, std::string_view value, const char* right) {
  std::fprintf(stderr, "Level Zero double: %s=%.*s: %s\n", variable, static_cast<int>(value.size()), value.data(),
               right);
  std::abort();
}

bool read_number(std::string_view text, uint64_t& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// The value, with a suffix K, M or G where `bytes`.
uint64_t number(const char* variable, uint64_t otherwise, uint64_t most, bool bytes = false) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return otherwise;
  std::string_view text = value;
  unsigned shift = 0;
  if (bytes && text.back() == 'K') shift = 10;
  if (bytes && text.back() == 'M') shift = 20;
  if (bytes && text.back() == 'G') shift = 30;
  if (shift != 0) text.remove_suffix(1);
  uint64_t result = 0;
  if (!read_number(text, result) || result > most >> shift) {
    misconfigured(variable, value, bytes ? "a number of bytes, with K, M or G behind it or not" : "a number in range");
  }
  return result << shift;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

uint32_t version(const char* variable, const char* otherwise, uint64_t most_major) {
  const char* const set = std::getenv(variable);
  const char* const value = set == nullptr ? otherwise : set;
  const auto parts = split(value, '.');
  uint64_t major = 0;
  uint64_t minor = 0;
  const bool read = parts.size() == 2 && read_number(parts[0], major) && read_number(parts[1], minor);
  if (!read || major < 1 || major > most_major || minor > 99) misconfigured(variable, value, "a version such as 1.4");
  return ZE_MAKE_VERSION(static_cast<uint32_t>(major), static_cast<uint32_t>(minor));
}

Config read() {
  Config config;
  config.init_result = static_cast<int>(number("LEVELZERO_DOUBLE_INIT", 0, 0x7fffffff));
  config.api_version = version("LEVELZERO_DOUBLE_API", LEVELZERO_DOUBLE_DEFAULT_API, 1);
  config.roots = static_cast<int>(number("LEVELZERO_DOUBLE_DEVICES", 2, 16));
  config.sub_devices = static_cast<int>(number("LEVELZERO_DOUBLE_SUBDEVICES", 0, 4));
  config.device_bytes = number("LEVELZERO_DOUBLE_MEMORY", config.device_bytes, uint64_t{1} << 38U, true);
  config.host_bytes = number("LEVELZERO_DOUBLE_HOST_MEMORY", config.host_bytes, uint64_t{1} << 38U, true);
  config.largest_block = number("LEVELZERO_DOUBLE_LARGEST", 0, uint64_t{1} << 38U, true);
  config.peers = number("LEVELZERO_DOUBLE_PEERS", 1, 1) != 0;
  config.managed = number("LEVELZERO_DOUBLE_MANAGED", 1, 1) != 0;
  config.queues = static_cast<uint32_t>(number("LEVELZERO_DOUBLE_QUEUES", 4, 64));
  config.ticks = number("LEVELZERO_DOUBLE_TICKS", config.ticks, 1'000'000'000);
  config.timestamp_bits = static_cast<uint32_t>(number("LEVELZERO_DOUBLE_TIMESTAMP_BITS", 36, 64));
  config.fill_pattern = static_cast<uint32_t>(number("LEVELZERO_DOUBLE_FILL_PATTERN", 16, 128));
  config.spirv_version = version("LEVELZERO_DOUBLE_SPIRV", "1.2", 255);
  config.seed = number("LEVELZERO_DOUBLE_SEED", 0, UINT64_MAX);
  config.workers = static_cast<int>(std::max<uint64_t>(1, number("LEVELZERO_DOUBLE_WORKERS", 3, 64)));
  config.stuck = number("LEVELZERO_DOUBLE_STUCK", 0, 1) != 0;
  config.fragile_end = number("LEVELZERO_DOUBLE_FRAGILE_END", 0, 1) != 0;
  if (const char* slow = std::getenv("LEVELZERO_DOUBLE_SLOW")) config.slow = split(slow, ':');
  config.slow_milliseconds = number("LEVELZERO_DOUBLE_SLOW_MS", config.slow_milliseconds, 60'000);
  config.one_address = number("LEVELZERO_DOUBLE_ONE_ADDRESS", 0, 1) != 0;
  config.log = number("LEVELZERO_DOUBLE_LOG", 0, 1) != 0;
  if (const char* nothing = std::getenv("LEVELZERO_DOUBLE_NOTHING")) config.nothing = split(nothing, ':');
  if (const char* failures = std::getenv("LEVELZERO_DOUBLE_FAIL")) config.failures = failures;
  return config;
}

}  // namespace

const Config& config() {
  static const Config& once = *new Config(read());
  return once;
}

bool has_in_order_lists() noexcept { return config().api_version >= ZE_MAKE_VERSION(1, 9); }

}  // namespace anyplace::doubles::levelzero
