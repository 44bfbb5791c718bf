// SPDX-License-Identifier: Apache-2.0
//
// Which MPI type and operation an element's type and a reduction are.
//
// Operations are of our own where MPI's don't give the same bits whatever the order and the number of elements: MPI has
// no half precision; its min and max give a NaN, or which zero, by the order; and Open MPI's sums of small integers
// saturate where it adds them by vectors, and wrap in the rest.
#pragma once

#include <cstdint>

#include "anyplace/backend/engine.h"
#include "mpi_library.h"

namespace anyplace::mpi {

/// MPI's operations of our own: made once MPI is initialised. Those of a type are sum, prod, min, max; 0 is MPI's.
struct MpiOwnOps {
  MpiHandle of_type[ANYPLACE_DTYPE_COUNT][4] = {};
};

/// False if MPI refused one.
bool make_own_ops(const MpiLibrary& mpi, MpiOwnOps& ops) noexcept;

MpiHandle mpi_type(const MpiLibrary& mpi, std::uint32_t type) noexcept;
/// Of avg it is the sum.
MpiHandle mpi_op(const MpiLibrary& mpi, const MpiOwnOps& own, std::uint32_t type, std::uint32_t reduction) noexcept;

/// Divides `count` elements of a type that has avg.
void divide(void* elements, std::uint64_t count, std::uint32_t type, int by) noexcept;

}  // namespace anyplace::mpi
