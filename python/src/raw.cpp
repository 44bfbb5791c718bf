// SPDX-License-Identifier: Apache-2.0
//
// What code needs that works with numbers instead of objects: addresses, the vendor's own events and memory, captures
// that two calls begin and end, and allocators that are C functions. The modules of anyplace.compat are made with it.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

// -- Captures that two calls begin and end.

void begin_capture(const StreamObject& stream, const std::string& mode, const GraphPool* pool) {
  const CaptureMode how = capture_mode_of(mode);
  if (pool != nullptr) {
    stream.view.begin_capture(how, *pool);
  } else {
    stream.view.begin_capture(how);
  }
  begin_keeping(stream.view);
}

GraphObject end_capture(const StreamObject& stream) {
  GraphObject graph;
  graph.memory = end_keeping(stream.view);
  const nb::gil_scoped_release release;
  graph.graph = stream.view.end_capture();
  return graph;
}

const char* capture_status(const StreamObject& stream) {
  switch (stream.view.capture_status()) {
    case CaptureStatus::none:
      return "none";
    case CaptureStatus::active:
      return "active";
    case CaptureStatus::invalidated:
      return "invalidated";
  }
  return "none";
}

void bind_captures(nb::module_& module, nb::class_<StreamObject>& stream) {
  nb::class_<GraphPool>(module, "GraphPool",
                        "Memory that graphs share, which are launched in the order in which they were captured.")
      .def(
          "__init__", [](GraphPool* self, const DeviceArgument& device) { new (self) GraphPool(device.get()); },
          "device"_a)
      .def_prop_ro("reserved_bytes", &GraphPool::reserved_bytes);
  stream
      .def("begin_capture", &begin_capture, "mode"_a = "global", "pool"_a = nb::none(),
           "Begins what Stream.capture does in a `with` statement. Buffers of the capture come from `pool`.")
      .def("end_capture", &end_capture, nb::sig("def end_capture(self) -> Graph"),
           "Ends the capture that begin_capture began, and returns its graph.")
      .def_prop_ro("capture_status", &capture_status, "\"none\", \"active\" or \"invalidated\".")
      .def(
          "record_external_event",
          [](const StreamObject& self, const EventObject& event) { self.view.record_external_event(event.event); },
          "event"_a, "In a capture: adds a node that records the event at each launch. Else it records it now.")
      .def(
          "wait_external_event",
          [](const StreamObject& self, const EventObject& event) { self.view.wait_external_event(event.event); },
          "event"_a, "In a capture: adds a node that waits for the event at each launch. Else it waits now.");
}

// -- Copies and fills by address.

void copy_address(const StreamObject& stream, const Whole& destination, const Whole& source, const Whole& nbytes) {
  const Address to(unsigned_of(destination, "destination"));
  const Address from(unsigned_of(source, "source"));
  const std::uint64_t bytes = unsigned_of(nbytes, "nbytes");
  const nb::gil_scoped_release release;  // memory that isn't pinned may make the call wait
  stream.view.copy(to, from, bytes);
}

void fill_address(const StreamObject& stream, const Whole& destination, const nb::bytes& pattern, const Whole& nbytes) {
  const Address to(unsigned_of(destination, "destination"));
  const std::uint64_t bytes = unsigned_of(nbytes, "nbytes");
  const Submission submission;
  stream.view.fill(to, pattern.c_str(), pattern.size(), bytes);
}

nb::dict known_of(const Whole& address) {
  const PointerAttributes known = pointer_attributes(Address(unsigned_of(address, "address")));
  nb::dict facts;
  facts["kind"] = to_string(known.kind);
  facts["device"] = known.device ? nb::cast(*known.device) : nb::object(nb::none());
  facts["allocation"] = known.allocation;
  facts["size_bytes"] = known.size_bytes;
  facts["offset"] = known.offset;
  return facts;
}

struct HostRegistrationObject {
  HostRegistration registration;
};

void bind_addresses(nb::module_& module, nb::class_<StreamObject>& stream) {
  stream
      .def("copy_address", &copy_address, "destination"_a, "source"_a, "nbytes"_a,
           "Copies between addresses, in the stream's order. Memory that anyplace doesn't know is the host's, and has "
           "to stay until the copy is done.")
      .def("fill_address", &fill_address, "destination"_a, "pattern"_a, "nbytes"_a,
           "Fills memory at an address with the bytes of `pattern` again and again.");
  module.def("pointer_attributes", &known_of, "address"_a,
             nb::sig("def pointer_attributes(address: typing.SupportsIndex) -> dict[str, typing.Any]"),
             "What is known of an address: `kind` (\"unknown\", \"device\", \"managed\", \"pinned\", \"registered\"), "
             "`device`, `allocation`, `size_bytes`, `offset`.");
  nb::class_<HostRegistrationObject>(module, "HostRegistration",
                                     "Pins memory of the host that somebody else owns, until it is closed.")
      .def(
          "__init__",
          [](HostRegistrationObject* self, const DeviceArgument& device, const Whole& address, const Whole& nbytes) {
            const HostSpan memory(reinterpret_cast<void*>(unsigned_of(address, "address")),
                                  unsigned_of(nbytes, "nbytes"));
            new (self) HostRegistrationObject{HostRegistration(device.get(), memory)};
          },
          "device"_a, "address"_a, "nbytes"_a)
      .def("close", [](HostRegistrationObject& self) { self.registration = HostRegistration(); });
}

// -- The vendor's own memory and events.

