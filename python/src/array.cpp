// SPDX-License-Identifier: Apache-2.0
//
// Array: memory as elements in several dimensions, and DLPack both ways.
#include <anyplace/anyplace.h>
#include <anyplace/dlpack.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
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

// -- DLPack.

[[noreturn]] void raise_buffer_error(const std::string& text) { throw nb::buffer_error(text.c_str()); }

template <class Tensor>
constexpr const char* capsule_name = nullptr;
template <>
constexpr const char* capsule_name<DLManagedTensor> = "dltensor";
template <>
constexpr const char* capsule_name<DLManagedTensorVersioned> = "dltensor_versioned";

/// A capsule that nobody took over calls the deleter when it ends.
template <class Tensor>
nb::object capsule_of(Tensor* tensor) {
  return nb::steal(PyCapsule_New(tensor, capsule_name<Tensor>, [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, capsule_name<Tensor>)) return;
    auto* unused = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, capsule_name<Tensor>));
    if (unused->deleter != nullptr) unused->deleter(unused);
  }));
}

struct DlpackRequest {
  std::optional<std::int64_t> stream;
  std::optional<std::pair<int, int>> max_version;
  std::optional<std::pair<int, int>> device;
  std::optional<bool> copy;
};

/// A contiguous array of ordinary memory of the host, for as many elements. It has no stream: it is ready when it is
/// given away.
Array host_memory_like(const Array& array) {
  const auto memory =
      std::make_shared<std::vector<std::max_align_t>>(array.size_bytes() / sizeof(std::max_align_t) + 1);
  return Array::share(ArrayView::on_host({memory->data(), array.size_bytes()}, array.dtype(), array.shape()), {},
                      memory);
}

/// A copy in memory of the host, which is ready.
Array host_copy_of(const Array& array) {
  const Array made = host_memory_like(array);
  copy(array.stream(), made, array);
  array.stream().synchronize();
  return made;
}

/// A contiguous copy of the array, on its own device and stream. Memory of the host without a stream is copied at once.
Array copy_of(const Array& array) {
  if (!array.is_on_host()) {
    Array made(array.stream(), array.dtype(), array.shape());
    copy(array.stream(), made, array);
    return made;
  }
  if (array.stream()) return host_copy_of(array);
  const Array made = host_memory_like(array);
  auto* to = reinterpret_cast<std::byte*>(made.address().value());
  const auto first = static_cast<std::int64_t>(array.address().value());
  const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
  std::vector<std::int64_t> index(array.ndim());
  for (std::int64_t i = 0; i < array.view().size(); ++i, to += item) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) offset += index[dim] * array.strides()[dim];
    std::memcpy(to, reinterpret_cast<const void*>(first + offset * item), static_cast<std::size_t>(item));
    for (std::size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < array.shape()[dim]) break;
      index[dim] = 0;
    }
  }
  return made;
}

constexpr std::pair<int, int> host_device{kDLCPU, 0};

/// Whether the consumer wants the array in memory of the host, where it isn't. Any other device is refused.
bool wants_host_copy(const Array& array, const DlpackRequest& request) {
  const DLDevice own = dlpack::device_of(array);
  if (!request.device || *request.device == std::pair<int, int>(own.device_type, own.device_id)) return false;
  if (*request.device != host_device) {
    raise_buffer_error("dl_device: the array goes to its own device, or to (1, 0), the host; to_device() copies it");
  }
  if (array.is_on_host()) return false;  // pinned memory is memory of the host, too
  if (request.copy == false) raise_buffer_error("copy: the host needs a copy of memory of a device");
  return true;
}

/// The array that is given away, and whether it is a copy.
std::pair<Array, bool> given_away(const Array& array, const DlpackRequest& request, bool is_host_copy) {
  if (is_host_copy) return {host_copy_of(array), true};
  if (request.copy.value_or(false)) return {copy_of(array), true};
  return {array, false};
}

