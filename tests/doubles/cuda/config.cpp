// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#ifndef CUDA_DOUBLE_DEFAULT_VERSION
#define CUDA_DOUBLE_DEFAULT_VERSION 13000
#endif

namespace anyplace::doubles::cuda {
namespace {

[[noreturn]] void misconfigured(const char* variable, std::string_view value, const char* right) {
  std::fprintf(stderr, "CUDA double: %s=%.*s: %s\n", variable, static_cast<int>(value.size()), value.data(), right);
  std::abort();
}

/// The value with a suffix K, M or G where `bytes`.
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

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// As NVIDIA documents the variable: indices, or beginnings of uuids; the first that names no device ends the list.
std::vector<int> visible_devices(const Config& config) {
  const int physical = config.physical_devices;
  std::vector<int> visible;
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (value == nullptr) {
    for (int i = 0; i < physical; ++i) visible.push_back(i);
    return visible;
  }
  for (const std::string& part : split(value, ',')) {
    int found = -1;
    if (part.rfind("GPU-", 0) == 0 || part.rfind("MIG-", 0) == 0) {
      for (int i = 0; i < physical; ++i) {
        if (uuid_text(config, i).rfind(part, 0) == 0) found = i;
      }
    } else {
      int index = -1;
      const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
      if (read.ec == std::errc() && read.ptr == part.data() + part.size() && index < physical) found = index;
    }
    if (found < 0) break;
    if (std::find(visible.begin(), visible.end(), found) != visible.end()) return {};  // twice: none at all
    visible.push_back(found);
  }
  return visible;
}

Config read() {
  Config config;
  config.init_result = static_cast<int>(number("CUDA_DOUBLE_INIT", 0, 999));
  config.driver_version = static_cast<int>(number("CUDA_DOUBLE_DRIVER_VERSION", CUDA_DOUBLE_DEFAULT_VERSION, 99990));
  config.physical_devices = static_cast<int>(number("CUDA_DOUBLE_DEVICES", 2, 64));
  config.device_bytes = number("CUDA_DOUBLE_MEMORY", config.device_bytes, uint64_t{1} << 38U, true);
  config.host_bytes = number("CUDA_DOUBLE_HOST_MEMORY", config.host_bytes, uint64_t{1} << 38U, true);
  config.sm = static_cast<int>(number("CUDA_DOUBLE_SM", 90, 255));
  config.peers = number("CUDA_DOUBLE_PEERS", 1, 1) != 0;
  config.pools = number("CUDA_DOUBLE_POOLS", 1, 1) != 0;
  config.managed = number("CUDA_DOUBLE_MANAGED", 1, 1) != 0;
  config.mig = number("CUDA_DOUBLE_MIG", 0, 1) != 0;
  if (config.mig) config.peers = false;
  config.pageable_async = number("CUDA_DOUBLE_PAGEABLE_ASYNC", 0, 1) != 0;
  config.seed = number("CUDA_DOUBLE_SEED", 0, UINT64_MAX);
  config.workers = static_cast<int>(std::max<uint64_t>(1, number("CUDA_DOUBLE_WORKERS", 3, 64)));
  config.log = number("CUDA_DOUBLE_LOG", 0, 1) != 0;
  if (const char* missing = std::getenv("CUDA_DOUBLE_MISSING")) config.missing = split(missing, ':');
  if (const char* failures = std::getenv("CUDA_DOUBLE_FAIL")) config.failures = failures;
  config.visible = visible_devices(config);
  return config;
}

}  // namespace

const Config& config() {
  static const Config& once = *new Config(read());
  return once;
}

void gpu_uuid_bytes(const Config& config, int physical, unsigned char* bytes) {
  constexpr unsigned char kPattern[16] = {0xd0, 0xb1, 0xe0, 0x0c, 0xda, 0x00, 0x4a, 0x11,
                                          0x8b, 0x5e, 0xca, 0xfe, 0x00, 0x00, 0x00, 0x00};
  std::copy(kPattern, kPattern + 16, bytes);
  if (config.mig) physical = 0;
  bytes[0] = static_cast<unsigned char>(bytes[0] + physical);
  bytes[15] = static_cast<unsigned char>(physical);
}

void uuid_bytes(const Config& config, int physical, unsigned char* bytes) {
  gpu_uuid_bytes(config, physical, bytes);
  if (!config.mig) return;
  bytes[4] = 0x16;  // in no GPU's
  bytes[15] = static_cast<unsigned char>(physical);
}

std::string uuid_text(const Config& config, int physical) {
  unsigned char bytes[16];
  uuid_bytes(config, physical, bytes);
  std::string text = config.mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 0xfU];
  }
  return text;
}

}  // namespace anyplace::doubles::cuda
