// SPDX-License-Identifier: Apache-2.0
// Which MPI type and operation an element's type and a reduction are. MPI has no half precision: those elements are
// 16-bit integers to it, with operations of our own.
#pragma once

#include "ranks/mpi_library.h"
#include "ranks/part.h"

namespace anyplace::detail {

/// MPI's operations of our own: made once MPI is initialised.
struct MpiOwnOps {
  MpiHandle f16[4] = {};  ///< sum, prod, min, max
  MpiHandle bf16[4] = {};
};

/// False if MPI refused one.
bool make_own_ops(const MpiLibrary& mpi, MpiOwnOps& ops) noexcept;

MpiHandle mpi_type(const MpiLibrary& mpi, DType type) noexcept;
/// Of avg it is the sum.
MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, DType type, Reduction reduction) noexcept;

/// Divides `count` elements of a type that has avg.
void divide(void* elements, std::uint64_t count, DType type, int by) noexcept;

}  // namespace anyplace::detail