void bind_foreign(nb::class_<BufferObject>& buffer, nb::class_<EventObject>& event) {
  buffer.def_static(
      "from_external",
      [](const DeviceArgument& device, const Whole& address, const Whole& nbytes) {
        auto owner = std::make_shared<Buffer>(
            Buffer::from_native(device.get(), unsigned_of(address, "address"), unsigned_of(nbytes, "nbytes")));
        return BufferObject{owner->view(), owner};
      },
      "device"_a, "address"_a, "nbytes"_a, "Wraps memory that somebody else owns, and frees after this buffer.");
  event.def_prop_ro("id", [](const EventObject& self) { return self.event.id(); })
      .def_static(
          "from_external",
          [](const Whole& handle, const DeviceArgument& device, bool timing) {
            EventOptions options;
            options.timing = timing;
            return EventObject{Event::from_native(device.get(), unsigned_of(handle, "handle"), options)};
          },
          "handle"_a, "device"_a, nb::kw_only(), "timing"_a = false,
          "Wraps the vendor's event, which stays its owner's. `timing` says how that one was made.");
}

// -- Allocators that are C functions.

using AllocateFunction = void* (*)(ssize_t bytes, int device, void* stream);
using FreeFunction = void (*)(void* memory, ssize_t bytes, int device, void* stream);

/// The stream as such functions get it; null for one that has no handle, or that was destroyed.
void* handle_of(const StreamView& stream, const Device& device) noexcept {
  try {
    if (stream == device.default_stream() || !device.has(Capability::native_handles)) return nullptr;
    return reinterpret_cast<void*>(stream.native_handle());
  } catch (const Error&) {
    return nullptr;
  }
}

class FunctionAllocator final : public Allocator {
 public:
  FunctionAllocator(const Device& device, AllocateFunction allocate, FreeFunction free)
      : device_(device), allocate_(allocate), free_(free) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    if (bytes == 0) return 0;
    void* const memory = allocate_(static_cast<ssize_t>(bytes), device_.index(), handle_of(stream, device_));
    if (memory != nullptr) return reinterpret_cast<std::uintptr_t>(memory);
    ErrorDetails details;
    details.code = ErrorCode::out_of_memory;
    details.place = device_.to_string();
    details.operation = "Allocator::allocate";
    details.text = "the application's function returned no memory for " + std::to_string(bytes) + " bytes";
    details.memory = MemoryFigures{bytes, {}, 0, 0, {}};
    throw Error(details);
  }

  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    if (address == 0) return;
    free_(reinterpret_cast<void*>(address), static_cast<ssize_t>(bytes), device_.index(), handle_of(stream, device_));
  }

 private:
  Device device_;
  AllocateFunction allocate_;
  FreeFunction free_;
};

struct AllocatorObject {
  std::shared_ptr<Allocator> allocator;
};

void bind_allocators(nb::module_& module) {
  nb::class_<AllocatorObject>(module, "Allocator", "Where a device's buffers get their memory from.")
      .def_static(
          "from_functions",
          [](const DeviceArgument& device, const Whole& allocate, const Whole& free) {
            return AllocatorObject{std::make_shared<FunctionAllocator>(
                device.get(), reinterpret_cast<AllocateFunction>(unsigned_of(allocate, "allocate")),
                reinterpret_cast<FreeFunction>(unsigned_of(free, "free")))};
          },
          "device"_a, "allocate"_a, "free"_a,
          "By the addresses of two C functions: void* allocate(ssize_t bytes, int device, void* stream), and void "
          "free(void* memory, ssize_t bytes, int device, void* stream).")
      .def_static(
          "raw", [](const DeviceArgument& device) { return AllocatorObject{raw_allocator(device.get())}; }, "device"_a,
          "Each allocation is one of the device's own.")
      .def_static(
          "caching", [](const DeviceArgument& device) { return AllocatorObject{caching_allocator(device.get())}; },
          "device"_a, "The library's own.");
  module.def(
      "set_allocator",
      [](const DeviceArgument& device, const AllocatorObject* allocator) {
        return AllocatorObject{set_allocator(device.get(), allocator != nullptr ? allocator->allocator : nullptr)};
      },
      "device"_a, "allocator"_a.none(),
      "Sets where buffers of the device get their memory from now on; None is the default. Returns what it was.");
}

void bind_processes(nb::class_<Device>& device) {
  device.def(
      "processes",
      [](const Device& self) {
        std::vector<DeviceProcess> found;
        {
          const nb::gil_scoped_release release;
          found = self.processes();
        }
        nb::list processes;
        for (const DeviceProcess& each : found) {
          nb::dict facts;
          facts["id"] = each.id;
          facts["memory_bytes"] = nb::cast(each.memory_bytes);
          facts["name"] = each.name;
          processes.append(facts);
        }
        return processes;
      },
      nb::sig("def processes(self) -> list[dict[str, typing.Any]]"),
      "The processes that use the device: `id`, `memory_bytes`, `name`, each None or \"\" where nobody can tell.");
}

}  // namespace

CaptureMode capture_mode_of(const std::string& name) {
  if (name == "global") return CaptureMode::global;
  if (name == "thread_local") return CaptureMode::thread_local_;
  if (name == "relaxed") return CaptureMode::relaxed;
  throw nb::value_error("mode: it is 'global', 'thread_local' or 'relaxed'");
}

void bind_raw(nb::module_& module) {
  auto stream = nb::borrow<nb::class_<StreamObject>>(nb::type<StreamObject>());
  auto buffer = nb::borrow<nb::class_<BufferObject>>(nb::type<BufferObject>());
  auto event = nb::borrow<nb::class_<EventObject>>(nb::type<EventObject>());
  auto device = nb::borrow<nb::class_<Device>>(nb::type<Device>());
  bind_captures(module, stream);
  bind_addresses(module, stream);
  bind_foreign(buffer, event);
  bind_allocators(module);
  bind_processes(device);
}

}  // namespace anyplace::python