nb::object to_dlpack(const Array& array, const DlpackRequest& request) {
  const bool is_host_copy = wants_host_copy(array, request);
  const bool versioned = request.max_version && request.max_version->first >= 1;
  if (!versioned && array.is_read_only() && !is_host_copy && !request.copy.value_or(false)) {
    raise_buffer_error("the array is read-only, which a tensor without a version can't say: ask with max_version");
  }
  const nb::gil_scoped_release release;  // an array of the host's memory is waited for
  const auto [given, copied] = given_away(array, request, is_host_copy);
  // The stream is one of the array's device; a copy that is ready needs none.
  const dlpack::ExportOptions options{is_host_copy ? std::nullopt : request.stream, copied};
  if (versioned) {
    DLManagedTensorVersioned* const tensor = dlpack::to_dlpack(given, options);
    const nb::gil_scoped_acquire acquire;
    return capsule_of(tensor);
  }
  DLManagedTensor* const tensor = dlpack::to_dlpack_unversioned(given, options);
  const nb::gil_scoped_acquire acquire;
  return capsule_of(tensor);
}

/// Takes over the tensor of a capsule. Its deleter is another library's and may need the GIL.
template <class Tensor>
Array take(const nb::object& capsule, const dlpack::ImportOptions& options) {
  auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name<Tensor>));
  if (tensor == nullptr) throw nb::python_error();
  const char* const used = std::is_same_v<Tensor, DLManagedTensor> ? "used_dltensor" : "used_dltensor_versioned";
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  if constexpr (std::is_same_v<Tensor, DLManagedTensor>) {
    return dlpack::from_dlpack_unversioned(tensor, options);
  } else {
    return dlpack::from_dlpack(tensor, options);
  }
}

Array from_capsule(const nb::object& capsule, const dlpack::ImportOptions& options) {
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<DLManagedTensorVersioned>)) {
    return take<DLManagedTensorVersioned>(capsule, options);
  }
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<DLManagedTensor>)) return take<DLManagedTensor>(capsule, options);
  throw nb::value_error("x: the capsule has no tensor; a capsule is taken over once");
}

/// The stream that the producer makes wait, as its device counts streams; none for memory of the host.
nb::object stream_number(const nb::object& x, const StreamObject* stream) {
  const auto type = nb::cast<std::pair<int, int>>(x.attr("__dlpack_device__")()).first;
  const char* const backend = type == kDLCUDA     ? "cuda"
                              : type == kDLROCM   ? "hip"
                              : type == kDLOneAPI ? "levelzero"
                                                  : nullptr;
  if (backend == nullptr) return nb::none();
  const auto index = nb::cast<std::pair<int, int>>(x.attr("__dlpack_device__")()).second;
  const Device device((Place(backend, index)));
  return nb::cast(dlpack::stream_number(stream_or_current(stream, device)));
}

Array from_dlpack(const nb::object& x, const std::optional<DeviceArgument>& device, const StreamObject* stream) {
  dlpack::ImportOptions options;
  if (stream != nullptr) options.stream = stream->view;
  if (device) options.device = device->get();
  if (PyCapsule_CheckExact(x.ptr())) return from_capsule(x, options);
  if (!nb::hasattr(x, "__dlpack__") || !nb::hasattr(x, "__dlpack_device__")) {
    throw nb::type_error("x: it has no __dlpack__ and __dlpack_device__");
  }
  const nb::object number = stream_number(x, stream);
  try {
    return from_capsule(x.attr("__dlpack__")("stream"_a = number, "max_version"_a = nb::make_tuple(1, 0)), options);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // producers from before the versions don't know max_version
  }
  return from_capsule(x.attr("__dlpack__")("stream"_a = number), options);
}

// -- Arrays.

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

void bind_dlpack(nb::class_<Array>& type) {
  type.def(
          "__dlpack__",
          [](const Array& array, std::optional<std::int64_t> stream, std::optional<std::pair<int, int>> max_version,
             std::optional<std::pair<int, int>> device, std::optional<bool> copy) {
            return to_dlpack(array, {stream, max_version, device, copy});
          },
          nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(), "dl_device"_a = nb::none(),
          "copy"_a = nb::none(), "Lends the array to another library. docs/arrays.md has the rules of streams.")
      .def(
          "__dlpack_device__",
          [](const Array& array) {
            const DLDevice device = dlpack::device_of(array);
            return nb::make_tuple(static_cast<int>(device.device_type), device.device_id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

}  // namespace

void bind_arrays(nb::module_& module) {
  auto type =
      nb::class_<Array>(
          module, "Array",
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
  bind_dlpack(type);
  module.def("from_dlpack", &from_dlpack, nb::keep_alive<0, 3>(), "x"_a, nb::kw_only(), "device"_a = nb::none(),
             nb::arg("stream").noconvert() = nb::none(),
             "Another library's array, without a copy. Its producer makes `stream`, or the current one, wait for it.");
}

}  // namespace anyplace::python
