// SPDX-License-Identifier: Apache-2.0
//
// __dlpack_c_exchange_api__ of DLPack 1.3: a table of C functions at the type of an array, by which libraries pass
// arrays in nanoseconds instead of microseconds. Given by Array and Buffer, and taken from other libraries' types.
//
// The table's functions take no stream: a consumer works on the producer's current stream, which it asks for. So an
// array of another stream makes the current one wait for it. Memory that DLPack takes for the host's has no stream
// there, so the host waits for the array's.
#include <anyplace/anyplace.h>
#include <anyplace/dlpack.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange.h"
#include "objects.h"

namespace anyplace::python {
namespace {

constexpr const char* table_attribute = "__dlpack_c_exchange_api__";
constexpr const char* table_capsule = "dlpack_exchange_api";

/// The layout of DLPack 1.3's DLPackExchangeAPI, declared here because the header of the build may be older. Functions
/// return 0, or -1 with Python's error set.
struct ExchangeHeader {
  DLPackVersion version;
  const ExchangeHeader* older;  ///< the table of an older major version, or null
};
using SetError = void (*)(void* context, const char* kind, const char* message);
struct ExchangeTable {
  ExchangeHeader header;
  /// May be called without the GIL. Errors go to `set_error` instead of Python's.
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* context, SetError set_error);
  int (*from_python)(void* object, DLManagedTensorVersioned** out);
  /// Takes the tensor over.
  int (*to_python)(DLManagedTensorVersioned* tensor, void** out);
  /// What `out` points at stays as long as the object is used by the caller.
  int (*view_of_python)(void* object, DLTensor* out);
  /// Null is the device's default stream.
  int (*current_stream)(DLDeviceType type, std::int32_t index, void** out);
};

/// Calls a function that may throw; an exception becomes Python's error, and the result -1.
template <class Function>
int guarded(Function function) noexcept {
  try {
    function();
    return 0;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

// -- The table that is given.

/// The device of a DLPack device type with streams; empty for memory of the host.
std::optional<Device> device_with_streams(DLDeviceType type, std::int32_t index) {
  const char* backend = nullptr;
  switch (static_cast<int>(type)) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
      return std::nullopt;
    case kDLCUDA:
      backend = "cuda";
      break;
    case kDLROCM:
      backend = "hip";
      break;
    case kDLOneAPI:
      backend = "levelzero";
      break;
    default:
      throw nb::buffer_error("memory of this device type is of no backend that DLPack names: 1, 2, 3, 10, 11, 14 are");
  }
  return Device(Place(backend, index));
}

/// Makes the memory ready for a consumer that works on the current stream, or on the host.
void make_ready(const Array& array) {
  if (array.is_on_host() || dlpack::device_of(array).device_type == kDLCPU) return wait_where_host(array);
  const StreamView current = current_stream(array.device());
  if (current == array.stream()) return;
  current.wait_stream(array.stream());
  array.record_stream(current);
}

Array array_or_throw(void* object) {
  std::optional<Array> array = own_array(static_cast<PyObject*>(object));
  if (!array) throw nb::type_error("the object is neither an Array nor a Buffer");
  return *std::move(array);
}

DLManagedTensorVersioned* exported(const Array& array) { return dlpack::to_dlpack(array, {-1, false}); }

/// A new array as the prototype: of the current stream of its device, or of memory of the host.
Array allocated(const DLTensor& prototype) {
  const DType dtype = dlpack::detail::dtype_of(prototype.dtype);
  const Extents shape(std::span<const std::int64_t>(prototype.shape, static_cast<std::size_t>(prototype.ndim)));
  const std::optional<Device> device = device_with_streams(prototype.device.device_type, prototype.device.device_id);
  return device ? Array(*device, dtype, shape) : host_memory(dtype, shape);
}

int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context, SetError set_error) noexcept {
  try {
    // The memory may be that of work which a function of Python's ends, so the GIL is released, whoever has it.
    const nb::gil_scoped_acquire acquire;
    if (!acquire.is_valid()) throw nb::buffer_error("the interpreter has ended");
    const nb::gil_scoped_release release;
    *out = exported(allocated(*prototype));
    return 0;
  } catch (const Error& error) {
    set_error(context, error.code() == ErrorCode::out_of_memory ? "MemoryError" : "BufferError", error.what());
  } catch (const std::exception& error) {
    set_error(context, "BufferError", error.what());
  }
  return -1;
}

int from_python(void* object, DLManagedTensorVersioned** out) noexcept {
  return guarded([&] {
    const Array array = array_or_throw(object);
    make_ready(array);
    *out = exported(array);
  });
}

int to_python(DLManagedTensorVersioned* tensor, void** out) noexcept {
  return guarded([&] { *out = on_current_stream(kept_in_order(dlpack::from_dlpack(tensor))).release().ptr(); });
}

int view_of_python(void* object, DLTensor* out) noexcept {
  return guarded([&] {
    static std::int64_t one = 1;
    const nb::handle handle(static_cast<PyObject*>(object));
    const Array array = array_or_throw(object);
    make_ready(array);
    out->data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(array.address().value()));
    out->device = dlpack::device_of(array);
    out->ndim = static_cast<std::int32_t>(array.ndim());
    out->dtype = dlpack::detail::type_of(array.dtype());
    out->byte_offset = 0;
    // The extents are those of the Python object, which outlives the call, and nobody writes them.
    if (nb::isinstance<Array>(handle)) {
      const Array& kept = *nb::inst_ptr<Array>(handle);
      out->shape = const_cast<std::int64_t*>(kept.shape().data());
      out->strides = const_cast<std::int64_t*>(kept.strides().data());
    } else {
      BufferObject& kept = *nb::inst_ptr<BufferObject>(handle);
      kept.extent = static_cast<std::int64_t>(kept.view.size_bytes());
      out->shape = &kept.extent;
      out->strides = &one;
    }
  });
}

