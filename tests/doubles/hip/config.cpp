// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <cstdio>

#include "../engine/runtime/vendor.h"

// The variant that stands for Debian's 5.2.3.
#ifndef HIP_DOUBLE_DEFAULT_VERSION
#define HIP_DOUBLE_DEFAULT_VERSION 60443484
#endif
#ifndef HIP_DOUBLE_NEW_FEATURES
#define HIP_DOUBLE_NEW_FEATURES 1
#endif

namespace anyplace::doubles {
namespace hip {
namespace {

Config read() {
  constexpr bool modern = HIP_DOUBLE_NEW_FEATURES != 0;
  const Variables& from = variables();
  Config config;
  config.pools = modern;
  from.read(config, 999);
  config.version = from.integer("VERSION", HIP_DOUBLE_DEFAULT_VERSION, 99'999'999);
  config.arch = from.text("ARCH", config.arch.c_str());
  config.wait_value = from.flag("WAIT_VALUE", true);
  config.virtual_memory = from.flag("VIRTUAL_MEMORY", modern);
  config.alignment = from.number("ALIGNMENT", config.alignment, 4096);
  if (config.alignment < 8 || (config.alignment & (config.alignment - 1)) != 0) {
    from.misconfigured("ALIGNMENT", std::to_string(config.alignment), "a power of two from 8 to 4096");
  }
  const auto has_uuid = [](const std::string& part, int physical) { return part == "GPU-" + uuid_digits(physical); };
  config.visible = visible_devices("HIP_VISIBLE_DEVICES", config.physical_devices, has_uuid, false);
  return config;
}

}  // namespace

const Config& config() { return read_once(read); }

std::string uuid_digits(int physical) {
  char text[17];
  std::snprintf(text, sizeof(text), "d0b1e0a3d000%04x", static_cast<unsigned>(physical) & 0xffffU);
  return text;
}

}  // namespace hip

const Settings& settings() { return hip::config(); }

const char* const double_title = "HIP double";
const char* const variable_prefix = "HIP_DOUBLE_";

}  // namespace anyplace::doubles
