// SPDX-License-Identifier: Apache-2.0
//
// Stream: a queue of work, and the calling thread's current one.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "host_calls.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// The owners of this thread's current streams: a stream stays as long as it is current.
thread_local std::vector<StreamObject> current_owners;

/// What `with stream:` restores, the innermost last. A `with` statement begins and ends on one thread.
struct Before {
  Device device;
  StreamObject stream;
};
thread_local std::vector<Before> before;

void make_current(const StreamObject& stream) {
  const Device device = stream.view.device();
  const StreamView former = current_stream(device);
  set_current_stream(stream.view);
  std::erase_if(current_owners, [&](const StreamObject& each) { return each.view == former; });
  if (stream.owner) current_owners.push_back(stream);
}

nb::object enter(const nb::handle& self) {
  const auto& stream = nb::cast<const StreamObject&>(self);
  const Device device = stream.view.device();
  before.push_back({current_device(device.backend()), current_of(device)});
  set_current_device(device);
  make_current(stream);
  return nb::borrow(self);
}

void leave(const StreamObject&, const nb::args&) {
  if (before.empty()) throw std::runtime_error("the stream wasn't entered on this thread");
  const Before restored = std::move(before.back());
  before.pop_back();
  make_current(restored.stream);
  set_current_device(restored.device);
}

StreamObject from_external(const nb::object& object, const DeviceArgument& device) {
  std::uint64_t handle = 0;
  if (PyIndex_Check(object.ptr())) {
    handle = unsigned_of(Whole{object}, "stream");
  } else {
    const nb::object protocol = nb::getattr(object, "__cuda_stream__", nb::none());
    if (protocol.is_none()) throw nb::type_error("stream: it is neither a handle nor has it __cuda_stream__");
    const nb::object pair = protocol();
    if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
      throw nb::type_error("stream: __cuda_stream__() doesn't return a version and a handle");
    }
    if (unsigned_of(Whole{pair[0]}, "stream") != 0) {
      throw nb::type_error("stream: __cuda_stream__ has another version than 0, which is the one known here");
    }
    handle = unsigned_of(Whole{pair[1]}, "stream");
  }
  Stream stream = Stream::from_native(device.get(), handle);
  const StreamView view = stream;
  // The object stays as long as the stream, on whatever thread that ends.
  PyObject* const kept = nb::object(object).release().ptr();
  return {view, std::shared_ptr<const void>(new Stream(std::move(stream)), [kept](const Stream* owned) {
            delete owned;
            drop_reference(kept);
          })};
}

/// The vendor's stream for other libraries. Backends without CUDA's or HIP's streams don't have the attribute.
nb::object cuda_stream(const StreamObject& stream) {
  const std::string& backend = stream.view.device().backend();
  if (backend != "cuda" && backend != "hip") {
    throw nb::attribute_error(("streams of " + backend + " have no __cuda_stream__").c_str());
  }
  const std::uint64_t handle = stream.view == stream.view.device().default_stream() ? 0 : stream.view.native_handle();
  return nb::cpp_function([handle] { return nb::make_tuple(0, handle); });
}

bool synchronize(const StreamObject& stream, std::optional<double> timeout) {
  const bool done = wait_interruptibly(timeout_of(timeout),
                                       [&](std::chrono::nanoseconds time) { return stream.view.synchronize(time); });
  release_finished();
  return done;
}

/// Objects of Python's are touched outside of a Submission, which may have given the GIL up.
void record(const StreamObject& stream, const EventObject& event) {
  const Submission submission;
  stream.view.record_event(event.event);
}

Event new_record(const StreamObject& stream, const EventOptions& options) {
  const Submission submission;
  return stream.view.record_event(options);
}

nb::object record_event(const StreamObject& stream, const nb::object& event, bool timing) {
  if (!event.is_none()) {
    record(stream, nb::cast<const EventObject&>(event));
    return event;
  }
  EventOptions options;
  options.timing = timing;
  return nb::cast(EventObject{new_record(stream, options)});
}

void fill(const StreamObject& stream, const BufferObject& buffer, const nb::object& value) {
  if (PyIndex_Check(value.ptr())) {
    const std::uint32_t byte = unsigned32_of(Whole{value}, "value");
    if (byte > 0xff) throw nb::value_error("value: a byte is at most 255; pass bytes, or a NumPy scalar, of more");
    const Submission submission;
    stream.view.memset8(buffer.view, static_cast<std::uint8_t>(byte));
    return;
  }
  const LentMemory pattern(value, false, "value");
  const Submission submission;
  stream.view.fill(Address(buffer.view.address()), pattern.span().data(), pattern.span().size_bytes(),
                   buffer.view.size_bytes());
}

