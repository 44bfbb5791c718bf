// SPDX-License-Identifier: Apache-2.0
//
// DLPack by Python's own part of it: __dlpack__ and __dlpack_device__ of Array and Buffer, their capsules, and
// from_dlpack. The rules are the array API standard's; docs/arrays.md has the table of streams.
#include <anyplace/anyplace.h>
#include <anyplace/dlpack.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arguments.h"
#include "exchange.h"
#include "extensions.h"
#include "objects.h"
#include "waiting.h"

namespace anyplace::python {
namespace {

using namespace nb::literals;

using DevicePair = std::pair<int, int>;

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

// -- Given away.

struct DlpackRequest {
  std::optional<std::int64_t> stream;
  std::optional<std::pair<int, int>> max_version;
  std::optional<DevicePair> device;
  std::optional<bool> copy;
};

void wait(const StreamView& stream) {
  wait_interruptibly({}, [&](std::chrono::nanoseconds time) { return stream.synchronize(time); });
}

/// A copy in memory of the host, which is ready.
Array host_copy_of(const Array& array) {
  const Array made = host_memory(array.dtype(), array.shape());
  {
    const nb::gil_scoped_release release;  // memory that isn't pinned may make the call wait
    copy(array.stream(), made, array);
  }
  wait(array.stream());
  return made;
}

/// A copy of memory of the host that has no stream, made at once.
Array plain_copy_of(const Array& array) {
  const Array made = host_memory(array.dtype(), array.shape());
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

/// A contiguous copy of the array, on its own device and stream.
Array copy_of(const Array& array) {
  if (array.is_on_host()) return array.stream() ? host_copy_of(array) : plain_copy_of(array);
  const nb::gil_scoped_release release;
  Array made(array.stream(), array.dtype(), array.shape());
  copy(array.stream(), made, array);
  return made;
}

/// Whether the consumer wants the array in memory of the host, where it isn't. Any other device is refused.
bool wants_host_copy(const Array& array, const DlpackRequest& request) {
  const DLDevice own = dlpack::device_of(array);
  if (!request.device || *request.device == DevicePair(own.device_type, own.device_id)) return false;
  if (*request.device != DevicePair(kDLCPU, 0)) {
    throw nb::buffer_error(
        "dl_device: the array goes to its own device, or to (1, 0), the host; to_device() copies it");
  }
  if (array.is_on_host()) return false;  // pinned memory is memory of the host, too
  if (request.copy == false) throw nb::buffer_error("copy: the host needs a copy of memory of a device");
  return true;
}

nb::object to_dlpack(const Array& array, const DlpackRequest& request) {
  const bool is_host_copy = wants_host_copy(array, request);
  const bool copied = is_host_copy || request.copy.value_or(false);
  const bool versioned = request.max_version && request.max_version->first >= 1;
  if (!versioned && array.is_read_only() && !copied) {
    throw nb::buffer_error("the array is read-only, which a tensor without a version can't say: ask with max_version");
  }
  const Array given = is_host_copy ? host_copy_of(array) : copied ? copy_of(array) : array;
  dlpack::ExportOptions options{is_host_copy ? std::nullopt : request.stream, copied};
  if (!options.stream) {
    wait_where_host(given);
    if (dlpack::detail::is_host_type(dlpack::device_of(given).device_type)) options.stream = -1;  // it is ready
  }
  if (versioned) return capsule_of(dlpack::to_dlpack(given, options));
  return capsule_of(dlpack::to_dlpack_unversioned(given, options));
}

/// What has the bytes of an Array or a Buffer.
Array required_array(nb::handle object) {
  std::optional<Array> array = own_array(object);
  if (!array) throw nb::type_error("the object is neither an Array nor a Buffer");
  return *std::move(array);
}

template <class Object>
void bind_given() {
  nb::borrow<nb::class_<Object>>(nb::type<Object>())
      .def(
          "__dlpack__",
          [](nb::handle self, std::optional<std::int64_t> stream, std::optional<std::pair<int, int>> max_version,
             std::optional<DevicePair> device, std::optional<bool> copy) {
            return to_dlpack(required_array(self), {stream, max_version, device, copy});
          },
          nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(), "dl_device"_a = nb::none(),
          "copy"_a = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, "
                  "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object"),
          "Lends the memory to another library. docs/arrays.md has the rules of streams; a Buffer, which is an array "
          "of uint8 then, is on the current stream.")
      .def(
          "__dlpack_device__",
          [](nb::handle self) {
            const DLDevice device = dlpack::device_of(required_array(self));
            return nb::make_tuple(static_cast<int>(device.device_type), device.device_id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

// -- Taken.

/// Takes over the tensor of a capsule. Its deleter is another library's and may need the GIL.
template <class Tensor>
Array take(const nb::object& capsule, const dlpack::ImportOptions& options) {
  auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name<Tensor>));
  if (tensor == nullptr) throw nb::python_error();
  const char* const used = std::is_same_v<Tensor, DLManagedTensor> ? "used_dltensor" : "used_dltensor_versioned";
  if (PyCapsule_SetName(capsule.ptr(), used) != 0) throw nb::python_error();
  if constexpr (std::is_same_v<Tensor, DLManagedTensor>) {
    return kept_in_order(dlpack::from_dlpack_unversioned(tensor, options));
  } else {
    return kept_in_order(dlpack::from_dlpack(tensor, options));
  }
}

Array from_capsule(const nb::object& capsule, const dlpack::ImportOptions& options) {
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<DLManagedTensorVersioned>)) {
    return take<DLManagedTensorVersioned>(capsule, options);
  }
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<DLManagedTensor>)) return take<DLManagedTensor>(capsule, options);
  throw nb::value_error("x: the capsule has no tensor; a capsule is taken over once");
}

