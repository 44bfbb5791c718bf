// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

namespace demo {

using anyplace::DType;

namespace {

/// Calls `with` with a value of the C++ type that holds an element. Of halves that is their bits.
template <class Function>
void as_type(DType type, Function&& with) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return with(std::uint16_t());
    case DType::f32:
      return with(float());
    case DType::f64:
      return with(double());
    case DType::c64:
      return with(std::complex<float>());
    case DType::c128:
      return with(std::complex<double>());
    case DType::i8:
      return with(std::int8_t());
    case DType::i16:
      return with(std::int16_t());
    case DType::i32:
      return with(std::int32_t());
    case DType::i64:
      return with(std::int64_t());
    case DType::u8:
    case DType::boolean:
      return with(std::uint8_t());
    case DType::u32:
      return with(std::uint32_t());
    case DType::u64:
      return with(std::uint64_t());
  }
}

double f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double size = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Of a whole number of 0 to 2047.
std::uint16_t f16_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent) * 2 - 1;
  return static_cast<std::uint16_t>((exponent + 14) << 10 | static_cast<int>(fraction * 1024));
}

template <class T>
T stored(DType type, double value) {
  if (type == DType::f16) return static_cast<T>(f16_bits(value));
  if (type == DType::bf16) return static_cast<T>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  return static_cast<T>(value);
}
template <>
std::complex<float> stored(DType /*type*/, double value) {
  return {static_cast<float>(value), 0};
}
template <>
std::complex<double> stored(DType /*type*/, double value) {
  return {value, 0};
}

template <class T>
double loaded(DType type, T value) {
  if (type == DType::f16) return f16_value(static_cast<std::uint16_t>(value));
  if (type == DType::bf16) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{static_cast<std::uint16_t>(value)} << 16));
  }
  return static_cast<double>(value);
}
double loaded(DType /*type*/, std::complex<float> value) { return static_cast<double>(value.real()); }
double loaded(DType /*type*/, std::complex<double> value) { return value.real(); }

}  // namespace

std::vector<std::byte> pack(DType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * anyplace::size_of(type));
  as_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = stored<T>(type, values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

std::vector<double> unpack(DType type, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / anyplace::size_of(type));
  as_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = loaded(type, element);
    }
  });
  return values;
}

double precision(DType type) noexcept {
  switch (type) {
    case DType::bf16:
      return 0x1p-7;
    case DType::f16:
      return 0x1p-9;
    case DType::f32:
    case DType::c64:
      return 0x1p-22;
    case DType::f64:
    case DType::c128:
      return 0x1p-51;
    default:
      return 0;
  }
}

}  // namespace demo
