// SPDX-License-Identifier: Apache-2.0
// `anyplace info PLACE`: shows all that one device says of itself. It asks in this process, as an application would, so
// that only the plugin of that place is opened.
#include <fmt/format.h>

#include <algorithm>

#include "anyplace/backend/abi.h"
#include "commands.h"
#include "error_text.h"
#include "json.h"
#include "links.h"
#include "probe.h"
#include "text.h"
#include "topology.h"

namespace anyplace::tool {
namespace {

const char* description(Capability capability) noexcept {
  switch (capability) {
#define ANYPLACE_TOOL_CASE(upper, lower, bit, text) \
  case Capability::lower:                           \
    return text;
    ANYPLACE_CAPABILITY_LIST(ANYPLACE_TOOL_CASE)
#undef ANYPLACE_TOOL_CASE
  }
  return "";
}

bool has(const DeviceProperties& properties, Capability capability) {
  const auto& list = properties.capabilities;
  return std::find(list.begin(), list.end(), capability) != list.end();
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string exact_bytes(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return "unknown";
  if (*bytes < 1024) return std::to_string(*bytes) + " bytes";
  return bytes_text(bytes) + " (" + std::to_string(*bytes) + " bytes)";
}

std::string by_three(const std::uint32_t (&sizes)[3]) {
  return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " + std::to_string(sizes[2]);
}

/// A frequency: "1.980 GHz".
std::string frequency(const std::optional<std::uint64_t>& hertz) {
  return hertz ? fmt::format("{:.3f} GHz", static_cast<double>(*hertz) / 1e9) : "unknown";
}

std::string number(const std::optional<std::uint32_t>& value, const std::string& unit) {
  return value ? std::to_string(*value) + unit : "unknown";
}

std::string yes_or_no(const std::optional<bool>& value) { return !value ? "unknown" : *value ? "yes" : "no"; }

std::string sub_group_sizes(const DeviceProperties& properties) {
  if (properties.sub_group_sizes.empty()) return "unknown";
  return fmt::format("{}", fmt::join(properties.sub_group_sizes, ", "));
}

std::optional<std::uint64_t> used(const MemoryInfo& memory) {
  if (!memory.free || !memory.total || *memory.free > *memory.total) return std::nullopt;
  return *memory.total - *memory.free;
}

/// The device's links. They are asked for in a child process, because the question touches the backend's other devices,
/// which the user didn't name.
struct Links {
  Json list;        ///< the result of links_json()
  std::string why;  ///< why `list` is null; "" if it isn't
};
Links links_of(const Device& device, std::chrono::milliseconds limit) {
  if (device_count(device.backend()) > most_linked) {
    return {nullptr, fmt::format("not asked for: {} has more than {} devices", device.backend(), most_linked)};
  }
  const Probe probe = probe_links(device.backend(), limit);
  for (const Json& linked : probe.devices) {
    if (linked.at("place") == device.to_string()) return {linked.at("links"), ""};
  }
  return {nullptr, "unknown" + (probe.problems.empty() ? "" : ": " + in_brief(probe.problems.back()))};
}

/// Where the device is in the machine, and its links to the backend's other devices.
std::string surroundings_text(const Device& device, const DeviceProperties& properties, const Links& links) {
  const Locality locality = locality_of(properties.pci);
  std::string text = field("numa node", locality.numa_node ? std::to_string(*locality.numa_node) : "unknown");
  text += field("near cpus", or_unknown(locality.near_cpus));
  if (links.list.is_null()) return text + field("links", links.why);
  if (links.list.empty()) text += field("links", "none: it is the only device of " + device.backend());
  for (const Json& link : links.list) {
    text += field("link to " + link.at("place").get<std::string>(), link_text(link));
  }
  return text;
}

/// The properties that not every vendor tells.
std::string facts_text(const DeviceProperties& properties) {
  std::string text = field("multiprocessors", number(properties.multiprocessors, ""));
  text += field("clock", frequency(properties.clock_hz));
  text += field("memory clock", frequency(properties.memory_clock_hz));
  text += field("memory bus", number(properties.memory_bus_bits, " bits"));
  text += field("second-level cache", exact_bytes(properties.l2_cache_bytes));
  text += field("allocation, at most", exact_bytes(properties.max_allocation));
  text += field("sub-group sizes", sub_group_sizes(properties));
  text += field("16-bit floats", yes_or_no(properties.float16));
  text += field("64-bit floats", yes_or_no(properties.float64));
  text += field("64-bit atomics", yes_or_no(properties.int64_atomics));
  return text + field("unified addressing", yes_or_no(properties.unified_addressing));
}

std::string info_text(const Device& device, const DeviceProperties& properties, const MemoryInfo& memory,
                      const BackendInfo& plugin, const Links& links) {
  const PriorityRange& range = properties.priorities;
  std::string text = device.to_string() + "\n";
  text += field("name", or_unknown(properties.name));
  text += field("vendor", or_unknown(properties.vendor));
  text += field("architecture", or_unknown(properties.architecture));
  if (const auto& capability = properties.compute_capability) {
    text += field("compute capability", std::to_string(capability->major) + "." + std::to_string(capability->minor));
  }
  text += field("driver version", or_unknown(properties.driver_version));
  text += field("uuid", or_unknown(properties.uuid));
  text += field("pci address", or_unknown(properties.pci));
  text += surroundings_text(device, properties, links);
  text += field("compute units", std::to_string(properties.compute_units));
  text += field("memory, total", exact_bytes(properties.total_memory));
  text += field("memory, free", exact_bytes(memory.free));
  text += field("memory, used", exact_bytes(used(memory)));
  text += field("address alignment", exact_bytes(properties.address_alignment));
  text += field("grid, at most", by_three(properties.max_grid) + " blocks");
  text += field("block, at most",
                by_three(properties.max_block) + ", " + std::to_string(properties.max_threads_per_block) + " threads");
  text += field("shared memory", exact_bytes(properties.max_shared_bytes) + " a block");
  text +=
      field("priorities", std::to_string(range.greatest) + " (first) to " + std::to_string(range.least) + " (last)");
  text += field("module images", joined(properties.image_formats));
  text += facts_text(properties);
  text += "plugin\n";
  text += field("path", plugin.path);
  text += field("version", or_unknown(plugin.version));
  text += field("description", or_unknown(plugin.description));
  text += field("ABI", std::to_string(plugin.abi_major) + "." + std::to_string(plugin.abi_minor));
  if (!plugin.layers.empty()) text += field("layers", joined(plugin.layers));

  std::vector<std::vector<std::string>> rows;
  for (const Capability capability : all_capabilities()) {
    const char* const there = has(properties, capability) ? "  yes" : "  no";
    rows.push_back({there, to_string(capability), description(capability)});
  }
  return text + "capabilities\n" + table(rows);
}

Json info_json(const Device& device, const DeviceProperties& properties, const BackendInfo& plugin,
               const Links& links) {
  Json json = device_json(device);
  json["links"] = links.list;
  Json absent = Json::array();
  for (const Capability capability : all_capabilities()) {
    if (!has(properties, capability)) absent.push_back(to_string(capability));
  }
  json["absent_capabilities"] = std::move(absent);
  json["plugin"] = backend_json(plugin);
  return json;
}

Answer refusal(const Error& error, const Options& options, int status) {
  if (options.json) return {dump(Json{{"error", error_json(error)}}), "", status};
  return {"", error_text("anyplace info", error), status};
}

}  // namespace

Answer run_info(const Options& options) {
  try {
    const Place place(options.place);
    try {
      const Device device(place);
      const DeviceProperties properties = device.properties();
      const MemoryInfo memory = device.memory_info();
      const BackendInfo plugin = backend_info(device.backend());
      const Links links = links_of(device, options.probe_timeout);
      const std::string output = options.json ? dump(info_json(device, properties, plugin, links))
                                              : info_text(device, properties, memory, plugin, links);
      return {output, "", exit_ok};
    } catch (const Error& error) {
      return refusal(error, options, exit_failed);
    }
  } catch (const Error& malformed) {
    return refusal(malformed, options, exit_usage);
  }
}

}  // namespace anyplace::tool