/// The result of __dlpack_device__: numbers, or enumerators. Paddle has None for the index of the host.
DevicePair device_pair(const nb::object& x) {
  const nb::object pair = x.attr("__dlpack_device__")();
  std::pair<nb::object, nb::object> parts;
  if (!nb::try_cast(pair, parts) || !PyIndex_Check(parts.first.ptr())) {
    throw nb::type_error("x: __dlpack_device__() doesn't return a device type and an index");
  }
  const auto number = [](const nb::object& part) { return nb::cast<int>(nb::steal(PyNumber_Index(part.ptr()))); };
  return {number(parts.first), PyIndex_Check(parts.second.ptr()) ? number(parts.second) : 0};
}

/// The device of a producer whose DLPack type names one; empty for memory of the host and of other backends.
std::optional<Device> device_named_by(const DevicePair& pair) {
  const char* const backend = pair.first == kDLCUDA     ? "cuda"
                              : pair.first == kDLROCM   ? "hip"
                              : pair.first == kDLOneAPI ? "levelzero"
                                                        : nullptr;
  if (backend == nullptr) return std::nullopt;
  return Device(Place(backend, pair.second));
}

/// The producer's array without a copy. It is on `stream` where that is of its device, else on the current stream.
Array taken(const nb::object& x, const std::optional<Device>& device, const StreamObject* stream) {
  dlpack::ImportOptions options;
  if (stream != nullptr) options.stream = stream->view;
  if (PyCapsule_CheckExact(x.ptr())) {
    options.device = device;
    return from_capsule(x, options);
  }
  if (!nb::hasattr(x, "__dlpack__") || !nb::hasattr(x, "__dlpack_device__")) {
    throw nb::type_error("x: it has no __dlpack__ and __dlpack_device__");
  }
  const DevicePair pair = device_pair(x);
  const std::optional<Device> named = device_named_by(pair);
  // A kDLExtDev tensor doesn't say whose memory it is.
  if (pair.first == kDLExtDev) options.device = device;
  if (named && options.stream && options.stream.device() != *named) options.stream = {};
  // This library's own arrays take the way by which their memory is recorded for the stream.
  if (!own_array(x)) {
    if (std::optional<Array> array = take_by_table(x, options)) return *std::move(array);
  }
  nb::object number = nb::none();
  if (named) {
    number = nb::cast(dlpack::stream_number(options.stream ? options.stream : current_stream(*named)));
  }
  try {
    return from_capsule(x.attr("__dlpack__")("stream"_a = number, "max_version"_a = nb::make_tuple(1, 3)), options);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // producers from before the versions don't know max_version
  }
  return from_capsule(x.attr("__dlpack__")("stream"_a = number), options);
}

nb::object from_dlpack(const nb::object& x, const std::optional<DeviceArgument>& device, std::optional<bool> copy,
                       const nb::object& stream) {
  std::optional<Device> wanted;
  if (device) wanted = device->get();
  const auto* const where = stream.is_none() ? nullptr : &nb::cast<const StreamObject&>(stream);
  Array array = taken(x, wanted, where);
  const bool moves = wanted && (array.is_on_host() || array.device() != *wanted);
  if (moves && copy == false) {
    throw nb::buffer_error(
        ("copy: memory of " + array.place().to_string() + " becomes memory of " + wanted->to_string() + " by a copy")
            .c_str());
  }
  if (!moves && copy.value_or(false) && array.is_on_host()) return nb::cast(copy_of(array));
  const bool copies = moves || copy.value_or(false);
  nb::object made = where != nullptr && array.stream() == where->view ? nb::cast(std::move(array))
                                                                      : on_current_stream(std::move(array));
  if (!copies) return made;
  nb::object target = moves ? nb::cast(*wanted) : nb::object(made.attr("device"));
  return nb::module_::import_("anyplace._creation")
      .attr("asarray")(made, "device"_a = target, "stream"_a = stream, "copy"_a = true);
}

}  // namespace

Array host_memory(DType dtype, const Extents& shape) {
  std::uint64_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape) bytes *= static_cast<std::uint64_t>(extent);
  const auto memory = std::make_shared<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 1);
  return Array::share(ArrayView::on_host({memory->data(), bytes}, dtype, shape), {}, memory);
}

void wait_where_host(const Array& array) {
  if (array.stream() && dlpack::detail::is_host_type(dlpack::device_of(array).device_type)) wait(array.stream());
}

void bind_dlpack(nb::module_& module) {
  bind_given<Array>();
  bind_given<BufferObject>();
  bind_exchange();
  module.def(
      "from_dlpack", &from_dlpack, nb::keep_alive<0, 4>(), "x"_a, nb::kw_only(), "device"_a = nb::none(),
      "copy"_a = nb::none(), "stream"_a = nb::none(),
      nb::sig("def from_dlpack(x: object, /, *, device: Device | str | None = None, copy: bool | None = None, "
              "stream: Stream | None = None) -> Array"),
      "Another library's array, without a copy unless `device` is another one or `copy` is true; where `copy` is "
      "false and there has to be one, it is a BufferError. `stream`, or the current one, waits for the producer.");
}

}  // namespace anyplace::python
