// SPDX-License-Identifier: Apache-2.0
//
// Which MPI type and operation an element's type and a reduction are.
//
// Operations are of our own where MPI's don't give the same bits whatever the order and the number of elements: MPI has
// no half precision; its min and max give a NaN, or which zero, by the order; and Open MPI's sums of small integers
// saturate where it adds them by vectors, and wrap in the rest.
#pragma once

#include <cstddef>

#include "ranks/mpi_library.h"
#include "ranks/part.h"

namespace anyplace::detail {

inline constexpr std::size_t dtype_count = static_cast<std::size_t>(DType::boolean) + 1;

/// MPI's operations of our own: made once MPI is initialised. Those of a type are sum, prod, min, max; 0 is MPI's.
struct MpiOwnOps {
  MpiHandle of_type[dtype_count][4] = {};
};

/// False if MPI refused one.
bool make_own_ops(const MpiLibrary& mpi, MpiOwnOps& ops) noexcept;

MpiHandle mpi_type(const MpiLibrary& mpi, DType type) noexcept;
/// Of avg it is the sum.
MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, DType type, Reduction reduction) noexcept;

/// Divides `count` elements of a type that has avg.
void divide(void* elements, std::uint64_t count, DType type, int by) noexcept;

}  // namespace anyplace::detail
