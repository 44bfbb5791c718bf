// SPDX-License-Identifier: Apache-2.0
//
// Device, its facts, and the current device.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// What `with device:` restores, the innermost last. A `with` statement begins and ends on one thread.
thread_local std::vector<Device> devices_before;

Capability capability_of(const std::string& name) {
  for (const Capability each : all_capabilities()) {
    if (name == to_string(each)) return each;
  }
  throw nb::value_error(("capability: '" + name + "' is none; Device.CAPABILITIES has them").c_str());
}

std::vector<std::string> capability_names(std::span<const Capability> capabilities) {
  std::vector<std::string> names;
  for (const Capability each : capabilities) names.emplace_back(to_string(each));
  return names;
}

bool synchronize(const Device& device, std::optional<double> timeout) {
  return wait_interruptibly(timeout_of(timeout),
                            [&](std::chrono::nanoseconds time) { return device.synchronize(time); });
}

void bind_properties(nb::module_& module) {
  using Properties = DeviceProperties;
  nb::class_<Properties>(module, "DeviceProperties",
                         "Facts about a device; what the vendor can't tell is None or \"\". Sizes are bytes.")
      .def_ro("name", &Properties::name)
      .def_ro("vendor", &Properties::vendor)
      .def_ro("architecture", &Properties::architecture)
      .def_prop_ro("compute_capability",
                   [](const Properties& p) -> std::optional<std::pair<int, int>> {
                     if (!p.compute_capability) return std::nullopt;
                     return std::pair(p.compute_capability->major, p.compute_capability->minor);
                   })
      .def_ro("driver_version", &Properties::driver_version)
      .def_ro("uuid", &Properties::uuid)
      .def_ro("pci", &Properties::pci)
      .def_ro("total_memory", &Properties::total_memory)
      .def_ro("compute_units", &Properties::compute_units)
      .def_ro("address_alignment", &Properties::address_alignment)
      .def_ro("max_shared_bytes", &Properties::max_shared_bytes)
      .def_prop_ro("max_grid",
                   [](const Properties& p) { return std::tuple(p.max_grid[0], p.max_grid[1], p.max_grid[2]); })
      .def_prop_ro("max_block",
                   [](const Properties& p) { return std::tuple(p.max_block[0], p.max_block[1], p.max_block[2]); })
      .def_ro("max_threads_per_block", &Properties::max_threads_per_block)
      .def_ro("image_formats", &Properties::image_formats)
      .def_ro("clock_hz", &Properties::clock_hz)
      .def_ro("memory_clock_hz", &Properties::memory_clock_hz)
      .def_ro("l2_cache_bytes", &Properties::l2_cache_bytes)
      .def_ro("max_allocation", &Properties::max_allocation)
      .def_ro("memory_bus_bits", &Properties::memory_bus_bits)
      .def_ro("multiprocessors", &Properties::multiprocessors)
      .def_ro("sub_group_sizes", &Properties::sub_group_sizes)
      .def_ro("float16", &Properties::float16)
      .def_ro("float64", &Properties::float64)
      .def_ro("int64_atomics", &Properties::int64_atomics)
      .def_ro("unified_addressing", &Properties::unified_addressing);
}

/// What the device is and has.
void bind_facts(nb::class_<Device>& type) {
  type.def_prop_ro("place", &Device::to_string, "The text that names it: \"cuda:0\".")
      .def_prop_ro("backend", &Device::backend)
      .def_prop_ro("index", &Device::index)
      .def_prop_ro("properties", &Device::properties)
      .def_prop_ro("capabilities",
                   [](const Device& device) { return capability_names(device.properties().capabilities); })
      .def(
          "has", [](const Device& device, const std::string& name) { return device.has(capability_of(name)); },
          "capability"_a, "Whether the device has the capability, one of CAPABILITIES.")
      .def_prop_ro("priority_range",
                   [](const Device& device) {
                     const PriorityRange range = device.priority_range();
                     return std::pair(range.least, range.greatest);
                   })
      .def(
          "memory_info",
          [](const Device& device) {
            const MemoryInfo info = device.memory_info();
            return std::pair(info.free, info.total);
          },
          "Free and total memory, in bytes; None where the vendor can't tell.")
      .def("can_access_peer", &Device::can_access_peer, "peer"_a)
      .def("enable_peer_access", &Device::enable_peer_access, "peer"_a)
      .def("disable_peer_access", &Device::disable_peer_access, "peer"_a)
      .def("native_handle", &Device::native_handle, "The vendor's device (CUdevice), as a number.")
      .def("native_context", &Device::native_context, "The vendor's context (CUcontext), as a number.");
  type.def_prop_ro_static(
      "CAPABILITIES", [](nb::handle) { return capability_names(all_capabilities()); },
      "The capabilities that there are.");
}

