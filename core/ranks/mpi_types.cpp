// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_types.h"

#include <algorithm>
#include <cstddef>

#include "ranks/half.h"

namespace anyplace::detail {
namespace {

struct F16 {
  static float load(std::uint16_t bits) noexcept { return from_f16(bits); }
  static std::uint16_t store(float value) noexcept { return to_f16(value); }
};
struct Bf16 {
  static float load(std::uint16_t bits) noexcept { return from_bf16(bits); }
  static std::uint16_t store(float value) noexcept { return to_bf16(value); }
};

template <Reduction reduction>
float combined(float a, float b) noexcept {
  if constexpr (reduction == Reduction::sum) return a + b;
  if constexpr (reduction == Reduction::prod) return a * b;
  if constexpr (reduction == Reduction::min) return b < a ? b : a;
  if constexpr (reduction == Reduction::max) return a < b ? b : a;
}

template <class Half, Reduction reduction>
void reduce_half(void* in, void* inout, int* count, MpiHandle* /*type*/) noexcept {
  const auto* const from = static_cast<const std::uint16_t*>(in);
  auto* const to = static_cast<std::uint16_t*>(inout);
  for (int i = 0; i < *count; ++i) {
    to[i] = Half::store(combined<reduction>(Half::load(from[i]), Half::load(to[i])));
  }
}

template <class Half>
bool make_ops(const MpiLibrary& mpi, MpiHandle (&ops)[4]) noexcept {
  constexpr MpiUserFunction functions[] = {reduce_half<Half, Reduction::sum>, reduce_half<Half, Reduction::prod>,
                                           reduce_half<Half, Reduction::min>, reduce_half<Half, Reduction::max>};
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    if (mpi.Op_create(functions[i], 1, &ops[i]) != mpi_success) return false;
  }
  return true;
}

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
  return make_ops<F16>(mpi, ops.f16) && make_ops<Bf16>(mpi, ops.bf16);
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
  if (type == DType::f16) return own.f16[static_cast<std::size_t>(plain)];
  if (type == DType::bf16) return own.bf16[static_cast<std::size_t>(plain)];
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
