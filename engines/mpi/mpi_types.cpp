// SPDX-License-Identifier: Apache-2.0
#include "mpi_types.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "anyplace/backend/kit/half.h"

namespace anyplace::mpi {
namespace {

// ---- Elements, as the operations have them -------------------------------------------------------------------------

template <class T>
struct Plain {
  using Element = T;
  using Value = T;
  static T load(T value) noexcept { return value; }
  static T store(T value) noexcept { return value; }
};

// ---- Operations: their results don't depend on which operand is the first ------------------------------------------

/// Returns the lesser or the greater of two values. The result is always the same NaN if either is a NaN, and -0 is
/// less than 0. There are no branches, so that loops of it are done by vectors.
template <std::uint32_t reduction, class T>
T extreme(T a, T b) noexcept {
  constexpr bool least = reduction == ANYPLACE_REDUCTION_MIN;
  const T of_equals = std::signbit(a) == least ? a : b;
  const T of_numbers = a == b ? of_equals : (a < b) == least ? a : b;
  return std::isunordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : of_numbers;
}

/// Integers wrap around.
template <std::uint32_t reduction, class T>
T combined(T a, T b) noexcept {
  constexpr bool is_sum = reduction == ANYPLACE_REDUCTION_SUM;
  if constexpr (reduction == ANYPLACE_REDUCTION_MIN || reduction == ANYPLACE_REDUCTION_MAX) {
    return extreme<reduction>(a, b);
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    return static_cast<T>(is_sum ? x + y : x * y);
  } else {
    const T result = is_sum ? a + b : a * b;
    return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
  }
}

template <class Format, std::uint32_t reduction>
void reduce_own(void* in, void* inout, int* count, MpiHandle* /*type*/) noexcept {
  const auto* const from = static_cast<const typename Format::Element*>(in);
  auto* const to = static_cast<typename Format::Element*>(inout);
  for (int i = 0; i < *count; ++i) {
    to[i] = Format::store(combined<reduction, typename Format::Value>(Format::load(from[i]), Format::load(to[i])));
  }
}

struct OwnOp {
  std::uint32_t type;
  std::uint32_t reduction;
  MpiUserFunction function;
};
template <class Format>
constexpr std::array<OwnOp, 2> sums(std::uint32_t type) {
  return {{{type, ANYPLACE_REDUCTION_SUM, reduce_own<Format, ANYPLACE_REDUCTION_SUM>},
           {type, ANYPLACE_REDUCTION_PROD, reduce_own<Format, ANYPLACE_REDUCTION_PROD>}}};
}
template <class Format>
constexpr std::array<OwnOp, 2> extremes(std::uint32_t type) {
  return {{{type, ANYPLACE_REDUCTION_MIN, reduce_own<Format, ANYPLACE_REDUCTION_MIN>},
           {type, ANYPLACE_REDUCTION_MAX, reduce_own<Format, ANYPLACE_REDUCTION_MAX>}}};
}
constexpr std::array<OwnOp, 2> own_ops[] = {
    sums<backend::Binary16>(ANYPLACE_DTYPE_F16),   extremes<backend::Binary16>(ANYPLACE_DTYPE_F16),
    sums<backend::Bfloat16>(ANYPLACE_DTYPE_BF16),  extremes<backend::Bfloat16>(ANYPLACE_DTYPE_BF16),
    extremes<Plain<float>>(ANYPLACE_DTYPE_F32),    extremes<Plain<double>>(ANYPLACE_DTYPE_F64),
    sums<Plain<std::int8_t>>(ANYPLACE_DTYPE_I8),   sums<Plain<std::uint8_t>>(ANYPLACE_DTYPE_U8),
    sums<Plain<std::int16_t>>(ANYPLACE_DTYPE_I16), sums<Plain<std::uint16_t>>(ANYPLACE_DTYPE_U16),
};

MpiHandle& own_op(MpiOwnOps& ops, std::uint32_t type, std::uint32_t reduction) noexcept {
  return ops.of_type[static_cast<std::size_t>(type)][static_cast<std::size_t>(reduction)];
}

// ---- Averages ------------------------------------------------------------------------------------------------------

template <class T>
void divide_plain(void* elements, std::uint64_t count, int by) noexcept {
  auto* const values = static_cast<T*>(elements);
  for (std::uint64_t i = 0; i < count; ++i) values[i] /= static_cast<T>(by);
}

template <class Format>
void divide_half(void* elements, std::uint64_t count, int by) noexcept {
  auto* const values = static_cast<std::uint16_t*>(elements);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = Format::store(Format::load(values[i]) / static_cast<float>(by));
}

}  // namespace

bool make_own_ops(const MpiLibrary& mpi, MpiOwnOps& ops) noexcept {
  for (const std::array<OwnOp, 2>& two : own_ops) {
    for (const OwnOp& one : two) {
      if (mpi.Op_create(one.function, 1, &own_op(ops, one.type, one.reduction)) != mpi_success) return false;
    }
  }
  return true;
}

MpiHandle mpi_type(const MpiLibrary& mpi, std::uint32_t type) noexcept {
  switch (type) {
    case ANYPLACE_DTYPE_F16:
    case ANYPLACE_DTYPE_BF16:
    case ANYPLACE_DTYPE_U16:
      return mpi.u16;
    case ANYPLACE_DTYPE_F32:
      return mpi.f32;
    case ANYPLACE_DTYPE_F64:
      return mpi.f64;
    case ANYPLACE_DTYPE_C64:
      return mpi.c64;
    case ANYPLACE_DTYPE_C128:
      return mpi.c128;
    case ANYPLACE_DTYPE_I8:
      return mpi.i8;
    case ANYPLACE_DTYPE_I16:
      return mpi.i16;
    case ANYPLACE_DTYPE_I32:
      return mpi.i32;
    case ANYPLACE_DTYPE_I64:
      return mpi.i64;
    case ANYPLACE_DTYPE_U8:
    case ANYPLACE_DTYPE_BOOLEAN:
      return mpi.u8;
    case ANYPLACE_DTYPE_U32:
      return mpi.u32;
    case ANYPLACE_DTYPE_U64:
      return mpi.u64;
  }
  return mpi.byte;
}

MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, std::uint32_t type, std::uint32_t reduction) noexcept {
  const std::uint32_t plain = reduction == ANYPLACE_REDUCTION_AVG ? std::uint32_t{ANYPLACE_REDUCTION_SUM} : reduction;
  const MpiHandle ours = own.of_type[static_cast<std::size_t>(type)][static_cast<std::size_t>(plain)];
  if (ours != 0) return ours;
  switch (plain) {
    case ANYPLACE_REDUCTION_PROD:
      return mpi.prod;
    case ANYPLACE_REDUCTION_MIN:
      return mpi.min;
    case ANYPLACE_REDUCTION_MAX:
      return mpi.max;
    default:
      return mpi.sum;
  }
}

void divide(void* elements, std::uint64_t count, std::uint32_t type, int by) noexcept {
  switch (type) {
    case ANYPLACE_DTYPE_F16:
      return divide_half<backend::Binary16>(elements, count, by);
    case ANYPLACE_DTYPE_BF16:
      return divide_half<backend::Bfloat16>(elements, count, by);
    case ANYPLACE_DTYPE_F32:
      return divide_plain<float>(elements, count, by);
    case ANYPLACE_DTYPE_F64:
      return divide_plain<double>(elements, count, by);
    case ANYPLACE_DTYPE_C64:
      return divide_plain<float>(elements, count * 2, by);
    case ANYPLACE_DTYPE_C128:
      return divide_plain<double>(elements, count * 2, by);
    default:
      return;
  }
}

}  // namespace anyplace::mpi
