// SPDX-License-Identifier: Apache-2.0
//
// What Python passes to the binding: whole numbers whose errors name the argument, devices by object or by text, and
// memory of the host that objects lend (the buffer protocol).
#pragma once

#include <anyplace/anyplace.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace anyplace::python {

/// A whole number: an int, or an object with __index__, such as NumPy's.
struct Whole {
  nb::handle value;
};

/// The number. Raises ValueError if it is negative and OverflowError if it has more than 64 bits, with the argument's
/// name.
std::uint64_t unsigned_of(const Whole& number, const char* name);
/// The same for a number of up to 32 bits.
std::uint32_t unsigned32_of(const Whole& number, const char* name);

/// A device, or the text that names one.
class DeviceArgument {
 public:
  DeviceArgument() = default;
  explicit DeviceArgument(nb::handle object) : object_(object) {}
  /// Finds the device. A text may load a backend, so the GIL is released meanwhile.
  Device get() const;
  /// The place, without loading anything.
  Place place() const;

 private:
  nb::handle object_;
};

/// Memory of an object with the buffer protocol, for as long as this lives. Needs the GIL at its beginning and end.
class LentMemory {
 public:
  /// Raises TypeError, with the argument's name, if the object lends no memory; BufferError if it can't be written to
  /// or isn't contiguous.
  LentMemory(nb::handle object, bool writable, const char* name);
  LentMemory(LentMemory&& other) noexcept;
  LentMemory(const LentMemory&) = delete;  // it is given back once
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory();

  int dimensions() const noexcept { return view_.ndim; }
  HostSpan span() const noexcept { return {view_.buf, static_cast<std::uint64_t>(view_.len)}; }

 private:
  Py_buffer view_{};
};

/// What seconds come to; empty for None. Raises ValueError for negative ones and for NaN.
std::optional<std::chrono::nanoseconds> timeout_of(std::optional<double> seconds);

/// The type of that name: one of to_string(DType), or NumPy's ("float32"). Raises ValueError.
DType dtype_of_text(std::string_view name);
/// NumPy's name of a type: "float32".
const char* numpy_name(DType type) noexcept;
/// NumPy's typestr of a type, "<f4"; null for bf16, which it doesn't have.
const char* numpy_typestr(DType type) noexcept;

}  // namespace anyplace::python

namespace nanobind::detail {

template <>
struct type_caster<anyplace::python::Whole> {
  NB_TYPE_CASTER(anyplace::python::Whole, const_name("typing.SupportsIndex"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.value = source;
    return PyIndex_Check(source.ptr()) != 0;
  }
};

template <>
struct type_caster<anyplace::python::DeviceArgument> {
  NB_TYPE_CASTER(anyplace::python::DeviceArgument, const_name("Device | str"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value = anyplace::python::DeviceArgument(source);
    return PyUnicode_Check(source.ptr()) || isinstance<anyplace::Device>(source);
  }
};

}  // namespace nanobind::detail
