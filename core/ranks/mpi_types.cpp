// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_types.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ranks/half.h"

namespace anyplace::detail {
namespace {

// ---- Elements, as the operations have them
// ---------------------------------------------------------------------------

template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static T load(T value) noexcept { return value; }
  static T store(T value) noexcept { return value; }
};
struct F16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) noexcept { return from_f16(bits); }
  static std::uint16_t store(float value) noexcept { return to_f16(value); }
};
struct Bf16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) noexcept { return from_bf16(bits); }
  static std::uint16_t store(float value) noexcept { return to_bf16(value); }
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

template <class Element, Reduction reduction>
void reduce_own(void* in, void* inout, int* count, MpiHandle* /*type*/) noexcept {
  const auto* const from = static_cast<const typename Element::Stored*>(in);
  auto* const to = static_cast<typename Element::Stored*>(inout);
  for (int i = 0; i < *count; ++i) {
    to[i] = Element::store(combined<reduction, typename Element::Value>(Element::load(from[i]), Element::load(to[i])));
  }
}

struct OwnOp {
  DType type;
  Reduction reduction;
  MpiUserFunction function;
};
template <class Element>
constexpr std::array<OwnOp, 2> sums(DType type) {
  return {{{type, Reduction::sum, reduce_own<Element, Reduction::sum>},
           {type, Reduction::prod, reduce_own<Element, Reduction::prod>}}};
}
template <class Element>
constexpr std::array<OwnOp, 2> extremes(DType type) {
  return {{{type, Reduction::min, reduce_own<Element, Reduction::min>},
           {type, Reduction::max, reduce_own<Element, Reduction::max>}}};
}
constexpr std::array<OwnOp, 2> own_ops[] = {
    sums<F16>(DType::f16),
    extremes<F16>(DType::f16),
    sums<Bf16>(DType::bf16),
    extremes<Bf16>(DType::bf16),
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

// ---- Averages
// --------------------------------------------------------------------------------------------------------

template <class T>
void divide_plain(void* elements, std::uint64_t count, int by) noexcept {
  auto* const values = static_cast<T*>(elements);
  for (std::uint64_t i = 0; i < count; ++i) values[i] /= static_cast<T>(by);
}

template <class Half>
void divide_half(void* elements, std::uint64_t count, int by) noexcept {
  auto* const values = static_cast<std::uint16_t*>(elements);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = Half::store(Half::load(values[i]) / static_cast<float>(by));
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
      return divide_half<F16>(elements, count, by);
    case DType::bf16:
      return divide_half<Bf16>(elements, count, by);
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
