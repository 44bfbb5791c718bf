// SPDX-License-Identifier: Apache-2.0
//
// SmallReduce: an all_reduce of a few bytes, by recursive doubling over MPI's sends and receives. Open MPI's
// MPI_Iallreduce takes several times as long for these as its MPI_Allreduce, which can't be left when a rank is
// missing.
//
// Ranks beyond the largest power of two give theirs to a neighbour first and get the result from it at the end. Every
// rank combines the same values in the same way, up to which one comes first, so that all get the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ranks/mpi_library.h"

namespace anyplace::detail {

/// More bytes than this are MPI's own business.
inline constexpr std::uint64_t small_reduce_bytes = 8192;

class SmallReduce {
 public:
  struct Operation {
    void* data = nullptr;  ///< holds what the rank gives, and the result at the end
    int count = 0;
    MpiHandle type = 0;
    MpiHandle op = 0;
    MpiHandle comm = 0;
    int tag = 0;  ///< that no other operation has which is under way
  };

  SmallReduce(const MpiLibrary& mpi, const Operation& operation, std::uint64_t bytes, int rank, int size);

  /// Called when all requests are done: starts the next ones, which it adds. `code` is MPI's. False when there are
  /// none.
  bool advance(std::vector<MpiHandle>& requests, int& code);

 private:
  struct Step {
    int send_to = -1;
    int receive_from = -1;
    bool reduces = false;  ///< what comes is combined; else it is the result
  };

  const MpiLibrary& mpi_;
  const Operation operation_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  bool has_received_ = false;  ///< what is to be combined
  std::vector<std::byte> received_;
};

}  // namespace anyplace::detail
