// SPDX-License-Identifier: Apache-2.0
//
// torch_anyplace._C: what the Python package needs beside what torch asks by itself.
#include <anyplace/anyplace.h>
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <string>

#include "errors.h"
#include "generator.h"
#include "places.h"
#include "streams.h"

namespace py = pybind11;

namespace anyplace_torch {
namespace {

using c10::DeviceIndex;

const anyplace::Device& device(int index) { return place(static_cast<DeviceIndex>(index)).device; }

py::dict properties(int index) {
  const auto [place_text, all] = call([&] { return std::pair(device(index).to_string(), device(index).properties()); });
  py::dict result;
  result["place"] = place_text;
  result["name"] = all.name;
  result["vendor"] = all.vendor;
  result["architecture"] = all.architecture;
  result["driver_version"] = all.driver_version;
  result["uuid"] = all.uuid;
  result["pci"] = all.pci;
  result["total_memory"] = all.total_memory;
  result["multi_processor_count"] = all.compute_units;
  result["max_threads_per_block"] = all.max_threads_per_block;
  return result;
}

py::dict host_stats(int index) {
  const anyplace::HostMemoryStats stats = call([&] { return anyplace::host_memory_stats(device(index)); });
  py::dict result;
  result["allocated_bytes.current"] = stats.allocated_bytes;
  result["allocated_bytes.peak"] = stats.peak_allocated_bytes;
  result["reserved_bytes.current"] = stats.reserved_bytes;
  result["reserved_bytes.peak"] = stats.peak_reserved_bytes;
  result["cached_bytes"] = stats.cached_bytes;
  result["pending_bytes"] = stats.pending_bytes;
  result["allocations"] = stats.allocations;
  result["total_allocations"] = stats.total_allocations;
  result["num_host_alloc"] = stats.device_allocations;
  result["num_host_free"] = stats.device_frees;
  return result;
}

py::object default_generator_of(int index) {
  const at::Generator& generator = default_generator(static_cast<DeviceIndex>(index));
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
}

void add_devices(py::module_& m) {
  m.def("init", [] {
    torch::utils::register_fork_handler_for_device_init(c10::DeviceType::PrivateUse1);
    places();
  });
  m.def("is_in_bad_fork", [] { return torch::utils::is_device_in_bad_fork(c10::DeviceType::PrivateUse1); });
  m.def("place_count", [] { return static_cast<int>(place_count()); });
  m.def("why_none", &why_none);
  m.def("place", [](int index) { return device(index).to_string(); });
  m.def("current_index", [] { return static_cast<int>(current_index()); });
  m.def("set_index", [](int index) {
    place(static_cast<DeviceIndex>(index));
    exchange_index(static_cast<DeviceIndex>(index));
  });
  m.def("properties", &properties);
  m.def("priority_range", [](int index) {
    const auto range = call([&] { return device(index).priority_range(); });
    return std::pair(range.least, range.greatest);
  });
  m.def("default_generator", &default_generator_of);
  m.def("synchronize", [](int index) {
    const py::gil_scoped_release released;
    call([&] { device(index).synchronize(); });
  });
}

void add_memory(py::module_& m) {
  m.def("memory_stats", [](int index) {
    const std::map<std::string, std::int64_t> stats = call([&] { return anyplace::memory_stats(device(index)); });
    return stats;
  });
  m.def("memory_summary", [](int index, bool abbreviated) {
    return call([&] { return anyplace::memory_summary(device(index), abbreviated); });
  });
  m.def("host_memory_stats", &host_stats);
  m.def("memory_info", [](int index) {
    const auto info = call([&] { return anyplace::mem_get_info(device(index)); });
    return std::pair(info.free, info.total);
  });
  m.def("empty_cache", [](int index) { call([&] { anyplace::empty_cache(device(index)); }); });
  m.def("reset_peak_memory_stats", [](int index) { call([&] { anyplace::reset_peak_memory_stats(device(index)); }); });
  m.def("reset_accumulated_memory_stats",
        [](int index) { call([&] { anyplace::reset_accumulated_memory_stats(device(index)); }); });
  m.def("set_memory_fraction", [](int index, double fraction) {
    call([&] { anyplace::set_per_process_memory_fraction(device(index), fraction); });
  });
  m.def("record_memory_history", [](int index, bool enabled, std::uint64_t entries) {
    call([&] { anyplace::record_memory_history(device(index), {.enabled = enabled, .max_entries = entries}); });
  });
  m.def("write_memory_snapshot", [](int index, const std::string& path) {
    call([&] { anyplace::write_memory_snapshot(device(index), path); });
  });
}

/// A c10::Error as the Python exception that torch makes of it; pybind11 would make every one a RuntimeError with a
/// backtrace.
void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError& out) {
    const py::object type = py::module_::import("torch").attr("OutOfMemoryError");
    PyErr_SetString(type.ptr(), out.what_without_backtrace());
  } catch (const c10::NotImplementedError& out) {
    PyErr_SetString(PyExc_NotImplementedError, out.what_without_backtrace());
  } catch (const c10::Error& other) {
    PyErr_SetString(PyExc_RuntimeError, other.what_without_backtrace());
  }
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "anyplace's devices for torch; torch_anyplace wraps it";
  py::register_local_exception_translator(&translate);
  add_devices(m);
  add_memory(m);
}

}  // namespace anyplace_torch
