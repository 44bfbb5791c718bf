// SPDX-License-Identifier: Apache-2.0
//
// DLPack: passes arrays of this library to others, and takes theirs, without a copy. Header-only, and not part of
// anyplace.h: it includes <dlpack/dlpack.h> of version 1 (https://github.com/dmlc/dlpack), which the application
// brings.
//
//   DLManagedTensorVersioned* tensor = anyplace::dlpack::to_dlpack(array, {.stream = consumers_stream});
//   const anyplace::Array array = anyplace::dlpack::from_dlpack(tensor);
//
// Consumers and producers that know DLPack from before its versions (a Python capsule named "dltensor") take and give a
// DLManagedTensor: to_dlpack_unversioned() and from_dlpack_unversioned().
//
// The order between the streams is the one of the Python array API standard's __dlpack__(stream=): the consumer names
// its stream, and the producer makes that wait for the array. docs/arrays.md has the tables of devices and streams.
#pragma once

#if !__has_include(<dlpack/dlpack.h>)
#error "anyplace/dlpack.h needs <dlpack/dlpack.h>, version 1 or newer, on the include path: github.com/dmlc/dlpack"
#endif
#include <dlpack/dlpack.h>
#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION < 1
#error "anyplace/dlpack.h needs <dlpack/dlpack.h> of version 1 or newer; this one is older"
#endif

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "address.h"
#include "array.h"
#include "device.h"
#include "dtype.h"
#include "error.h"
#include "stream.h"

namespace anyplace::dlpack {

/// How an array is given to another library.
struct ExportOptions {
  /// The consumer's stream, which waits for the work that the array's stream was given up to now; the host doesn't
  /// wait:
  /// empty    the device's default stream
  ///   -1       none: the consumer sees to the order by itself
  ///   1, 2     cuda: the legacy default stream; the per-thread default streams, by way of the legacy one
  ///   0        hip: the default stream
  ///   0, 1, 2  levelzero: refused, as no handle is so small
  /// else     the vendor's own handle of a stream of the array's device (StreamView::native_handle)
  /// An array that is exported as memory of the host, cpu_sim's too, takes only an empty value or -1. The consumer has
  /// no stream then, and the host waits for the array's stream, unless the value is -1.
  std::optional<std::int64_t> stream = {};
  /// Says that the memory is a copy that nobody else uses (DLPACK_FLAG_BITMASK_IS_COPIED).
  bool copied = false;
};

/// How an array of another library is taken.
struct ImportOptions {
  /// The stream that the array is made on, and that the producer was told to make wait (stream_number()). Null stands
  /// for the current one.
  StreamView stream = {};
  /// The device whose memory a kDLExtDev tensor is, and to which a kDLCPU tensor without elements belongs.
  std::optional<Device> device = {};
};

namespace detail {

[[noreturn]] inline void refuse(const char* operation, std::string place, std::string text, std::string remedy = {}) {
  ErrorDetails details;
  details.code = ErrorCode::invalid_argument;
  details.operation = operation;
  details.place = std::move(place);
  details.text = std::move(text);
  details.remedy = std::move(remedy);
  details.see = "docs/arrays.md";
  throw Error(std::move(details));
}

constexpr const char* export_operation = "dlpack::to_dlpack";
constexpr const char* import_operation = "dlpack::from_dlpack";

inline DLDataType type_of(DType dtype) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return {kDLFloat, bits, 1};
    case DType::bf16:
      return {kDLBfloat, bits, 1};
    case DType::c64:
    case DType::c128:
      return {kDLComplex, bits, 1};
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return {kDLInt, bits, 1};
    case DType::boolean:
      return {kDLBool, bits, 1};
    default:
      return {kDLUInt, bits, 1};
  }
}

/// "float8_e4m3" and so on. It goes by numbers, because older headers don't know all names.
inline std::string name_of_code(unsigned code) {
  static constexpr const char* names[] = {"int",
                                          "uint",
                                          "float",
                                          "opaque handle",
                                          "bfloat",
                                          "complex",
                                          "bool",
                                          "float8_e3m4",
                                          "float8_e4m3",
                                          "float8_e4m3b11fnuz",
                                          "float8_e4m3fn",
                                          "float8_e4m3fnuz",
                                          "float8_e5m2",
                                          "float8_e5m2fnuz",
                                          "float8_e8m0fnu",
                                          "float6_e2m3fn",
                                          "float6_e3m2fn",
                                          "float4_e2m1fn"};
  return code < sizeof(names) / sizeof(names[0]) ? names[code] : "type code " + std::to_string(code);
}

