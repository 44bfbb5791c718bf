// SPDX-License-Identifier: Apache-2.0
// Computations with shapes and strides: how many elements there are, which bytes they take, which strides a contiguous
// array has.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/array.h"

namespace anyplace::detail {

/// The number of elements of a shape. Throws invalid_argument for a negative extent, and for more elements or bytes
/// than 63 bits count; the product leaves out extents of 0, so they hide nothing.
std::int64_t count_elements(const Extents& shape, DType dtype, const char* operation);

/// The strides of a contiguous array. Meaningless if the shape has more elements than can be counted.
Extents contiguous_strides(const Extents& shape) noexcept;

/// The bytes that the elements reach, counted from the first element's first byte: from the lowest byte to behind the
/// highest, low <= 0 < high. The array has elements. range_of() throws invalid_argument for more bytes than 63 bits
/// count.
struct ByteRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
ByteRange range_of(const Extents& shape, const Extents& strides, DType dtype, const char* operation);

/// The alignment of an element's address, in bytes.
constexpr std::uint64_t alignment_of(DType dtype) noexcept {
  const bool is_complex = dtype == DType::c64 || dtype == DType::c128;
  return is_complex ? size_of(dtype) / 2 : size_of(dtype);
}

/// Throws invalid_argument for a number that is no DType.
void require_dtype(DType dtype, const char* operation);

}  // namespace anyplace::detail
