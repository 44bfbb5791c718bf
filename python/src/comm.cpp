// SPDX-License-Identifier: Apache-2.0
//
// anyplace.comm: collectives over arrays of the devices of this process.
#include <anyplace/anyplace.h>
#include <anyplace/comm.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "extensions.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;
using Devices = std::optional<std::vector<DeviceArgument>>;
using Arrays = std::optional<std::vector<Array>>;

std::vector<Device> devices_of(const std::vector<DeviceArgument>& places) {
  std::vector<Device> devices;
  for (const DeviceArgument& each : places) devices.push_back(each.get());
  return devices;
}

comm::Targets targets_of(const Devices& devices, const Arrays& out) {
  if (devices.has_value() == out.has_value()) throw nb::value_error("devices, out: exactly one of them is given");
  comm::Targets targets;
  if (devices) targets.devices = devices_of(*devices);
  if (out) targets.out = *out;
  return targets;
}

std::optional<Device> device_of(const std::optional<DeviceArgument>& place) {
  return place ? std::optional(place->get()) : std::nullopt;
}

/// Keeps memory of the host that others own until the streams that copy it are done: the current ones of the devices of
/// `arrays`, and `others`.
void keep_host_memory(const std::vector<Array>& arrays, const std::vector<StreamView>& others = {}) {
  std::vector<StreamView> streams = others;
  std::vector<Array> of_host;
  for (const Array& each : arrays) {
    if (each.is_on_host()) {
      of_host.push_back(each);
    } else {
      streams.push_back(current_stream(each.device()));
    }
  }
  if (of_host.empty()) return;
  for (const StreamView& stream : streams) {
    if (!stream) continue;
    UsedMemory used(stream);
    for (const Array& each : of_host) used.add(each);
  }
}

std::vector<Array> broadcast(const Array& array, const Devices& devices, const Arrays& out) {
  const comm::Targets targets = targets_of(devices, out);
  std::vector<Array> made;
  {
    const nb::gil_scoped_release release;
    made = comm::broadcast(array, targets);
  }
  std::vector<Array> all = made;
  all.push_back(array);
  keep_host_memory(all);
  return made;
}

std::vector<Array> scatter(const Array& array, const Devices& devices, const Arrays& out,
                           const std::optional<std::vector<std::int64_t>>& chunk_sizes, std::int64_t dim,
                           const std::optional<std::vector<const StreamObject*>>& streams) {
  const comm::Targets targets = targets_of(devices, out);
  comm::ScatterOptions options;
  options.chunk_sizes = chunk_sizes.value_or(std::vector<std::int64_t>());
  options.dim = dim;
  if (streams) {
    for (const StreamObject* each : *streams) options.streams.push_back(each != nullptr ? each->view : StreamView());
  }
  std::vector<Array> made;
  {
    const nb::gil_scoped_release release;
    made = comm::scatter(array, targets, options);
  }
  std::vector<Array> all = made;
  all.push_back(array);
  keep_host_memory(all, options.streams);
  return made;
}

/// A device, or the word "host".
std::optional<ArrayPlace> place_of(const std::optional<DeviceArgument>& destination, bool is_host) {
  if (is_host) return ArrayPlace::host();
  if (!destination) return std::nullopt;
  return ArrayPlace(destination->get());
}

Array gather(const std::vector<Array>& arrays, std::int64_t dim, const nb::object& destination,
             const std::optional<Array>& out) {
  const bool is_host = PyUnicode_Check(destination.ptr()) && nb::cast<std::string>(destination) == "host";
  std::optional<DeviceArgument> device;
  if (!destination.is_none()) device = nb::cast<DeviceArgument>(destination);
  const comm::GatherTarget target{place_of(device, is_host), out};
  Array made;
  {
    const nb::gil_scoped_release release;
    made = comm::gather(arrays, dim, target);
  }
  std::vector<Array> all = arrays;
  all.push_back(made);
  keep_host_memory(all);
  return made;
}

void bind_coalesced(nb::module_& module) {
  module.def(
      "comm_broadcast_coalesced",
      [](const std::vector<Array>& arrays, const std::vector<DeviceArgument>& places, const Whole& buffer_size) {
        const std::vector<Device> devices = devices_of(places);
        const std::uint64_t bytes = unsigned_of(buffer_size, "buffer_size");
        std::vector<std::vector<Array>> made;
        {
          const nb::gil_scoped_release release;
          made = comm::broadcast_coalesced(arrays, devices, bytes);
        }
        std::vector<Array> all = arrays;
        for (const std::vector<Array>& each : made) all.insert(all.end(), each.begin(), each.end());
        keep_host_memory(all);
        return made;
      },
      "arrays"_a, "devices"_a, "buffer_size"_a = comm::default_buffer_size,
      "Broadcasts several arrays, small ones together. Returns a list like `arrays` for each device.");
  module.def(
      "comm_reduce_add_coalesced",
      [](const std::vector<std::vector<Array>>& inputs, const std::optional<DeviceArgument>& destination,
         const Whole& buffer_size) {
        const std::optional<Device> device = device_of(destination);
        const std::uint64_t bytes = unsigned_of(buffer_size, "buffer_size");
        const nb::gil_scoped_release release;
        return comm::reduce_add_coalesced(inputs, device, bytes);
      },
      "inputs"_a, "destination"_a = nb::none(), "buffer_size"_a = comm::default_buffer_size,
      "reduce_add for each place of the lists, of which each device has one.");
}

}  // namespace

void bind_comm(nb::module_& module) {
  module.def("comm_broadcast", &broadcast, "array"_a, "devices"_a = nb::none(), nb::kw_only(), "out"_a = nb::none(),
             "Copies the array to each of `devices`, whose first has it already, or into each array of `out`.");
  module.def(
      "comm_reduce_add",
      [](const std::vector<Array>& inputs, const std::optional<DeviceArgument>& destination) {
        const std::optional<Device> device = device_of(destination);
        const nb::gil_scoped_release release;
        return comm::reduce_add(inputs, device);
      },
      "inputs"_a, "destination"_a = nb::none(), "The sum of arrays of one shape and type, on `destination`.");
  module.def("comm_scatter", &scatter, "array"_a, "devices"_a = nb::none(), nb::kw_only(), "out"_a = nb::none(),
             "chunk_sizes"_a = nb::none(), "dim"_a = 0, "streams"_a = nb::none(),
             nb::sig("def comm_scatter(array: Array, devices: collections.abc.Sequence[Device | str] | None = None, *, "
                     "out: collections.abc.Sequence[Array] | None = None, "
                     "chunk_sizes: collections.abc.Sequence[int] | None = None, dim: int = 0, "
                     "streams: collections.abc.Sequence[Stream | None] | None = None) -> list[Array]"),
             "Cuts the array along `dim` and copies the pieces to the devices, or into `out`.");
  module.def("comm_gather", &gather, "arrays"_a, "dim"_a = 0, nb::kw_only(), "destination"_a = nb::none(),
             "out"_a = nb::none(),
             nb::sig("def comm_gather(arrays: collections.abc.Sequence[Array], dim: int = 0, *, "
                     "destination: Device | str | None = None, out: Array | None = None) -> Array"),
             "Puts arrays together along `dim`, on `destination`, which may be \"host\", or into `out`.");
  bind_coalesced(module);
}

}  // namespace anyplace::python
