// SPDX-License-Identifier: Apache-2.0
// What shapes and strides come to: how many elements, which bytes, which strides a contiguous array has.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/array.h"

namespace anyplace::detail {

/// Elements of a shape. Throws invalid_argument for a negative extent, and for more elements or bytes than 63 bits
/// count; extents beside a 0 are looked at, too.
std::int64_t count_elements(const Extents& shape, DType dtype, const char* operation);

/// Of a contiguous array; of any numbers where the shape's elements are too many to be counted.
Extents contiguous_strides(const Extents& shape) noexcept;

/// From the first element's first byte to the lowest byte and to behind the highest: low <= 0 < high. Of an array with
/// elements. Throws invalid_argument for what 63 bits don't count.
struct ByteRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
ByteRange range_of(const Extents& shape, const Extents& strides, DType dtype, const char* operation);

/// What an address of an element is a multiple of: bytes.
constexpr std::uint64_t alignment_of(DType dtype) noexcept {
  const bool is_complex = dtype == DType::c64 || dtype == DType::c128;
  return is_complex ? size_of(dtype) / 2 : size_of(dtype);
}

/// Throws invalid_argument for a number that is no DType.
void require_dtype(DType dtype, const char* operation);

}  // namespace anyplace::detail