void bind_work(nb::class_<StreamObject>& type) {
  type.def(
          "query", [](const StreamObject& stream) { return stream.view.query(); },
          "Whether all submitted work is done. Raises the stream's fault, without clearing it.")
      .def("synchronize", &synchronize, "timeout"_a = nb::none(),
           "Waits for the work submitted before, at most `timeout` seconds; returns whether it is done. Raises the "
           "stream's first fault, and clears it. Ctrl-C ends the wait, and the work goes on.")
      .def("record_event", &record_event, "event"_a = nb::none(), nb::kw_only(), "timing"_a = false,
           nb::sig("def record_event(self, event: Event | None = None, *, timing: bool = False) -> Event"),
           "Records `event`, or a new one, and returns it.")
      .def(
          "wait_event",
          [](const StreamObject& stream, const EventObject& event) {
            const Submission submission;
            stream.view.wait_event(event.event);
          },
          "event"_a, "Holds back what is submitted later until the event's record is complete. Doesn't block.")
      .def(
          "wait_stream",
          [](const StreamObject& stream, const StreamObject& other) {
            const Submission submission;
            stream.view.wait_stream(other.view);
          },
          "other"_a, "Holds back what is submitted later until the other's work so far is done. Doesn't block.")
      .def(
          "launch_host_func",
          [](const StreamObject& stream, const nb::callable& function, const nb::args& args) {
            std::function<void()> call = host_function(function, args);
            const Submission submission;
            stream.view.launch_host_func(std::move(call));
          },
          "function"_a, "args"_a,
          nb::sig("def launch_host_func(self, function: collections.abc.Callable[..., object], *args: object) -> None"),
          "Calls function(*args) in the stream's order, on a thread of the runtime's. It may not use anyplace. What it "
          "raises becomes the stream's fault: a StreamFault, whose __cause__ it is.")
      .def("copy", &copy_between, "destination"_a, "source"_a,
           nb::sig("def copy(self, destination: Buffer | Array | typing_extensions.Buffer, "
                   "source: Buffer | Array | typing_extensions.Buffer) -> None"),
           "Copies in the stream's order. Each side is a Buffer, an Array, a HostBuffer, or an object that lends "
           "memory, such as bytes or a NumPy array, which is kept until the copy is done.")
      .def("fill", &fill, "buffer"_a, "value"_a,
           nb::sig("def fill(self, buffer: Buffer, value: typing.SupportsIndex | typing_extensions.Buffer) -> None"),
           "Fills with a byte, or with the bytes of `value` again and again: a power of two of them, 128 at most.")
      .def(
          "mark",
          [](const StreamObject& stream, const std::string& name) {
            const Submission submission;
            stream.view.mark(name);
          },
          "name"_a, "Names this point of the stream's work for profilers.");
}

}  // namespace

StreamObject current_of(const Device& device) {
  const StreamView view = current_stream(device);
  for (const StreamObject& each : current_owners) {
    if (each.view == view) return each;
  }
  return {view, nullptr};
}

void bind_streams(nb::module_& module) {
  auto type =
      nb::class_<StreamObject>(module, "Stream",
                               "A queue of work on one device. `with stream:` makes it and its device current, on the "
                               "calling thread, and restores both.")
          .def(
              "__init__",
              [](StreamObject* self, const DeviceArgument& device, int priority, bool blocking) {
                auto owner = std::make_shared<Counted<Stream>>(Stream(device.get(), StreamOptions{priority, blocking}));
                new (self) StreamObject{owner->view(), owner};
              },
              "device"_a, nb::kw_only(), "priority"_a = 0, "blocking"_a = false,
              "A lower `priority` runs first. `blocking`: it synchronises with the null stream, as CUDA's do.")
          .def_static("from_external", &from_external, "stream"_a, "device"_a,
                      nb::sig("def from_external(stream: object, device: Device | str) -> Stream"),
                      "Wraps another library's stream: an object with __cuda_stream__, which is kept, or a handle.")
          .def_prop_ro("device", [](const StreamObject& stream) { return stream.view.device(); })
          .def_prop_ro("priority", [](const StreamObject& stream) { return stream.view.priority(); })
          .def_prop_ro(
              "id", [](const StreamObject& stream) { return stream.view.id(); }, "A number that is never used again.")
          .def("native_handle", [](const StreamObject& stream) { return stream.view.native_handle(); })
          .def_prop_ro("__cuda_stream__", &cuda_stream,
                       nb::sig("def __cuda_stream__(self) -> collections.abc.Callable[[], tuple[int, int]]"))
          .def_prop_ro("is_capturing", [](const StreamObject& stream) { return stream.view.is_capturing(); })
          .def(
              "close", [](StreamObject& stream) { stream = {}; },
              "Gives the stream up; its work goes on. Using this object afterwards raises ClosedError.")
          .def("__enter__", &enter, nb::sig("def __enter__(self) -> Stream"))
          .def("__exit__", &leave, nb::sig("def __exit__(self, *exception: object) -> None"))
          .def("__eq__",
               [](const StreamObject& stream, const nb::object& other) {
                 return nb::isinstance<StreamObject>(other) && stream.view == nb::cast<const StreamObject&>(other).view;
               })
          .def("__hash__", [](const StreamObject& stream) { return std::hash<StreamView>()(stream.view); })
          .def("__repr__", [](const StreamObject& stream) -> nb::str {
            if (!stream.view) return nb::str("<Stream, closed>");
            return nb::str("<Stream {:#x} of {}>").format(stream.view.id(), stream.view.device().to_string());
          });
  bind_work(type);
  module.def(
      "current_stream", [](const DeviceArgument& device) { return current_of(device.get()); }, "device"_a,
      "The calling thread's current stream on the device; its null stream until one is set.");
  module.def("set_current_stream", &make_current, "stream"_a);
}

}  // namespace anyplace::python
