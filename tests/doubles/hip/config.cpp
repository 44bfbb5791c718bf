// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// The variant that stands for Debian's 5.2.3.
#ifndef HIP_DOUBLE_DEFAULT_VERSION
#define HIP_DOUBLE_DEFAULT_VERSION 60443484
#endif
#ifndef HIP_DOUBLE_NEW_FEATURES
#define HIP_DOUBLE_NEW_FEATURES 1
#endif

namespace anyplace::doubles::hip {
namespace {

[[noreturn]] void misconfigured(const char* variable, std::string_view value, const char* right) {
  std::fprintf(stderr, "HIP double: %s=%.*s: %s\n", variable, static_cast<int>(value.size()), value.data(), right);
  std::abort();
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
  const auto read = std::from_chars(text.data(), text.data() + text.size(), result);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || result > most >> shift) {
    misconfigured(variable, value, bytes ? "a number of bytes, with K, M or G behind it or not" : "a number in range");
  }
  return result << shift;
}

bool flag(const char* variable, bool otherwise) { return number(variable, otherwise ? 1 : 0, 1) != 0; }

/// As AMD documents the variable: indices or uuids, separated by commas; the first that names no device ends the list.
std::vector<int> visible_devices(int physical) {
  std::vector<int> visible;
  const char* const value = std::getenv("HIP_VISIBLE_DEVICES");
  if (value == nullptr) {
    for (int i = 0; i < physical; ++i) visible.push_back(i);
    return visible;
  }
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    int found = -1;
    for (int i = 0; i < physical; ++i) {
      if (part == "GPU-" + uuid_digits(i)) found = i;
    }
    int index = -1;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    if (read.ec == std::errc() && read.ptr == part.data() + part.size() && index < physical) found = index;
    if (found < 0) break;
    if (std::find(visible.begin(), visible.end(), found) == visible.end()) visible.push_back(found);
  }
  return visible;
}

Config read() {
  constexpr bool modern = HIP_DOUBLE_NEW_FEATURES != 0;
  Config config;
  config.init_result = static_cast<int>(number("HIP_DOUBLE_INIT", 0, 999));
  config.version = static_cast<int>(number("HIP_DOUBLE_VERSION", HIP_DOUBLE_DEFAULT_VERSION, 99'999'999));
  config.physical_devices = static_cast<int>(number("HIP_DOUBLE_DEVICES", 2, 64));
  config.device_bytes = number("HIP_DOUBLE_MEMORY", config.device_bytes, uint64_t{1} << 38U, true);
  config.host_bytes = number("HIP_DOUBLE_HOST_MEMORY", config.host_bytes, uint64_t{1} << 38U, true);
  if (const char* arch = std::getenv("HIP_DOUBLE_ARCH")) config.arch = arch;
  config.peers = flag("HIP_DOUBLE_PEERS", true);
  config.pools = flag("HIP_DOUBLE_POOLS", modern);
  config.managed = flag("HIP_DOUBLE_MANAGED", true);
  config.wait_value = flag("HIP_DOUBLE_WAIT_VALUE", true);
  config.virtual_memory = flag("HIP_DOUBLE_VIRTUAL_MEMORY", modern);
  config.pageable_async = flag("HIP_DOUBLE_PAGEABLE_ASYNC", false);
  config.alignment = number("HIP_DOUBLE_ALIGNMENT", config.alignment, 4096);
  if (config.alignment < 8 || (config.alignment & (config.alignment - 1)) != 0) {
    misconfigured("HIP_DOUBLE_ALIGNMENT", std::to_string(config.alignment), "a power of two from 8 to 4096");
  }
  config.seed = number("HIP_DOUBLE_SEED", 0, UINT64_MAX);
  config.workers = static_cast<int>(std::max<uint64_t>(1, number("HIP_DOUBLE_WORKERS", 3, 64)));
  config.log = flag("HIP_DOUBLE_LOG", false);
  if (const char* failures = std::getenv("HIP_DOUBLE_FAIL")) config.failures = failures;
  config.visible = visible_devices(config.physical_devices);
  return config;
}

}  // namespace

const Config& config() {
  static const Config& once = *new Config(read());
  return once;
}

std::string uuid_digits(int physical) {
  char text[17];
  std::snprintf(text, sizeof(text), "d0b1e0a3d000%04x", static_cast<unsigned>(physical) & 0xffffU);
  return text;
}

}  // namespace anyplace::doubles::hip