void bind_functions(nb::module_& module) {
  module.def(
      "devices",
      [](const std::optional<std::string>& backend) {
        const nb::gil_scoped_release release;
        if (backend) return devices(*backend);
        std::vector<Device> all;
        for (const std::string& name : backend_names()) {
          try {
            for (const Device& device : devices(name)) all.push_back(device);
          } catch (const Error& error) {
            if (error.code() != ErrorCode::no_such_backend && error.code() != ErrorCode::no_such_device) throw;
          }
        }
        return all;
      },
      "backend"_a = nb::none(),
      "The devices of a backend, or of all that can be used here. Loads their plugins, and so their drivers.");
  module.def("backends", &backend_names, "The names of all backends' plugins. Opens none.");
  module.def(
      "current_device",
      [](const std::string& backend) {
        const nb::gil_scoped_release release;
        return current_device(backend);
      },
      "backend"_a, "The calling thread's current device of a backend: what the bare name means.");
  module.def(
      "set_current_device", [](const DeviceArgument& device) { set_current_device(device.get()); }, "device"_a);
}

}  // namespace

void bind_devices(nb::module_& module) {
  bind_properties(module);
  auto type =
      nb::class_<Device>(module, "Device",
                         "A device: Device(\"cuda:0\"), or \"cpu_sim:1\", \"hip\", \"auto\". `with device:` makes it "
                         "the thread's current one. Comparable, hashable, ordered; pickles by its place.")
          .def(
              "__init__", [](Device* self, const DeviceArgument& place) { new (self) Device(place.get()); }, "place"_a)
          .def("synchronize", &synchronize, "timeout"_a = nb::none(),
               "Waits for all work submitted to the device, at most `timeout` seconds; returns whether it is done.")
          .def("reset",
               [](const Device& device) {
                 const nb::gil_scoped_release release;
                 device.reset();
               })
          .def(
              "clock",
              [](const Device& device) {
                const nb::gil_scoped_release release;
                const ClockReading reading = device.clock();
                return std::pair(reading.device_ns, reading.host_ns);
              },
              "The device's clock and time.monotonic_ns() at one moment, in nanoseconds.")
          .def_prop_ro("default_stream",
                       [](const Device& device) {
                         return StreamObject{device.default_stream(), nullptr};
                       })
          .def_prop_ro("per_thread_stream",
                       [](const Device& device) {
                         return StreamObject{device.per_thread_stream(), nullptr};
                       })
          .def(
              "__enter__",
              [](const nb::handle& self) {
                const auto& device = nb::cast<const Device&>(self);
                devices_before.push_back(current_device(device.backend()));
                set_current_device(device);
                return nb::borrow(self);
              },
              nb::sig("def __enter__(self) -> Device"))
          .def(
              "__exit__",
              [](const Device&, const nb::args&) {
                if (devices_before.empty()) throw std::runtime_error("the device wasn't entered on this thread");
                set_current_device(devices_before.back());
                devices_before.pop_back();
              },
              nb::sig("def __exit__(self, *exception: object) -> None"))
          .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
          .def(nb::self < nb::self, nb::sig("def __lt__(self, other: Device, /) -> bool"))
          .def("__hash__", [](const Device& device) { return std::hash<Device>()(device); })
          .def("__str__", &Device::to_string)
          .def("__repr__", [](const Device& device) { return "Device('" + device.to_string() + "')"; })
          .def(
              "__reduce__",
              [](const Device& device) {
                return nb::make_tuple(nb::type<Device>(), nb::make_tuple(device.to_string()));
              },
              nb::sig("def __reduce__(self) -> tuple[type[Device], tuple[str]]"));
  bind_facts(type);
  bind_functions(module);
}

}  // namespace anyplace::python
