// SPDX-License-Identifier: Apache-2.0
#include "arrays/layout.h"

#include <fmt/format.h>

#include "runtime/call.h"

namespace anyplace::detail {

void require_dtype(DType dtype, const char* operation) {
  if (size_of(dtype) != 0) return;
  fail(ErrorCode::invalid_argument, {}, operation,
       fmt::format("{} is no DType\nit is one of f16, bf16, f32, f64, c64, c128, i8 to i64, u8 to u64, boolean\nsee "
                   "anyplace/dtype.h",
                   static_cast<int>(dtype)));
}

std::int64_t count_elements(const Extents& shape, DType dtype, const char* operation) {
  require_dtype(dtype, operation);
  std::int64_t count = static_cast<std::int64_t>(size_of(dtype));
  bool too_many = false;
  bool none = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      fail(ErrorCode::invalid_argument, {}, operation,
           fmt::format("the shape {} has a negative extent, in dimension {}", shape.to_string(), i));
    }
    none |= shape[i] == 0;
    if (shape[i] != 0) too_many |= __builtin_mul_overflow(count, shape[i], &count);
  }
  if (too_many) {
    fail(ErrorCode::invalid_argument, {}, operation,
         fmt::format("elements of {} in the shape {} take more than 2^63 bytes", to_string(dtype), shape.to_string()));
  }
  return none ? 0 : count / static_cast<std::int64_t>(size_of(dtype));
}

Extents contiguous_strides(const Extents& shape) noexcept {
  Extents strides = shape;
  std::uint64_t stride = 1;  // it may wrap around; count_elements() checks the product
  for (std::size_t i = shape.size(); i-- != 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    if (shape[i] > 1) stride *= static_cast<std::uint64_t>(shape[i]);
  }
  return strides;
}

ByteRange range_of(const Extents& shape, const Extents& strides, DType dtype, const char* operation) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  ByteRange range{0, element};
  bool too_far = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = 0;
    too_far |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    too_far |= __builtin_mul_overflow(reach, element, &reach);
    std::int64_t& end = reach < 0 ? range.low : range.high;
    too_far |= __builtin_add_overflow(end, reach, &end);
  }
  if (too_far) {
    fail(ErrorCode::invalid_argument, {}, operation,
         fmt::format("elements of {} in the shape {} with the strides {} lie more than 2^63 bytes apart",
                     to_string(dtype), shape.to_string(), strides.to_string()));
  }
  return range;
}

}  // namespace anyplace::detail
