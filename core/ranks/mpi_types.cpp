// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_types.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/half.h"

namespace anyplace::detail {
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

/// A NaN where either is one, always the same; -0 is less than 0. Without branches, so that loops of it are done by
/// vectors.
template <Reduction reduction, class T>
T extreme(T a, T b) noexcept {
  constexpr bool least = reduction == Reduction::min;
  const T of_equals = std::signbit(a) == least ? a : b;
  const T of_numbers = a == b ? of_equals : (a < b) == least ? a : b;
  return std::isunordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : of_numbers;
}

/// Integers wrap around.
template <Reduction reduction, class T>
T combined(T a, T b) noexcept {
  constexpr bool is_sum = reduction == Reduction::sum;
  if constexpr (reduction == Reduction::min || reduction == Reduction::max) {
    return extreme<reduction>(a, b);
  } else if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    return static_cast<T>(is_sum ? x + y : x * y);
  } else {
    const T result = is_sum ? a + b : a * b;
    return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
  }
}

template <class Format, Reduction reduction>
void reduce_own(void* in, void* inout, int* count, MpiHandle* /*type*/) noexcept {
  const auto* const from = static_cast<const typename Format::Element*>(in);
  auto* const to = static_cast<typename Format::Element*>(inout);
  for (int i = 0; i < *count; ++i) {
    to[i] = Format::store(combined<reduction, typename Format::Value>(Format::load(from[i]), Format::load(to[i])));
  }
}

struct OwnOp {
  DType type;
  Reduction reduction;
  MpiUserFunction function;
};
template <class Format>
constexpr std::array<OwnOp, 2> sums(DType type) {
  return {{{type, Reduction::sum, reduce_own<Format, Reduction::sum>},
           {type, Reduction::prod, reduce_own<Format, Reduction::prod>}}};
}
template <class Format>
constexpr std::array<OwnOp, 2> extremes(DType type) {
  return {{{type, Reduction::min, reduce_own<Format, Reduction::min>},
           {type, Reduction::max, reduce_own<Format, Reduction::max>}}};
}
constexpr std::array<OwnOp, 2> own_ops[] = {
    sums<Binary16>(DType::f16),
    extremes<Binary16>(DType::f16),
    sums<Bfloat16>(DType::bf16),
    extremes<Bfloat16>(DType::bf16),
    extremes<Plain<float>>(DType::f32),
    extremes<Plain<double>>(DType::f64),
    sums<Plain<std::int8_t>>(DType::i8),
    sums<Plain<std::uint8_t>>(DType::u8),
    sums<Plain<std::int16_t>>(DType::i16),
    sums<Plain<std::uint16_t>>(DType::u16),
};

MpiHandle& own_op(MpiOwnOps& ops, DType type, Reduction reduction) noexcept {
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

MpiHandle mpi_type(const MpiLibrary& mpi, DType type) noexcept {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return mpi.u16;
    case DType::f32:
      return mpi.f32;
    case DType::f64:
      return mpi.f64;
    case DType::c64:
      return mpi.c64;
    case DType::c128:
      return mpi.c128;
    case DType::i8:
      return mpi.i8;
    case DType::i16:
      return mpi.i16;
    case DType::i32:
      return mpi.i32;
    case DType::i64:
      return mpi.i64;
    case DType::u8:
    case DType::boolean:
      return mpi.u8;
    case DType::u32:
      return mpi.u32;
    case DType::u64:
      return mpi.u64;
  }
  return mpi.byte;
}

MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, DType type, Reduction reduction) noexcept {
  const Reduction plain = reduction == Reduction::avg ? Reduction::sum : reduction;
  const MpiHandle ours = own.of_type[static_cast<std::size_t>(type)][static_cast<std::size_t>(plain)];
  if (ours != 0) return ours;
  switch (plain) {
    case Reduction::prod:
      return mpi.prod;
    case Reduction::min:
      return mpi.min;
    case Reduction::max:
      return mpi.max;
    default:
      return mpi.sum;
  }
}

void divide(void* elements, std::uint64_t count, DType type, int by) noexcept {
  switch (type) {
    case DType::f16:
      return divide_half<Binary16>(elements, count, by);
    case DType::bf16:
      return divide_half<Bfloat16>(elements, count, by);
    case DType::f32:
      return divide_plain<float>(elements, count, by);
    case DType::f64:
      return divide_plain<double>(elements, count, by);
    case DType::c64:
      return divide_plain<float>(elements, count * 2, by);
    case DType::c128:
      return divide_plain<double>(elements, count * 2, by);
    default:
      return;
  }
}

}  // namespace anyplace::detail
