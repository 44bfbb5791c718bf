// SPDX-License-Identifier: Apache-2.0
#include "ranks/part.h"

#include <fmt/format.h>

#include "runtime/call.h"

namespace anyplace {

const char* to_string(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum:
      return "sum";
    case Reduction::prod:
      return "prod";
    case Reduction::min:
      return "min";
    case Reduction::max:
      return "max";
    case Reduction::avg:
      return "avg";
  }
  return "unknown";
}

namespace detail {

const char* to_string(Collective what) noexcept {
  constexpr const char* names[] = {"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
                                   "all_to_all", "send",   "recv",      "barrier"};
  const auto index = static_cast<std::size_t>(what);
  return index < std::size(names) ? names[index] : "unknown";
}

std::uint64_t Part::source_bytes(int rank, int size) const noexcept {
  const std::uint64_t bytes = count * size_of(type);
  switch (what) {
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return bytes * static_cast<std::uint64_t>(size);
    case Collective::broadcast:
      return rank == root ? bytes : 0;
    case Collective::recv:
    case Collective::barrier:
      return 0;
    default:
      return bytes;
  }
}

std::uint64_t Part::destination_bytes(int rank, int size) const noexcept {
  const std::uint64_t bytes = count * size_of(type);
  switch (what) {
    case Collective::all_gather:
    case Collective::all_to_all:
      return bytes * static_cast<std::uint64_t>(size);
    case Collective::broadcast:
      return rank != root ? bytes : 0;
    case Collective::reduce:
      return rank == root ? bytes : 0;
    case Collective::send:
    case Collective::barrier:
      return 0;
    default:
      return bytes;
  }
}

// The enums' numbers have to be those of engine.h, because they cross the boundary as they are.
#define ANYPLACE_SAME_TYPE(upper, lower, number, bytes) \
  static_assert(static_cast<int>(DType::lower) == (number) && size_of(DType::lower) == (bytes));
ANYPLACE_DTYPE_LIST(ANYPLACE_SAME_TYPE)
#undef ANYPLACE_SAME_TYPE
#define ANYPLACE_SAME_REDUCTION(upper, lower, number) static_assert(static_cast<int>(Reduction::lower) == (number));
ANYPLACE_REDUCTION_LIST(ANYPLACE_SAME_REDUCTION)
#undef ANYPLACE_SAME_REDUCTION
#define ANYPLACE_SAME_COLLECTIVE(upper, lower, number) static_assert(static_cast<int>(Collective::lower) == (number));
ANYPLACE_COLLECTIVE_LIST(ANYPLACE_SAME_COLLECTIVE)
#undef ANYPLACE_SAME_COLLECTIVE

anyplace_engine_part crossing_part(const Part& part) noexcept {
  return {static_cast<std::uint32_t>(part.what),
          static_cast<std::uint32_t>(part.type),
          static_cast<std::uint32_t>(part.reduction),
          part.root,
          part.count,
          part.destination,
          part.source};
}

std::vector<anyplace_engine_part> crossing_parts(const std::vector<Part>& parts) {
  std::vector<anyplace_engine_part> crossing;
  crossing.reserve(parts.size());
  for (const Part& part : parts) crossing.push_back(crossing_part(part));
  return crossing;
}

std::string describe(const Part& part) {
  if (part.what == Collective::barrier) return "barrier";
  std::string text = fmt::format("{} of {} {}", to_string(part.what), part.count, anyplace::to_string(part.type));
  if (part.reduces() && part.has_root()) {
    text += fmt::format(" ({}, root {})", anyplace::to_string(part.reduction), part.root);
  } else if (part.reduces()) {
    text += fmt::format(" ({})", anyplace::to_string(part.reduction));
  } else if (part.is_between_two()) {
    text += fmt::format(" ({} rank {})", part.what == Collective::send ? "to" : "from", part.root);
  } else if (part.has_root()) {
    text += fmt::format(" (root {})", part.root);
  }
  return text;
}

namespace {

/// Returns the reductions that a type has, in words.
const char* reductions_of(DType type) noexcept {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return "sum, prod, min, max and avg";
    case DType::c64:
    case DType::c128:
      return "sum, prod and avg";
    case DType::boolean:
      return "min (all of them) and max (any of them)";
    default:
      return "sum, prod, min and max";
  }
}

bool has_reduction(DType type, Reduction reduction) noexcept {
  const bool ordered = reduction == Reduction::min || reduction == Reduction::max;
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return true;
    case DType::c64:
    case DType::c128:
      return !ordered;
    case DType::boolean:
      return ordered;
    default:
      return reduction != Reduction::avg;
  }
}

}  // namespace

void require_reduction(const Part& part, const std::string& place, const char* operation) {
  if (!part.reduces()) return;
  if (part.reduction > Reduction::avg) {
    fail(ErrorCode::invalid_argument, place, operation,
         fmt::format("{} is no Reduction\n{} elements have {}\nsee docs/ranks.md", static_cast<int>(part.reduction),
                     anyplace::to_string(part.type), reductions_of(part.type)));
  }
  if (has_reduction(part.type, part.reduction)) return;
  fail(ErrorCode::invalid_argument, place, operation,
       fmt::format("{} elements have no {}\nthey have {}\nsee docs/ranks.md", anyplace::to_string(part.type),
                   anyplace::to_string(part.reduction), reductions_of(part.type)));
}

}  // namespace detail
}  // namespace anyplace
