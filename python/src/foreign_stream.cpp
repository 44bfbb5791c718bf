// SPDX-License-Identifier: Apache-2.0
//
// Streams of other libraries as arguments: an object with __cuda_stream__ is taken wherever a Stream is. The protocol
// doesn't say which device the stream is of; here are the rules that find it.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <string>

#include "extensions.h"
#include "objects.h"

namespace anyplace::python {

/// An object with __cuda_stream__ that isn't a Stream.
struct ForeignStream {
  nb::handle object;
};

}  // namespace anyplace::python

namespace nanobind::detail {

template <>
struct type_caster<anyplace::python::ForeignStream> {
  NB_TYPE_CASTER(anyplace::python::ForeignStream, const_name("object"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.object = source;
    return !PyUnicode_Check(source.ptr()) && !isinstance<anyplace::python::StreamObject>(source) &&
           PyObject_HasAttrString(source.ptr(), "__cuda_stream__") == 1;
  }
};

}  // namespace nanobind::detail

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// The index of the device that the object names as torch, CuPy and cuda.core do; empty if it names none.
std::string index_of(nb::handle object) {
  for (const char* const name : {"device_index", "device_id"}) {
    const nb::object index = nb::getattr(object, name, nb::none());
    if (PyLong_Check(index.ptr()) && nb::cast<std::int64_t>(index) >= 0)
      return ":" + std::to_string(nb::cast<int>(index));
  }
  const nb::object device = nb::getattr(object, "device", nb::none());
  for (const char* const name : {"index", "device_id"}) {
    const nb::object index = nb::getattr(device, name, nb::none());
    if (PyLong_Check(index.ptr())) return ":" + std::to_string(nb::cast<int>(index));
  }
  return {};
}

/// The device of cuda with that index, or of hip where there is no cuda; without an index the current one.
Device device_of(nb::handle object) {
  const std::string index = index_of(object);
  const nb::gil_scoped_release release;
  try {
    return Device("cuda" + index);
  } catch (const Error& none) {
    if (none.code() != ErrorCode::no_such_backend && none.code() != ErrorCode::no_such_device) throw;
  }
  return Device("hip" + index);
}

}  // namespace

void bind_foreign_streams() {
  nb::borrow<nb::class_<StreamObject>>(nb::type<StreamObject>())
      .def(
          "__init__",
          [](StreamObject* self, const ForeignStream& foreign) {
            const nb::object made =
                nb::type<StreamObject>().attr("from_external")(foreign.object, device_of(foreign.object));
            new (self) StreamObject(nb::cast<const StreamObject&>(made));
          },
          "stream"_a,
          "Wraps another library's stream, an object with __cuda_stream__, of the device of cuda or hip whose index it "
          "has, else of the current one.");
  nb::implicitly_convertible<ForeignStream, StreamObject>();
}

}  // namespace anyplace::python
