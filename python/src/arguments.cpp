// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace anyplace::python {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

std::string name_of_type(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

struct TypeNames {
  DType type;
  const char* numpy;
  const char* typestr;
};
constexpr TypeNames type_names[] = {
    {DType::f16, "float16", "<f2"}, {DType::bf16, "bfloat16", nullptr}, {DType::f32, "float32", "<f4"},
    {DType::f64, "float64", "<f8"}, {DType::c64, "complex64", "<c8"},   {DType::c128, "complex128", "<c16"},
    {DType::i8, "int8", "|i1"},     {DType::i16, "int16", "<i2"},       {DType::i32, "int32", "<i4"},
    {DType::i64, "int64", "<i8"},   {DType::u8, "uint8", "|u1"},        {DType::u16, "uint16", "<u2"},
    {DType::u32, "uint32", "<u4"},  {DType::u64, "uint64", "<u8"},      {DType::boolean, "bool", "|b1"},
};

const TypeNames& names_of(DType type) noexcept {
  for (const TypeNames& each : type_names) {
    if (each.type == type) return each;
  }
  return type_names[0];
}

}  // namespace

std::uint64_t unsigned_of(const Whole& number, const char* name) {
  const nb::object index = nb::steal(PyNumber_Index(number.value.ptr()));
  if (!index) throw nb::python_error();
  const std::uint64_t value = PyLong_AsUnsignedLongLong(index.ptr());
  if (value != std::numeric_limits<std::uint64_t>::max() || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  const nb::object zero = nb::int_(0);
  if (PyObject_RichCompareBool(index.ptr(), zero.ptr(), Py_LT) == 1) {
    raise(PyExc_ValueError, std::string(name) + ": the number is negative");
  }
  raise(PyExc_OverflowError, std::string(name) + ": the number has more than 64 bits");
}

std::uint32_t unsigned32_of(const Whole& number, const char* name) {
  const std::uint64_t value = unsigned_of(number, name);
  if (value > UINT32_MAX) raise(PyExc_OverflowError, std::string(name) + ": the number has more than 32 bits");
  return static_cast<std::uint32_t>(value);
}

Device DeviceArgument::get() const {
  if (!PyUnicode_Check(object_.ptr())) return nb::cast<Device>(object_);
  const auto text = nb::cast<std::string>(object_);
  const nb::gil_scoped_release release;
  return Device(text);
}

Place DeviceArgument::place() const {
  if (!PyUnicode_Check(object_.ptr())) return nb::cast<Device>(object_).place();
  return Place(nb::cast<std::string>(object_));
}

LentMemory::LentMemory(nb::handle object, bool writable, const char* name) {
  if (!PyObject_CheckBuffer(object.ptr())) {
    raise(PyExc_TypeError, std::string(name) + ": a " + name_of_type(object) +
                               " is neither memory of a device nor an object that lends memory (the buffer protocol)");
  }
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ND | (writable ? PyBUF_WRITABLE : 0)) != 0) {
    throw nb::python_error();
  }
}

LentMemory::LentMemory(LentMemory&& other) noexcept : view_(other.view_) { other.view_ = Py_buffer{}; }

LentMemory::~LentMemory() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

std::optional<std::chrono::nanoseconds> timeout_of(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  if (!(*seconds >= 0)) raise(PyExc_ValueError, "timeout: seconds are 0 or more");
  // A century is as good as for ever, and 64 bits count its nanoseconds.
  constexpr double century = 100.0 * 365 * 24 * 60 * 60;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::fmin(*seconds, century) * 1e9));
}

DType dtype_of_text(std::string_view name) {
  for (const TypeNames& each : type_names) {
    if (name == each.numpy || name == to_string(each.type)) return each.type;
  }
  raise(PyExc_ValueError, "dtype: '" + std::string(name) +
                              "' is no type of elements; float16, bfloat16, float32, float64, complex64, complex128, "
                              "int8 to int64, uint8 to uint64 and bool are");
}

const char* numpy_name(DType type) noexcept { return names_of(type).numpy; }
const char* numpy_typestr(DType type) noexcept { return names_of(type).typestr; }

}  // namespace anyplace::python
