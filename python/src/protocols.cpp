// SPDX-License-Identifier: Apache-2.0
//
// What other libraries ask an Array for, beside DLPack: __array_interface__ where the host reaches the memory,
// __cuda_array_interface__ on cuda. Also the little of Array that Python's part (_creation.py) can't do by itself.
#include <anyplace/anyplace.h>
#include <anyplace/dlpack.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "exchange.h"
#include "extensions.h"
#include "host_calls.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

/// Shape, type and strides in bytes, which both interfaces have.
nb::dict interface_of(const Array& array) {
  const char* const typestr = numpy_typestr(array.dtype());
  if (typestr == nullptr) throw nb::attribute_error("NumPy has no bfloat16: use from_dlpack");
  const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
  nb::list shape, strides;
  for (const std::int64_t extent : array.shape()) shape.append(extent);
  for (const std::int64_t stride : array.strides()) strides.append(stride * item);
  nb::dict interface;
  interface["shape"] = nb::tuple(shape);
  interface["typestr"] = typestr;
  interface["data"] = nb::make_tuple(array.address().value(), array.is_read_only());
  interface["strides"] = array.is_contiguous() ? nb::object(nb::none()) : nb::object(nb::tuple(strides));
  interface["version"] = 3;
  return interface;
}

/// The protocol has no streams, so the host waits for the array's.
nb::dict array_interface(const Array& array) {
  if (!array.is_on_host() && array.device().backend() != "cpu_sim") {
    throw nb::attribute_error(
        ("memory of " + array.device().to_string() + " isn't reached by the host: numpy() copies it").c_str());
  }
  nb::dict interface = interface_of(array);
  if (const StreamView stream = array.stream()) {
    wait_interruptibly({}, [&](std::chrono::nanoseconds time) { return stream.synchronize(time); });
  }
  return interface;
}

nb::dict cuda_array_interface(const Array& array) {
  if (array.is_on_host() || array.device().backend() != "cuda") {
    throw nb::attribute_error("only arrays on cuda have __cuda_array_interface__");
  }
  nb::dict interface = interface_of(array);
  interface["stream"] = nb::cast(dlpack::stream_number(array.stream()));
  return interface;
}

/// Fills a contiguous array with the bytes of one element.
void fill_array(const StreamObject& stream, const Array& array, const nb::object& element) {
  const LentMemory pattern(element, false, "element");
  if (!array.is_contiguous()) throw nb::value_error("array: it isn't contiguous");
  if (array.size_bytes() == 0) return;
  const Submission submission;
  stream.view.fill(array.address(), pattern.span().data(), pattern.span().size_bytes(), array.size_bytes());
}

/// An array of pinned memory, or of what the device's backend has instead.
Array pinned_array(const StreamObject& stream, const std::vector<std::int64_t>& shape, const std::string& dtype) {
  const DType type = dtype_of_text(dtype);
  const nb::gil_scoped_release release;
  return Array::on_host(stream.view, type, Extents(shape));
}

/// An array of a device whose memory `owner` keeps: what __cuda_array_interface__ describes.
Array array_at(const StreamObject& stream, const Whole& address, const std::string& dtype,
               const std::vector<std::int64_t>& shape, const std::optional<std::vector<std::int64_t>>& strides,
               const nb::object& owner) {
  const DType type = dtype_of_text(dtype);
  const Address first(unsigned_of(address, "address"));
  const ArrayPlace place(stream.view.device());
  const ArrayView view = strides ? ArrayView::at(place, first, type, Extents(shape), Extents(*strides))
                                 : ArrayView::at(place, first, type, Extents(shape));
  PyObject* const kept = nb::object(owner).release().ptr();
  const auto drop = [](const void* object) { drop_reference(static_cast<PyObject*>(const_cast<void*>(object))); };
  return kept_in_order(Array::share(view, stream.view, std::shared_ptr<const void>(kept, drop)));
}

}  // namespace

void bind_protocols(nb::module_& module) {
  nb::borrow<nb::class_<Array>>(nb::type<Array>())
      .def_prop_ro("__array_interface__", &array_interface,
                   nb::sig("def __array_interface__(self) -> dict[str, object]"),
                   "For NumPy, without a copy: memory of cpu_sim and of the host. Waits for the array's stream.")
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"),
                   "For libraries on CUDA, without a copy; it names the stream that the consumer has to wait for.")
      .def_prop_ro(
          "stream",
          [](const Array& array) -> std::optional<StreamObject> {
            if (!array.stream()) return std::nullopt;
            return StreamObject{array.stream(), nullptr};
          },
          "The stream that it was made on, whose work it is ready for; None for memory of the host without one.")
      .def_prop_ro("is_read_only", [](const Array& array) { return array.is_read_only(); })
      .def(
          "to_device",
          [](nb::handle self, nb::handle device, nb::handle stream) {
            return call_package("anyplace._creation", "to_device", self, device, stream);
          },
          "device"_a, nb::kw_only(), "stream"_a = nb::none(),
          nb::sig("def to_device(self, device: Device | str, /, *, stream: Stream | None = None) -> Array"),
          "The array on that device: itself if it is there, else a copy in the order of `stream`, which is one of that "
          "device. Doesn't wait, but for memory of the host, which was read when this returns.");
  module.def("fill_array", &fill_array, "stream"_a, "array"_a, "element"_a,
             nb::sig("def fill_array(stream: Stream, array: Array, element: typing_extensions.Buffer) -> None"));
  module.def("pinned_array", &pinned_array, nb::keep_alive<0, 1>(), "stream"_a, "shape"_a, "dtype"_a);
  module.def("array_at", &array_at, nb::keep_alive<0, 1>(), "stream"_a, "address"_a, "dtype"_a, "shape"_a, "strides"_a,
             "owner"_a,
             nb::sig("def array_at(stream: Stream, address: typing.SupportsIndex, dtype: str, "
                     "shape: collections.abc.Sequence[int], strides: collections.abc.Sequence[int] | None, "
                     "owner: object) -> Array"));
}

}  // namespace anyplace::python