int current_work_stream(DLDeviceType type, std::int32_t index, void** out) noexcept {
  return guarded([&] {
    *out = nullptr;
    const std::optional<Device> device = device_with_streams(type, index);
    if (!device) return;
    const StreamView current = current_stream(*device);
    if (current != device->default_stream()) *out = reinterpret_cast<void*>(current.native_handle());
  });
}

const ExchangeTable own_table{{{1, 3}, nullptr}, allocate, from_python, to_python, view_of_python, current_work_stream};

// -- The tables that are taken.

/// The table of a type; null if it has none of major version 1.
const ExchangeTable* table_of(nb::handle type) {
  const nb::object capsule = nb::getattr(type, table_attribute, nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), table_capsule)) return nullptr;
  const auto* header = static_cast<const ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), table_capsule));
  while (header != nullptr && header->version.major > 1) header = header->older;
  if (header == nullptr || header->version.major != 1) return nullptr;
  return reinterpret_cast<const ExchangeTable*>(header);
}

/// The array's stream waits for the stream that the producer works on. CUDA's 1 and 2 are its two default streams.
void wait_for_producer(const ExchangeTable& table, const Array& array) {
  if (array.is_on_host()) return;
  const DLDevice device = dlpack::device_of(array);
  if (device.device_type == kDLCPU) return;
  void* handle = nullptr;
  if (table.current_stream(device.device_type, device.device_id, &handle) != 0) throw nb::python_error();
  const auto number = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  const bool is_default = number == 0 || (device.device_type == kDLCUDA && number <= 2);
  Stream foreign;
  if (!is_default) foreign = Stream::from_native(array.device(), number);
  const StreamView producer = is_default ? array.device().default_stream() : foreign.view();
  if (producer != array.stream()) array.stream().wait_stream(producer);
}

}  // namespace

Array array_of(const BufferObject& buffer) {
  if (!buffer.owner) throw nb::buffer_error("the Buffer is closed");
  const auto bytes = static_cast<std::int64_t>(buffer.view.size_bytes());
  return Array::share(ArrayView(buffer.view, DType::u8, {bytes}), current_stream(buffer.view.device()), buffer.owner);
}

std::optional<Array> own_array(nb::handle object) {
  if (nb::isinstance<Array>(object)) return nb::cast<const Array&>(object);
  if (nb::isinstance<BufferObject>(object)) return array_of(nb::cast<const BufferObject&>(object));
  return std::nullopt;
}

nb::object on_current_stream(Array array) {
  nb::object keeps = nb::none();
  if (!array.is_on_host()) keeps = nb::cast(current_of(array.device()));
  nb::object made = nb::cast(std::move(array));
  if (!keeps.is_none()) nb::keep_alive_obj(made, keeps);
  return made;
}

std::optional<Array> take_by_table(nb::handle x, const dlpack::ImportOptions& options) {
  const ExchangeTable* const table = table_of(x.type());
  if (table == nullptr) return std::nullopt;
  DLManagedTensorVersioned* tensor = nullptr;
  if (table->from_python(x.ptr(), &tensor) != 0) throw nb::python_error();
  Array array = kept_in_order(dlpack::from_dlpack(tensor, options));
  wait_for_producer(*table, array);
  return array;
}

void bind_exchange() {
  for (const nb::handle type : {nb::type<Array>(), nb::type<BufferObject>()}) {
    nb::setattr(type, table_attribute, nb::capsule(&own_table, table_capsule));
  }
}

}  // namespace anyplace::python
