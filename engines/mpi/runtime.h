// SPDX-License-Identifier: Apache-2.0
//
// Runtime: MPI in this process: its start, its end, and the program's own MPI_Finalize.
//
// MPI tells of that one by deleting an attribute of MPI_COMM_SELF first. Nothing of MPI is called any more then.
#pragma once

#include <atomic>
#include <cstdint>

#include "anyplace/backend/engine.h"
#include "mpi_library.h"
#include "mpi_types.h"

namespace anyplace::mpi {

struct Runtime {
  const anyplace_engine_host* host = nullptr;
  const MpiLibrary* mpi = nullptr;  ///< written once, by the first open() that succeeds
  MpiOwnOps own_ops;
  MpiHandle world = 0;  ///< a duplicate of the world, which is the application's
  int world_rank = 0;
  int world_size = 1;
  bool cuda_aware = false;  ///< MPI reaches memory of CUDA's devices
  bool begun_here = false;
  std::atomic<bool> multiple{true};  ///< several threads may be inside MPI
  std::atomic<bool> begun{false};
  std::atomic<bool> over{false};  ///< MPI_Finalize was called

  anyplace_status open(anyplace_engine_library& out);
  /// MPI_Init_thread, unless the program has called it, and MPI_Comm_dup of the world. Waits for all ranks.
  anyplace_status begin() noexcept;
  /// Whether MPI_Init_thread and what waits for other ranks may be called beside other calls.
  bool allows_others() noexcept;
  /// The status of a code of MPI's, with MPI's text as the message.
  anyplace_status outcome(int code) const noexcept;
  /// The status, with a text of our own as the message.
  anyplace_status refuse(anyplace_status status, const char* text) const noexcept;

 private:
  int make_world() noexcept;
};

/// The only one. MPI is once in a process.
Runtime& runtime() noexcept;

}  // namespace anyplace::mpi