inline DType dtype_of(const DLDataType& type) {
  if (type.lanes != 1) {
    refuse(import_operation, {}, "an element has " + std::to_string(type.lanes) + " lanes",
           "1 is what an array's has: export the lanes as a dimension");
  }
  static constexpr DType all[] = {DType::f16,  DType::bf16, DType::f32, DType::f64, DType::c64,
                                  DType::c128, DType::i8,   DType::i16, DType::i32, DType::i64,
                                  DType::u8,   DType::u16,  DType::u32, DType::u64, DType::boolean};
  for (const DType each : all) {
    const DLDataType known = type_of(each);
    if (known.code == type.code && known.bits == type.bits) return each;
  }
  refuse(import_operation, {},
         "elements of " + name_of_code(type.code) + " with " + std::to_string(type.bits) + " bits have no DType",
         "an array has f16, bf16, f32, f64, c64, c128, i8 to i64, u8 to u64 or bool");
}

inline DLDevice device_of_memory(const Device& device) {
  const std::string& backend = device.backend();
  if (backend == "cpu_sim") return {kDLCPU, 0};
  const DLDeviceType type = backend == "cuda"        ? kDLCUDA
                            : backend == "hip"       ? kDLROCM
                            : backend == "levelzero" ? kDLOneAPI
                                                     : kDLExtDev;
  return {type, device.index()};
}

/// What an exported tensor keeps alive. The array is destroyed before the stream, for which its memory is recorded.
struct Kept {
  Stream consumer;
  Array array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};
template <class Tensor>
struct Exported : Kept {
  Tensor tensor{};

  static void release(Tensor* tensor) { delete static_cast<Exported*>(tensor->manager_ctx); }
};

