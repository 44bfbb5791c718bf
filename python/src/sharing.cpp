// SPDX-License-Identifier: Apache-2.0
//
// Sharing with other processes: the handles of buffers, events and arrays (anyplace.ipc), and pickles made of them.
// What can't be pickled says why.
#include <anyplace/anyplace.h>
#include <anyplace/ipc.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "extensions.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

nb::bytes bytes_of(const std::vector<std::byte>& handle) { return nb::bytes(handle.data(), handle.size()); }

std::span<const std::byte> span_of(const LentMemory& handle) {
  return {static_cast<const std::byte*>(handle.span().data()), handle.span().size_bytes()};
}

nb::bytes export_buffer(const BufferObject& buffer) { return bytes_of(buffer.view.export_handle()); }
nb::bytes export_event(const EventObject& event) { return bytes_of(event.event.export_handle()); }

BufferObject import_buffer(const StreamObject& stream, const nb::object& handle) {
  const LentMemory lent(handle, false, "handle");
  const nb::gil_scoped_release release;  // the other process may have to answer
  auto owner = std::make_shared<Buffer>(Buffer::import(stream.view, span_of(lent)));
  return {owner->view(), owner};
}

EventObject import_event(const DeviceArgument& device, const nb::object& handle) {
  const LentMemory lent(handle, false, "handle");
  const Device where = device.get();
  const nb::gil_scoped_release release;
  return {Event::import(where, span_of(lent))};
}

/// What a call throws, as the TypeError that a pickler's user expects; the error itself is its text.
template <class Export>
nb::bytes for_pickle(const char* type, Export call) {
  try {
    return call();
  } catch (const Error& error) {
    throw nb::type_error((std::string("cannot pickle this ") + type + ": " + error.what()).c_str());
  }
}

nb::object function_of(const char* name) { return nb::module_::import_("anyplace.ipc").attr(name); }

nb::tuple reduce_buffer(const BufferObject& buffer) {
  const nb::bytes handle = for_pickle("Buffer", [&] { return export_buffer(buffer); });
  return nb::make_tuple(function_of("_open_buffer"), nb::make_tuple(buffer.view.device().to_string(), handle));
}

nb::tuple reduce_event(const EventObject& event) {
  const nb::bytes handle = for_pickle("Event", [&] { return export_event(event); });
  return nb::make_tuple(function_of("_open_event"), nb::make_tuple(event.event.device().to_string(), handle));
}

/// The array's first element, counted from the beginning of its buffer.
std::int64_t offset_of(const Array& array) {
  if (array.size() == 0) return 0;
  const std::uint64_t bytes = array.address().value() - array.buffer().address();
  return static_cast<std::int64_t>(bytes / size_of(array.dtype()));
}

nb::tuple reduce_array(const Array& array) {
  if (array.is_on_host()) throw nb::type_error("cannot pickle this Array: it is memory of the host; pickle a copy");
  if (!array.buffer()) throw nb::type_error("cannot pickle this Array: its memory is another library's; pickle a copy");
  const nb::bytes handle = for_pickle("Array", [&] { return bytes_of(array.buffer().export_handle()); });
  const std::vector<std::int64_t> shape(array.shape().begin(), array.shape().end());
  const std::vector<std::int64_t> strides(array.strides().begin(), array.strides().end());
  return nb::make_tuple(function_of("_open_array"),
                        nb::make_tuple(array.device().to_string(), handle, numpy_name(array.dtype()), nb::cast(shape),
                                       nb::cast(strides), offset_of(array)));
}

Array import_array(const StreamObject& stream, const nb::object& handle, const std::string& dtype,
                   const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                   std::int64_t offset) {
  const LentMemory lent(handle, false, "handle");
  const DType type = dtype_of_text(dtype);
  const nb::gil_scoped_release release;
  Buffer buffer = Buffer::import(stream.view, span_of(lent));
  const auto bytes = static_cast<std::int64_t>(buffer.size_bytes());
  const Array all = Array::own(std::move(buffer), stream.view, DType::u8, {bytes});
  return all.with(ArrayView(all.buffer(), type, Extents(shape), Extents(strides), offset));
}

/// Objects that belong to their process.
template <class Object>
void refuse_pickle(const char* text) {
  nb::borrow<nb::class_<Object>>(nb::type<Object>())
      .def(
          "__reduce__", [text](const Object&) -> nb::tuple { throw nb::type_error(text); },
          nb::sig("def __reduce__(self) -> typing.NoReturn"));
}

}  // namespace

void bind_sharing(nb::module_& module) {
  module.def("export_buffer", &export_buffer, "buffer"_a,
             "The bytes by which another process of this machine opens the buffer's memory.");
  module.def("export_event", &export_event, "event"_a, "The same for an Event that was made with interprocess=True.");
  module.def("import_buffer", &import_buffer, "stream"_a, "handle"_a,
             nb::sig("def import_buffer(stream: Stream, handle: typing_extensions.Buffer) -> Buffer"),
             "Opens another process's memory; it is freed in the order of `stream`.");
  module.def("import_event", &import_event, "device"_a, "handle"_a,
             nb::sig("def import_event(device: Device | str, handle: typing_extensions.Buffer) -> Event"));
  module.def("import_array", &import_array, nb::keep_alive<0, 1>(), "stream"_a, "handle"_a, "dtype"_a, "shape"_a,
             "strides"_a, "offset"_a,
             nb::sig("def import_array(stream: Stream, handle: typing_extensions.Buffer, dtype: str, "
                     "shape: collections.abc.Sequence[int], strides: collections.abc.Sequence[int], "
                     "offset: int) -> Array"));
  module.def(
      "ipc_collect",
      [](const DeviceArgument& device) {
        const Device where = device.get();
        const nb::gil_scoped_release release;
        return ipc_collect(where);
      },
      "device"_a, "Frees what no process has open any more; returns the bytes that are kept for others.");

  const auto reduce = nb::sig("def __reduce__(self) -> tuple[object, ...]");
  nb::borrow<nb::class_<BufferObject>>(nb::type<BufferObject>()).def("__reduce__", &reduce_buffer, reduce);
  nb::borrow<nb::class_<EventObject>>(nb::type<EventObject>()).def("__reduce__", &reduce_event, reduce);
  nb::borrow<nb::class_<Array>>(nb::type<Array>()).def("__reduce__", &reduce_array, reduce);
  refuse_pickle<StreamObject>("cannot pickle a Stream: it belongs to its process; make one there, for the same device");
  refuse_pickle<HostBufferObject>(
      "cannot pickle a HostBuffer: pinned memory isn't shared; use multiprocessing.shared_memory, or send its bytes");
  refuse_pickle<ModuleObject>("cannot pickle a Module: send its source or image, and load that there");
  refuse_pickle<KernelObject>("cannot pickle a Kernel: send its module's source or image, and load that there");
  refuse_pickle<GraphObject>("cannot pickle a Graph: it belongs to its process; capture the work there");
}

}  // namespace anyplace::python
