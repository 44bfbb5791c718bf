// SPDX-License-Identifier: Apache-2.0
//
// What isn't work: annotations, monitoring, and the plugins that there are.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

// -- Annotations.

annotate::Attributes attributes_of(std::optional<std::uint32_t> color, const nb::object& payload,
                                   const std::string& domain) {
  annotate::Attributes attributes;
  attributes.color = color;
  if (!domain.empty()) attributes.domain = annotate::Domain(domain);
  if (PyFloat_Check(payload.ptr())) {
    attributes.payload = nb::cast<double>(payload);
  } else if (!payload.is_none()) {
    attributes.payload = nb::cast<std::int64_t>(payload);
  }
  return attributes;
}

void bind_annotations(nb::module_& module) {
  const auto keywords = [&](const char* name, auto function, const char* text) {
    module.def(name, function, "name"_a, nb::kw_only(), "color"_a = nb::none(), "payload"_a = nb::none(),
               "domain"_a = "", text);
  };
  using Color = std::optional<std::uint32_t>;
  keywords(
      "range_push",
      [](const std::string& name, Color color, const nb::object& payload, const std::string& domain) {
        if (!annotate::listening()) return annotate::nobody_listens;
        return annotate::range_push(name, attributes_of(color, payload, domain));
      },
      "Begins a range on this thread. Returns its depth, or -2 while nobody listens.");
  keywords(
      "annotate_mark",
      [](const std::string& name, Color color, const nb::object& payload, const std::string& domain) {
        if (annotate::listening()) annotate::mark(name, attributes_of(color, payload, domain));
      },
      "Names a point in time.");
  module.def(
      "range_pop",
      [](const std::string& domain) {
        if (!annotate::listening()) return annotate::nobody_listens;
        return annotate::range_pop(domain.empty() ? annotate::Domain() : annotate::Domain(domain));
      },
      nb::kw_only(), "domain"_a = "", "Ends the innermost range of this thread and domain.");
}

// -- Monitoring.

template <class T>
void put(nb::dict& figures, const char* name, const std::optional<T>& figure) {
  figures[name] = nb::cast(figure);
}

double seconds_of(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; }

nb::dict dict_of(const DeviceSample& sample) {
  nb::dict figures;
  figures["time"] = seconds_of(sample.wall_time.time_since_epoch());
  put(figures, "compute_utilization", sample.compute_utilization);
  put(figures, "memory_utilization", sample.memory_utilization);
  put(figures, "memory_used_bytes", sample.memory_used_bytes);
  put(figures, "memory_total_bytes", sample.memory_total_bytes);
  put(figures, "temperature_celsius", sample.temperature_celsius);
  put(figures, "power_watts", sample.power_watts);
  put(figures, "power_limit_watts", sample.power_limit_watts);
  put(figures, "energy_joules", sample.energy_joules);
  put(figures, "core_clock_hz", sample.core_clock_hz);
  put(figures, "memory_clock_hz", sample.memory_clock_hz);
  put(figures, "ecc_corrected", sample.ecc_corrected);
  put(figures, "ecc_uncorrected", sample.ecc_uncorrected);
  put(figures, "pcie_rx_bytes", sample.pcie_rx_bytes);
  put(figures, "pcie_tx_bytes", sample.pcie_tx_bytes);
  put(figures, "link_rx_bytes", sample.link_rx_bytes);
  put(figures, "link_tx_bytes", sample.link_tx_bytes);
  put(figures, "pcie_rx_bytes_per_second", sample.pcie_rx_bytes_per_second);
  put(figures, "pcie_tx_bytes_per_second", sample.pcie_tx_bytes_per_second);
  put(figures, "link_rx_bytes_per_second", sample.link_rx_bytes_per_second);
  put(figures, "link_tx_bytes_per_second", sample.link_tx_bytes_per_second);
  figures["throttle_reasons"] = nb::none();
  if (sample.throttle_reasons) {
    nb::list reasons;
    for (const ThrottleReason each : *sample.throttle_reasons) reasons.append(to_string(each));
    figures["throttle_reasons"] = reasons;
  }
  return figures;
}

void bind_monitor(nb::module_& module) {
  nb::class_<Monitor>(module, "Monitor", "Samples a device again and again, each time since the sample before.")
      .def(
          "__init__", [](Monitor* self, const DeviceArgument& device) { new (self) Monitor(device.get()); }, "device"_a)
      .def_prop_ro("device", [](const Monitor& monitor) { return monitor.device(); })
      .def(
          "sample",
          [](Monitor& monitor) {
            DeviceSample sample;
            {
              const nb::gil_scoped_release release;
              sample = monitor.sample();
            }
            return dict_of(sample);
          },
          nb::sig("def sample(self) -> dict[str, typing.Any]"),
          "How busy, full and hot the device is, by the names of docs/monitoring.md. None: the vendor can't tell.");
  module.def(
      "monitoring_source", [](const DeviceArgument& device) { return monitoring_source(device.get()); }, "device"_a,
      "Where the figures come from, or what is missing for them.");
}

// -- Plugins.

void bind_plugins(nb::module_& module) {
  nb::class_<PluginCandidate>(module, "Plugin", "A file that could be a backend.")
      .def_ro("name", &PluginCandidate::name)
      .def_ro("path", &PluginCandidate::path)
      .def_prop_ro("source", [](const PluginCandidate& plugin) { return to_string(plugin.source); })
      .def_prop_ro(
          "state", [](const PluginCandidate& plugin) { return to_string(plugin.state); },
          "\"unopened\", \"accepted\", \"refused\" or \"shadowed\".")
      .def_prop_ro("problem", &PluginCandidate::problem, "Why it was refused, or by which file it is shadowed.")
      .def_ro("remedy", &PluginCandidate::remedy)
      .def("__repr__", [](const PluginCandidate& plugin) {
        return nb::str("<Plugin {}, {}: {}>").format(plugin.name, to_string(plugin.state), plugin.path);
      });
  module.def("plugins", &plugin_candidates,
             "Every file that could be a backend, and what is known of it in this process. Opens none.");
  module.def("register_plugin", &register_plugin, "path"_a,
             "Makes the file the first candidate for the backend that its name says.");
}

}  // namespace

void bind_services(nb::module_& module) {
  bind_annotations(module);
  bind_monitor(module);
  bind_plugins(module);
}

}  // namespace anyplace::python
