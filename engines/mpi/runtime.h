// SPDX-License-Identifier: Apache-2.0
//
// Runtime is MPI in this process: it starts and ends MPI, and notices when the program itself calls MPI_Finalize.
//
// MPI_Finalize first deletes an attribute of MPI_COMM_SELF that the engine has set, and so calls the engine. From then
// on the engine calls nothing of MPI.
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
  MpiHandle world = 0;  ///< a duplicate of MPI_COMM_WORLD, which the application uses
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
  /// Returns whether MPI_Init_thread, and calls that wait for other ranks, may be made while other threads are inside
  /// MPI.
  bool allows_others() noexcept;
  /// Returns the status for a code of MPI's, and leaves MPI's text as the message.
  anyplace_status outcome(int code) const noexcept;
  /// Returns the status, and leaves `text` as the message.
  anyplace_status refuse(anyplace_status status, const char* text) const noexcept;

 private:
  int make_world() noexcept;
};

/// Returns the only Runtime, since a process has MPI once.
Runtime& runtime() noexcept;

}  // namespace anyplace::mpi
