// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <level_zero/ze_api.h>

#ifndef LEVELZERO_DOUBLE_DEFAULT_API
#define LEVELZERO_DOUBLE_DEFAULT_API "1.4"
#endif

namespace anyplace::doubles {
namespace levelzero {
namespace {

uint32_t version(const char* name, const char* otherwise, uint64_t most_major) {
  const std::string value = variables().text(name, otherwise);
  const auto parts = split(value, '.');
  uint64_t major = 0;
  uint64_t minor = 0;
  const bool read = parts.size() == 2 && read_number(parts[0], major) && read_number(parts[1], minor);
  if (!read || major < 1 || major > most_major || minor > 99) {
    variables().misconfigured(name, value, "a version such as 1.4");
  }
  return ZE_MAKE_VERSION(static_cast<uint32_t>(major), static_cast<uint32_t>(minor));
}

Config read() {
  const Variables& from = variables();
  Config config;
  from.read(config, 0x7fffffff);
  config.api_version = version("API", LEVELZERO_DOUBLE_DEFAULT_API, 1);
  config.roots = from.integer("DEVICES", 2, 16);
  config.sub_devices = from.integer("SUBDEVICES", 0, 4);
  config.largest_block = from.number("LARGEST", 0, uint64_t{1} << 38U, true);
  config.queues = static_cast<uint32_t>(from.integer("QUEUES", 4, 64));
  config.ticks = from.number("TICKS", config.ticks, 1'000'000'000);
  config.timestamp_bits = static_cast<uint32_t>(from.integer("TIMESTAMP_BITS", 36, 64));
  config.fill_pattern = static_cast<uint32_t>(from.integer("FILL_PATTERN", 16, 128));
  config.spirv_version = version("SPIRV", "1.2", 255);
  config.stuck = from.flag("STUCK", false);
  config.fragile_end = from.flag("FRAGILE_END", false);
  config.slow = from.list("SLOW");
  config.slow_milliseconds = from.number("SLOW_MS", config.slow_milliseconds, 60'000);
  config.one_address = from.flag("ONE_ADDRESS", false);
  config.ipc = from.text("IPC", "descriptor");
  if (config.ipc != "descriptor" && config.ipc != "opaque" && config.ipc != "none") {
    from.misconfigured("IPC", config.ipc, "descriptor, opaque or none");
  }
  config.nothing = from.list("NOTHING");
  return config;
}

}  // namespace

const Config& config() { return read_once(read); }

bool has_in_order_lists() noexcept { return config().api_version >= ZE_MAKE_VERSION(1, 9); }

}  // namespace levelzero

const char* const double_title = "Level Zero double";
const char* const variable_prefix = "LEVELZERO_DOUBLE_";

}  // namespace anyplace::doubles
