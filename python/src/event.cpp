// SPDX-License-Identifier: Apache-2.0
//
// Event: a mark in a stream's work.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <functional>
#include <optional>

#include "arguments.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

void record(const EventObject& event, const StreamObject* stream) {
  const StreamView where = stream != nullptr ? stream->view : current_stream(event.event.device());
  const Submission submission;
  event.event.record(where);
}

bool synchronize(const EventObject& event, std::optional<double> timeout) {
  return wait_interruptibly(timeout_of(timeout),
                            [&](std::chrono::nanoseconds time) { return event.event.synchronize(time); });
}

}  // namespace

void bind_events(nb::module_& module) {
  nb::class_<EventObject>(module, "Event",
                          "A mark in a stream's work, to wait for, to ask about and to measure between. One that was "
                          "never recorded is complete.")
      .def(
          "__init__",
          [](EventObject* self, const DeviceArgument& device, bool timing, bool blocking_sync, bool interprocess) {
            new (self) EventObject{Event(device.get(), {timing, blocking_sync, interprocess})};
          },
          "device"_a, nb::kw_only(), "timing"_a = false, "blocking_sync"_a = false, "interprocess"_a = false,
          "`timing`: elapsed_time() can measure with it. `blocking_sync`: a waiting host sleeps instead of spinning.")
      .def("record", &record, "stream"_a = nb::none(),
           "Marks the work given to `stream`, or to the current stream, so far.")
      .def(
          "query", [](const EventObject& event) { return event.event.query(); },
          "Whether the most recent record is complete.")
      .def("synchronize", &synchronize, "timeout"_a = nb::none(),
           "Waits for the most recent record, at most `timeout` seconds; returns whether it is complete.")
      .def(
          "elapsed_time",
          [](const EventObject& start, const EventObject& end) { return elapsed_time(start.event, end.event); },
          "end"_a, "Milliseconds from this event's record to the other's.")
      .def(
          "__sub__",
          [](const EventObject& end, const EventObject& start) { return elapsed_time(start.event, end.event); },
          "start"_a, "end - start: milliseconds.")
      .def_prop_ro("timestamp_ns", [](const EventObject& event) { return event.event.timestamp_ns(); })
      .def_prop_ro("device", [](const EventObject& event) { return event.event.device(); })
      .def("native_handle", [](const EventObject& event) { return event.event.native_handle(); })
      .def(
          "close", [](EventObject& event) { event.event = Event(); }, "Destroys the event; waits for it go on.")
      .def("__eq__",
           [](const EventObject& event, const nb::object& other) {
             return nb::isinstance<EventObject>(other) &&
                    EventView(event.event) == EventView(nb::cast<const EventObject&>(other).event);
           })
      .def("__hash__", [](const EventObject& event) { return std::hash<EventView>()(event.event); })
      .def("__repr__", [](const EventObject& event) -> nb::str {
        if (!event.event) return nb::str("<Event, closed>");
        return nb::str("<Event of {}>").format(event.event.device().to_string());
      });
}

}  // namespace anyplace::python