inline bool is_host_type(DLDeviceType type) noexcept {
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

/// Makes the consumer's stream wait, and keeps the memory until all work that this stream gets before the tensor's end
/// is done.
inline void hand_over(Kept& exported, DLDeviceType type, std::optional<std::int64_t> number) {
  const StreamView producer = exported.array.stream();
  if (number == -1) return;
  if (is_host_type(type)) {
    if (number) {
      refuse(export_operation, exported.array.place().to_string(),
             "a consumer of memory of the host has no stream " + std::to_string(*number),
             "give none, and the host waits, or -1 for no wait");
    }
    if (producer) producer.synchronize();
    return;
  }
  const Device device = exported.array.device();
  const bool is_ambiguous = (type == kDLCUDA && number == 0) || (type == kDLROCM && (number == 1 || number == 2)) ||
                            (type == kDLOneAPI && number && *number >= 0 && *number <= 2);
  if (is_ambiguous || (number && *number < 0)) {
    refuse(export_operation, device.to_string(),
           std::to_string(*number) + " is no stream that the array API standard has for this device",
           type == kDLCUDA   ? "give 1 for the legacy default stream, 2 for the per-thread one, or a handle"
           : type == kDLROCM ? "give 0 for the default stream, or a handle"
                             : "give a handle (StreamView::native_handle), or none for the default stream");
  }
  // CUDA's per-thread default stream and its legacy one wait for each other's work ("Stream synchronization behavior").
  // So the legacy stream stands for the per-thread one, for which there is no handle.
  const bool is_default =
      !number || (type == kDLCUDA && (number == 1 || number == 2)) || (type == kDLROCM && number == 0);
  if (!is_default) exported.consumer = Stream::from_native(device, static_cast<std::uint64_t>(*number));
  const StreamView consumer = is_default ? device.default_stream() : exported.consumer.view();
  if (consumer != producer) consumer.wait_stream(producer);
  exported.array.record_stream(consumer);
}

/// A tensor that was taken over. Its deleter is called at the end, whatever happens.
struct Release {
  template <class Tensor>
  void operator()(Tensor* tensor) const noexcept {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};

inline bool has_elements(const DLTensor& tensor) noexcept {
  for (std::int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return false;
  }
  return true;
}

/// The array that a tensor of this library describes; null for another library's tensor.
template <class Tensor>
const Array* exported_array(const Tensor& tensor) noexcept {
  if (tensor.deleter != Exported<Tensor>::release) return nullptr;
  return &static_cast<const Exported<Tensor>*>(tensor.manager_ctx)->array;
}

/// `exported` is the array that the tensor was made of, if that is known.
inline ArrayPlace place_of(const DLTensor& tensor, const std::optional<Device>& given, Address address,
                           const Array* exported) {
  const auto check = [&](const Device& device) {
    if (given && *given != device) {
      refuse(import_operation, given->to_string(),
             "the tensor is on " + device.to_string() + ", and the device asked for is " + given->to_string());
    }
    return ArrayPlace(device);
  };
  const std::string index = ":" + std::to_string(tensor.device.device_id);
  switch (static_cast<int>(tensor.device.device_type)) {
    case kDLCUDA:
      return check(Device("cuda" + index));
    case kDLROCM:
      return check(Device("hip" + index));
    case kDLOneAPI:
      return check(Device("levelzero" + index));
    case kDLExtDev:
      if (given) return *given;
      refuse(import_operation, {}, "a kDLExtDev tensor doesn't say whose memory it is",
             "name it: ImportOptions::device");
    case kDLCPU: {
      // Memory of cpu_sim was exported as the host's, and becomes cpu_sim's again here.
      const PointerAttributes known = pointer_attributes(address);
      if (known.kind == AddressKind::device && known.device && known.device->backend() == "cpu_sim") {
        return check(*known.device);
      }
      // Without elements there is no address that says whose they are.
      if (!has_elements(tensor)) {
        if (exported != nullptr && !exported->is_on_host()) return check(exported->device());
        if (given && device_of_memory(*given).device_type == kDLCPU) return *given;
      }
      [[fallthrough]];
    }
    case kDLCUDAHost:
    case kDLROCMHost:
      if (given) {
        refuse(import_operation, given->to_string(),
               "the tensor is memory of the host, and the device asked for is " + given->to_string(),
               "copy it to an array of the device");
      }
      return ArrayPlace::host();
    default:
      refuse(import_operation, {},
             "memory of DLPack's device type " + std::to_string(static_cast<int>(tensor.device.device_type)) +
                 " is of no backend that is known",
             "kDLCPU, kDLCUDA, kDLCUDAHost, kDLROCM, kDLROCMHost, kDLOneAPI and kDLExtDev are");
  }
}

inline ArrayView view_of(const DLTensor& tensor, const ImportOptions& options, const Array* exported) {
  const DType dtype = dtype_of(tensor.dtype);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    refuse(import_operation, {},
           "the tensor has " + std::to_string(tensor.ndim) + " dimensions and " +
               (tensor.shape == nullptr ? "no shape" : "a shape"));
  }
  const auto ndim = static_cast<std::size_t>(tensor.ndim);
  const Extents shape(std::span<const std::int64_t>(tensor.shape, ndim));
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data);
  if (tensor.byte_offset > UINTPTR_MAX - data) {
    refuse(import_operation, {}, "the byte offset reaches beyond the end of the address space");
  }
  const Address first(static_cast<std::uint64_t>(data) + tensor.byte_offset);
  const ArrayPlace place = place_of(tensor, options.device, first, exported);
  if (tensor.strides == nullptr) return ArrayView::at(place, first, dtype, shape);
  return ArrayView::at(place, first, dtype, shape, Extents(std::span<const std::int64_t>(tensor.strides, ndim)));
}

/// The array of a tensor that `owner` has. `is_read_only` is the tensor's flag.
inline Array import_tensor(const DLTensor& tensor, bool is_read_only, const ImportOptions& options,
                           const Array* exported, std::shared_ptr<void> owner) {
  ArrayView view = view_of(tensor, options, exported);
  if (is_read_only) view = view.as_read_only();
  StreamView stream = options.stream;
  if (!stream && !view.is_on_host()) stream = current_stream(view.device());
  return Array::share(view, stream, std::move(owner));
}

}  // namespace detail

/// The result of __dlpack_device__. The type is kDLCUDA, kDLROCM or kDLOneAPI with the device's index for cuda, hip and
/// levelzero, and kDLExtDev for other backends. Memory of the host and of cpu_sim, which is memory of the process, is
/// kDLCPU, or kDLCUDAHost or kDLROCMHost if it is pinned for a device of cuda or hip. Throws invalid_argument for a
/// null array.
inline DLDevice device_of(const ArrayView& array) {
  const ArrayPlace place = array.place();
  if (!place.is_host()) return detail::device_of_memory(place.device());
  if (array.size() != 0) {
    const PointerAttributes known = pointer_attributes(array.address());
    const bool is_pinned = known.kind == AddressKind::pinned && known.device;
    if (is_pinned && known.device->backend() == "cuda") return {kDLCUDAHost, 0};
    if (is_pinned && known.device->backend() == "hip") return {kDLROCMHost, 0};
  }
  return {kDLCPU, 0};
}

