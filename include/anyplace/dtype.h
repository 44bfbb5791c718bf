// SPDX-License-Identifier: Apache-2.0
//
// The types of elements that array views, generators and collectives know. The names are the kinds of NumPy and DLPack
// with their bits.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace anyplace {

/// The type of an element. Its number is no promise to other processes: a handle or a message names a type in words.
enum class DType : std::uint8_t {
  f16,      ///< IEEE 754 binary16
  bf16,     ///< the upper half of an f32
  f32,      ///< float
  f64,      ///< double
  c64,      ///< two f32: real, imaginary
  c128,     ///< two f64
  i8,       ///< signed, two's complement, of 8 bits
  i16,      ///< signed, of 16 bits
  i32,      ///< signed, of 32 bits
  i64,      ///< signed, of 64 bits
  u8,       ///< unsigned, of 8 bits
  u16,      ///< unsigned, of 16 bits
  u32,      ///< unsigned, of 32 bits
  u64,      ///< unsigned, of 64 bits
  boolean,  ///< a byte that is 0 or 1
};

/// Bytes of an element; 0 for any other value.
constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::c64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::c128:
      return 16;
  }
  return 0;
}

/// "f16", "bf16", "f32", "f64", "c64", "c128", "i8" to "i64", "u8" to "u64", "bool"; "unknown" for any other value.
constexpr const char* to_string(DType type) noexcept {
  switch (type) {
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::c64:
      return "c64";
    case DType::c128:
      return "c128";
    case DType::i8:
      return "i8";
    case DType::i16:
      return "i16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::u16:
      return "u16";
    case DType::u32:
      return "u32";
    case DType::u64:
      return "u64";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

/// The DType of a C++ type. Half precision has no C++ type here: its elements are given by address and DType.
template <class T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<std::complex<float>> { static constexpr DType value = DType::c64; };
template <> struct DTypeOf<std::complex<double>> { static constexpr DType value = DType::c128; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::i16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::u16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::u32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::u64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
// clang-format on

/// The DTypeOf of T without its qualifiers.
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace anyplace
