// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <anyplace/backend/abi.h>
#include <anyplace/library_images.h>

#include <utility>

#include "topology.h"

namespace anyplace::tool {
namespace {

Json memory_of(std::uint64_t used, std::uint64_t total) {
  return Json{{"used", used}, {"free", total - used}, {"total", total}};
}

/// The device's memory. Figures that can't be told are null: a device that is out of memory, or lost, is listed all the
/// same.
Json memory_json(const Device& device) {
  try {
    if (device.has(Capability::monitoring)) {
      // Monitoring tells the figures without a context of the vendor's, which memory_info() may have to make on each
      // device.
      const DeviceSample now = sample(device);
      if (now.memory_used_bytes && now.memory_total_bytes && *now.memory_used_bytes <= *now.memory_total_bytes) {
        return memory_of(*now.memory_used_bytes, *now.memory_total_bytes);
      }
    }
    const MemoryInfo memory = device.memory_info();
    if (memory.free && memory.total && *memory.free <= *memory.total) {
      return memory_of(*memory.total - *memory.free, *memory.total);
    }
    return Json{{"used", nullptr}, {"free", number_or_null(memory.free)}, {"total", number_or_null(memory.total)}};
  } catch (const Error&) {
    return Json{{"used", nullptr}, {"free", nullptr}, {"total", nullptr}};
  }
}

}  // namespace

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json bool_or_null(const std::optional<bool>& value) { return value ? Json(*value) : Json(); }

Json number_or_null(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(); }

Json device_json(const Device& device) {
  const DeviceProperties properties = device.properties();
  Json compute_capability;
  if (const auto& numbers = properties.compute_capability) {
    compute_capability = Json{{"major", numbers->major}, {"minor", numbers->minor}};
  }
  const Locality locality = locality_of(properties.pci);
  Json capabilities = Json::array();
  for (const Capability capability : properties.capabilities) capabilities.push_back(to_string(capability));
  return Json{
      {"place", device.to_string()},
      {"backend", device.backend()},
      {"index", device.index()},
      {"name", text_or_null(properties.name)},
      {"vendor", text_or_null(properties.vendor)},
      {"total_memory", number_or_null(properties.total_memory)},
      {"architecture", text_or_null(properties.architecture)},
      {"compute_capability", std::move(compute_capability)},
      {"driver_version", text_or_null(properties.driver_version)},
      {"uuid", text_or_null(properties.uuid)},
      {"pci", text_or_null(properties.pci)},
      {"compute_units", properties.compute_units},
      {"address_alignment", properties.address_alignment},
      {"max_shared_bytes", properties.max_shared_bytes},
      {"max_grid", properties.max_grid},
      {"max_block", properties.max_block},
      {"max_threads_per_block", properties.max_threads_per_block},
      {"priorities", Json{{"least", properties.priorities.least}, {"greatest", properties.priorities.greatest}}},
      {"capabilities", std::move(capabilities)},
      {"image_formats", properties.image_formats},
      {"clock_hz", number_or_null(properties.clock_hz)},
      {"memory_clock_hz", number_or_null(properties.memory_clock_hz)},
      {"memory_bus_bits", number_or_null(properties.memory_bus_bits)},
      {"l2_cache_bytes", number_or_null(properties.l2_cache_bytes)},
      {"max_allocation", number_or_null(properties.max_allocation)},
      {"multiprocessors", number_or_null(properties.multiprocessors)},
      {"sub_group_sizes", properties.sub_group_sizes},
      {"float16", bool_or_null(properties.float16)},
      {"float64", bool_or_null(properties.float64)},
      {"int64_atomics", bool_or_null(properties.int64_atomics)},
      {"unified_addressing", bool_or_null(properties.unified_addressing)},
      {"memory", memory_json(device)},
      {"numa_node", locality.numa_node ? Json(*locality.numa_node) : Json()},
      {"near_cpus", text_or_null(locality.near_cpus)},
      {"links", nullptr},
  };
}

Json error_json(const Error& error) {
  Json memory;
  if (const auto& figures = error.memory()) {
    memory = Json{{"requested", figures->requested},
                  {"free", number_or_null(figures->free)},
                  {"cached", figures->cached},
                  {"in_use", figures->in_use},
                  {"limit", number_or_null(figures->limit)}};
  }
  const bool from_vendor = error.vendor_code() != 0 || !error.vendor_name().empty();
  return Json{
      {"code", to_string(error.code())},
      {"place", text_or_null(error.place())},
      {"operation", text_or_null(error.operation())},
      {"text", error.text()},
      {"problem", std::string(error.problem())},
      {"remedy", text_or_null(error.remedy())},
      {"see", text_or_null(error.see())},
      {"vendor_code", from_vendor ? Json(error.vendor_code()) : Json()},
      {"vendor_name", text_or_null(error.vendor_name())},
      {"vendor_text", text_or_null(error.vendor_text())},
      {"memory", std::move(memory)},
  };
}

Json backend_json(const BackendInfo& info) {
  return Json{
      {"name", info.name},
      {"version", text_or_null(info.version)},
      {"description", text_or_null(info.description)},
      {"path", info.path},
      {"abi", Json{{"major", info.abi_major}, {"minor", info.abi_minor}}},
      {"layers", info.layers},
  };
}

Json version_json() {
  Json images = Json::array();
  for (const KernelImages* const kernels : library_kernels()) {
    for (const KernelImage& image : kernels->images()) {
      images.push_back(Json{{"kernels", kernels->name()},
                            {"format", image.format},
                            {"architectures", architectures_of(image)},
                            {"bytes", image.size}});
    }
  }
  return Json{
      {"library", version()},
      {"headers", ANYPLACE_VERSION},
      {"abi", Json{{"major", ANYPLACE_ABI_MAJOR}, {"minor", ANYPLACE_ABI_MINOR}}},
      {"images", std::move(images)},
  };
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string dump_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace anyplace::tool
