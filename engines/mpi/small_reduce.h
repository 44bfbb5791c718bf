// SPDX-License-Identifier: Apache-2.0
//
// SmallReduce does an all_reduce of a few bytes by recursive doubling over MPI's sends and receives. Open MPI's
// MPI_Iallreduce takes several times as long for these as its MPI_Allreduce does, but a thread can't leave
// MPI_Allreduce when a rank is missing. The steps are those of recursive_doubling.h in the kit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "anyplace/backend/kit/recursive_doubling.h"
#include "mpi_library.h"

namespace anyplace::mpi {

/// The steps of one rank, which are the same for all operations of a group.
using SmallPlan = std::vector<backend::RecursiveDoublingStep>;

/// A SmallReduce may be used again after the end of an operation, so that the next one allocates nothing. It isn't
/// destroyed while is_pending().
class SmallReduce {
 public:
  struct Operation {
    void* data = nullptr;  ///< the rank's own values, and at the end the result
    int count = 0;
    MpiHandle type = 0;
    MpiHandle op = 0;
    MpiHandle comm = 0;
    int tag = 0;  ///< a tag that no other operation under way has
  };

  /// Both have to outlive the object.
  SmallReduce(const MpiLibrary& mpi, const SmallPlan& plan) noexcept : mpi_(mpi), plan_(plan) {}

  /// Sets the operation that look() does from now on; its data has `bytes` bytes.
  void begin(const Operation& operation, std::uint64_t bytes);
  /// Tests what was started, and starts what comes next. True when all of it is done, or `code` isn't MPI's success.
  bool look(int& code) noexcept;
  /// Returns whether MPI may still use the operation's memory.
  bool is_pending() const noexcept { return is_sending_ || is_receiving_; }

 private:
  int start(const backend::RecursiveDoublingStep& step) noexcept;
  int test(MpiHandle& request, bool& is_open) noexcept;
  int combine(const backend::RecursiveDoublingStep& step) noexcept;

  const MpiLibrary& mpi_;
  const SmallPlan& plan_;
  Operation operation_;
  std::uint64_t bytes_ = 0;
  std::size_t next_ = 0;
  bool has_received_ = false;  ///< whether received_ is combined once the receive is done
  bool is_sending_ = false, is_receiving_ = false;
  MpiHandle send_ = 0, receive_ = 0;
  std::vector<std::byte> received_;
};

}  // namespace anyplace::mpi
