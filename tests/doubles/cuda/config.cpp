// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>

#include "../engine/runtime/vendor.h"

#ifndef CUDA_DOUBLE_DEFAULT_VERSION
#define CUDA_DOUBLE_DEFAULT_VERSION 13000
#endif

namespace anyplace::doubles {
namespace cuda {
namespace {

/// "GPU-..." of a physical device, or "MIG-..." of an instance, as nvidia-smi prints it.
std::string uuid_text(const Config& config, int physical) {
  unsigned char bytes[16];
  uuid_bytes(config, physical, bytes);
  std::string text = config.mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    constexpr char digit_characters[] = "0123456789abcdef";
    text += digit_characters[bytes[i] >> 4U];
    text += digit_characters[bytes[i] & 0xfU];
  }
  return text;
}

Config read() {
  const Variables& from = variables();
  Config config;
  from.read(config, 999);
  config.driver_version = from.integer("DRIVER_VERSION", CUDA_DOUBLE_DEFAULT_VERSION, 99990);
  config.sm = from.integer("SM", 90, 255);
  config.mig = from.flag("MIG", false);
  if (config.mig) config.peers = false;
  config.missing = from.list("MISSING");
  // As NVIDIA documents the variable: a uuid may be cut short.
  const auto has_uuid = [&config](const std::string& part, int physical) {
    const std::string head = part.substr(0, 4);
    return (head == "GPU-" || head == "MIG-") && uuid_text(config, physical).rfind(part, 0) == 0;
  };
  config.visible = visible_devices("CUDA_VISIBLE_DEVICES", config.physical_devices, has_uuid, true);
  return config;
}

}  // namespace

const Config& config() { return read_once(read); }

void gpu_uuid_bytes(const Config& config, int physical, unsigned char* bytes) {
  constexpr unsigned char pattern[16] = {0xd0, 0xb1, 0xe0, 0x0c, 0xda, 0x00, 0x4a, 0x11,
                                         0x8b, 0x5e, 0xca, 0xfe, 0x00, 0x00, 0x00, 0x00};
  std::copy(pattern, pattern + 16, bytes);
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

}  // namespace cuda

const Settings& settings() { return cuda::config(); }

const char* const double_title = "CUDA double";
const char* const variable_prefix = "CUDA_DOUBLE_";

}  // namespace anyplace::doubles
