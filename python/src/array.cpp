// SPDX-License-Identifier: Apache-2.0
//
// Array: memory as elements in several dimensions. dlpack.cpp and exchange.cpp pass it to other libraries.
#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "objects.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

Extents extents_of(const nb::object& shape, const char* name) {
  if (PyIndex_Check(shape.ptr())) return {nb::cast<std::int64_t>(nb::steal(PyNumber_Index(shape.ptr())))};
  std::vector<std::int64_t> values;
  if (!nb::try_cast(shape, values)) {
    throw nb::type_error((std::string(name) + ": it is a whole number, or a sequence of them").c_str());
  }
  return values;
}

nb::object tuple_of(const Extents& extents) {
  return nb::tuple(nb::cast(std::vector<std::int64_t>(extents.begin(), extents.end())));
}

Array indexed(const Array& array, const nb::object& key) {
  const nb::tuple keys = nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
  if (nb::len(keys) > array.ndim()) throw nb::index_error("there are more indices than dimensions");
  Array part = array;
  std::int64_t dim = 0;
  for (const nb::handle each : keys) {
    const std::int64_t size = part.shape()[static_cast<std::size_t>(dim)];
    if (nb::isinstance<nb::slice>(each)) {
      const auto [start, stop, step, length] = nb::borrow<nb::slice>(each).compute(static_cast<std::size_t>(size));
      const auto count = static_cast<std::int64_t>(length);
      // Python's slice may end before the first element, which a negative number can't say here.
      const std::int64_t end = count == 0 ? start : start + (count - 1) * step + (step > 0 ? 1 : -1);
      static_cast<void>(stop);
      part = count == 0 ? part.slice(dim, 0, 0) : part.slice(dim, start, end < 0 ? end - size : end, step);
      ++dim;
    } else if (PyIndex_Check(each.ptr())) {
      const auto index = nb::cast<std::int64_t>(nb::steal(PyNumber_Index(each.ptr())));
      if (index >= size || index < -size) throw nb::index_error("the index is beyond the dimension");
      part = part.select(dim, index);
    } else {
      throw nb::type_error("an index is a whole number or a slice");
    }
  }
  return part;
}

}  // namespace

void bind_arrays(nb::module_& module) {
  nb::class_<Array>(module, "Array",
                    "Memory of a device as elements of a type in several dimensions. Slices and reshapes share it. "
                    "Operators and reductions work on its stream; from_dlpack and __dlpack__ exchange it with other "
                    "libraries. It keeps the stream that it was made on.")
      .def(
          "__init__",
          [](Array* self, const StreamObject& stream, const nb::object& shape, const std::string& dtype) {
            const Extents extents = extents_of(shape, "shape");
            const DType type_of = dtype_of_text(dtype);
            const nb::gil_scoped_release release;
            new (self) Array(stream.view, type_of, extents);
          },
          nb::keep_alive<1, 2>(), nb::arg("stream").noconvert(), "shape"_a, "dtype"_a = "float32",
          nb::sig("def __init__(self, stream: Stream, shape: int | collections.abc.Sequence[int], "
                  "dtype: str = 'float32') -> None"),
          "Allocates on `stream`; the elements aren't cleared.")
      .def_prop_ro(
          "shape", [](const Array& array) { return tuple_of(array.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides", [](const Array& array) { return tuple_of(array.strides()); },
          nb::sig("def strides(self) -> tuple[int, ...]"), "In elements.")
      .def_prop_ro(
          "dtype", [](const Array& array) { return numpy_name(array.dtype()); }, "NumPy's name: \"float32\".")
      .def_prop_ro("ndim", [](const Array& array) { return array.ndim(); })
      .def_prop_ro("size", [](const Array& array) { return array.view().size(); })
      .def_prop_ro("nbytes", [](const Array& array) { return array.size_bytes(); })
      .def_prop_ro("address", [](const Array& array) { return array.address().value(); })
      .def_prop_ro(
          "device",
          [](const Array& array) -> std::optional<Device> {
            if (array.is_on_host()) return std::nullopt;
            return array.device();
          },
          "None for memory of the host.")
      .def_prop_ro("is_contiguous", &Array::is_contiguous)
      .def("__len__",
           [](const Array& array) {
             if (array.ndim() == 0) throw nb::type_error("an array without dimensions has no length");
             return array.shape()[0];
           })
      .def("__getitem__", &indexed, nb::keep_alive<0, 1>(), "key"_a,
           "The part of an index, a slice, or a tuple of them; without a copy.")
      .def(
          "reshape",
          [](const Array& array, const nb::object& shape) { return array.reshape(extents_of(shape, "shape")); },
          nb::keep_alive<0, 1>(), "shape"_a,
          nb::sig("def reshape(self, shape: int | collections.abc.Sequence[int]) -> Array"))
      .def(
          "permute",
          [](const Array& array, const nb::object& order) { return array.permute(extents_of(order, "order")); },
          nb::keep_alive<0, 1>(), "order"_a,
          nb::sig("def permute(self, order: collections.abc.Sequence[int]) -> Array"))
      .def(
          "record_stream", [](const Array& array, const StreamObject& stream) { array.record_stream(stream.view); },
          "stream"_a)
      .def("__repr__", [](const Array& array) {
        return nb::str("<Array of {} {} on {}>")
            .format(array.shape().to_string(), numpy_name(array.dtype()), array.place().to_string());
      });
}

}  // namespace anyplace::python
