// SPDX-License-Identifier: Apache-2.0
//
// The caching allocator's figures (anyplace.memory) and MemoryPool.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// The pools whose `with` statements this thread is in, the innermost last.
thread_local std::vector<std::unique_ptr<MemoryPoolGuard>> guards;

/// A function of one device that takes no lock for long.
template <class Result>
void def(nb::module_& module, const char* name, Result (*function)(const Device&), const char* text) {
  module.def(
      name, [function](const DeviceArgument& device) { return function(device.get()); }, "device"_a, text);
}

void bind_figures(nb::module_& module) {
  module.def(
      "memory_stats",
      [](const DeviceArgument& device) { return std::map<std::string, std::int64_t>(memory_stats(device.get())); },
      "device"_a, "The allocator's figures, with the keys of torch.cuda.memory_stats().");
  def(module, "memory_allocated", memory_allocated, "The bytes of existing buffers.");
  def(module, "max_memory_allocated", max_memory_allocated, "Their most since the start or the last reset.");
  def(module, "memory_reserved", memory_reserved, "The bytes got from the device for buffers, and for those to come.");
  def(module, "max_memory_reserved", max_memory_reserved, "Their most since the start or the last reset.");
  def(module, "reset_peak_memory_stats", reset_peak_memory_stats, "Sets every peak to the current figure.");
  def(module, "reset_accumulated_memory_stats", reset_accumulated_memory_stats, "Sets every sum to 0.");
  module.def(
      "memory_summary",
      [](const DeviceArgument& device, bool abbreviated) { return memory_summary(device.get(), abbreviated); },
      "device"_a, nb::kw_only(), "abbreviated"_a = false, "The figures as a table for people.");
  module.def(
      "empty_cache",
      [](const DeviceArgument& device) {
        const Device where = device.get();
        const nb::gil_scoped_release release;
        empty_cache(where);
      },
      "device"_a, "Gives cached memory that no work uses any more back to the device.");
  module.def(
      "set_per_process_memory_fraction",
      [](const DeviceArgument& device, double fraction) { set_per_process_memory_fraction(device.get(), fraction); },
      "device"_a, "fraction"_a, "Limits what is reserved to a part of the device's memory, from 0 to 1.");
  module.def(
      "memory_snapshot",
      [](const DeviceArgument& device, const std::string& format) {
        if (format != "json" && format != "pickle") throw nb::value_error("format: it is 'json' or 'pickle'");
        const std::string text =
            memory_snapshot(device.get(), format == "json" ? SnapshotFormat::json : SnapshotFormat::pickle);
        return nb::bytes(text.data(), text.size());
      },
      "device"_a, nb::kw_only(), "format"_a = "pickle", "All segments; the pickle opens in pytorch.org/memory_viz.");
}

}  // namespace

void bind_allocator(nb::module_& module) {
  bind_figures(module);
  nb::class_<MemoryPool>(module, "MemoryPool",
                         "Memory apart from the common pool. In `with pool:` the thread's buffers come from it.")
      .def(
          "__init__",
          [](MemoryPool* self, const DeviceArgument& device, const std::optional<Whole>& limit_bytes) {
            MemoryPoolOptions options;
            if (limit_bytes) options.limit_bytes = unsigned_of(*limit_bytes, "limit_bytes");
            new (self) MemoryPool(device.get(), options);
          },
          "device"_a, nb::kw_only(), "limit_bytes"_a = nb::none())
      .def_prop_ro("id", &MemoryPool::id, "The number by which a snapshot names it.")
      .def_prop_ro("reserved_bytes", &MemoryPool::reserved_bytes)
      .def_prop_ro("allocated_bytes", &MemoryPool::allocated_bytes)
      .def(
          "release_free",
          [](MemoryPool& pool) {
            const nb::gil_scoped_release release;
            pool.release_free();
          },
          "Gives the pool's free memory back to the device.")
      .def(
          "__enter__",
          [](const nb::handle& self) {
            guards.push_back(std::make_unique<MemoryPoolGuard>(nb::cast<const MemoryPool&>(self)));
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> MemoryPool"))
      .def(
          "__exit__",
          [](const MemoryPool&, const nb::args&) {
            if (guards.empty()) throw std::runtime_error("the pool wasn't entered on this thread");
            guards.pop_back();
          },
          nb::sig("def __exit__(self, *exception: object) -> None"))
      .def(
          "close", [](MemoryPool& pool) { pool = MemoryPool(); }, "Gives the pool up; its buffers stay.");
}

}  // namespace anyplace::python
