// SPDX-License-Identifier: Apache-2.0
//
// Finds the MPI type of an element's type and the MPI operation of a reduction.
//
// anyplace makes operations of its own where MPI has none, or where its result depends on the order of the operands or
// on the number of elements: MPI has no half precision; its min and max give a NaN, or which zero, by the order; and
// Open MPI's sums of small integers saturate where it adds them by vectors, and wrap in the rest.
#pragma once

#include <cstdint>

#include "anyplace/backend/engine.h"
#include "mpi_library.h"

namespace anyplace::mpi {

/// The handles of anyplace's own operations, which are made once MPI is initialised. Each type has them in the order
/// sum, prod, min, max; where one is 0, MPI's own operation is used.
struct MpiOwnOps {
  MpiHandle of_type[ANYPLACE_DTYPE_COUNT][4] = {};
};

/// Makes the operations. Returns false if MPI refused one.
bool make_own_ops(const MpiLibrary& mpi, MpiOwnOps& ops) noexcept;

MpiHandle mpi_type(const MpiLibrary& mpi, std::uint32_t type) noexcept;
/// Returns the operation for the reduction. For avg it is the sum, whose result divide() then divides.
MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, std::uint32_t type, std::uint32_t reduction) noexcept;

/// Divides `count` elements by `by`. Does nothing for a type that has no avg.
void divide(void* elements, std::uint64_t count, std::uint32_t type, int by) noexcept;

}  // namespace anyplace::mpi