/// The number that a consumer gives to a producer's __dlpack__(stream=), so that the tensor is ready in the order of
/// `stream`. It is empty for cpu_sim, whose memory is the host's to DLPack. Throws what StreamView::native_handle
/// throws.
inline std::optional<std::int64_t> stream_number(const StreamView& stream) {
  const Device device = stream.device();
  const DLDeviceType type = detail::device_of_memory(device).device_type;
  if (detail::is_host_type(type)) return std::nullopt;
  if (stream == device.default_stream()) {
    if (type == kDLCUDA) return 1;
    if (type == kDLROCM) return 0;
  }
  return static_cast<std::int64_t>(stream.native_handle());
}

namespace detail {

/// Makes a tensor of the array, and makes the consumer's stream wait for it.
template <class Tensor>
std::unique_ptr<Exported<Tensor>> export_array(const Array& array, const ExportOptions& options) {
  const DLDevice device = device_of(array);
  auto made = std::make_unique<Exported<Tensor>>();
  made->array = array;
  made->shape.assign(array.shape().begin(), array.shape().end());
  made->strides.assign(array.strides().begin(), array.strides().end());
  made->tensor.manager_ctx = made.get();
  made->tensor.deleter = Exported<Tensor>::release;
  DLTensor& described = made->tensor.dl_tensor;
  described.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(array.address().value()));
  described.device = device;
  described.ndim = static_cast<std::int32_t>(array.ndim());
  described.dtype = type_of(array.dtype());
  described.shape = made->shape.data();
  described.strides = made->strides.data();
  described.byte_offset = 0;
  hand_over(*made, device.device_type, options.stream);
  return made;
}

}  // namespace detail

/// Exports the array to another library, which owns the result and calls its deleter once, from any thread; until then
/// the memory stays. Where a stream is given (but -1), its work up to that call is done before the memory is used
/// again; devices wait for that, not the host. Throws invalid_argument for a null array and for a stream that isn't one
/// of the array's device, and what StreamView::wait_stream and Stream::from_native throw.
inline DLManagedTensorVersioned* to_dlpack(const Array& array, const ExportOptions& options = {}) {
  auto made = detail::export_array<DLManagedTensorVersioned>(array, options);
  made->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  made->tensor.flags =
      (array.is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) | (options.copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
  return &made.release()->tensor;
}

/// Exports the array as to_dlpack does, for a consumer that knows no versions. Such a tensor has no flags that say
/// whether it is a copy or read-only; a read-only array is refused with invalid_argument.
inline DLManagedTensor* to_dlpack_unversioned(const Array& array, const ExportOptions& options = {}) {
  if (array.is_read_only()) {
    detail::refuse(detail::export_operation, array.place().to_string(),
                   "the array is read-only, which a tensor without a version can't say",
                   "give it to a consumer that asks for max_version 1.0 or newer (to_dlpack), or give a copy");
  }
  return &detail::export_array<DLManagedTensor>(array, options).release()->tensor;
}

/// Takes another library's tensor as an array, which calls the tensor's deleter when the last of its copies goes. The
/// tensor is taken over in any case: when this throws, the deleter was called. The read-only flag is kept. Throws
/// invalid_argument, with the reason, for null, another major version than this header's (of which nothing else is
/// read), lanes, types that have no DType, devices that no backend has, and memory that is misaligned for its type; and
/// what Device and ArrayView::at throw.
inline Array from_dlpack(DLManagedTensorVersioned* tensor, const ImportOptions& options = {}) {
  if (tensor == nullptr) detail::refuse(detail::import_operation, {}, "the tensor is null");
  std::shared_ptr<DLManagedTensorVersioned> owner(tensor, detail::Release());
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    detail::refuse(detail::import_operation, {},
                   "the tensor is of DLPack " + std::to_string(tensor->version.major) + "." +
                       std::to_string(tensor->version.minor),
                   "version " + std::to_string(DLPACK_MAJOR_VERSION) + " is known here: ask for it with max_version");
  }
  const bool is_read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return detail::import_tensor(tensor->dl_tensor, is_read_only, options, detail::exported_array(*tensor),
                               std::move(owner));
}

/// Takes a tensor as from_dlpack does, from a producer that knows no versions. Such a tensor doesn't say whether its
/// memory may be written; the array may be.
inline Array from_dlpack_unversioned(DLManagedTensor* tensor, const ImportOptions& options = {}) {
  if (tensor == nullptr) detail::refuse(detail::import_operation, {}, "the tensor is null");
  std::shared_ptr<DLManagedTensor> owner(tensor, detail::Release());
  return detail::import_tensor(tensor->dl_tensor, false, options, detail::exported_array(*tensor), std::move(owner));
}

}  // namespace anyplace::dlpack
