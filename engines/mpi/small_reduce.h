// SPDX-License-Identifier: Apache-2.0
//
// SmallReduce: an all_reduce of a few bytes, by recursive doubling over MPI's sends and receives. Open MPI's
// MPI_Iallreduce takes several times as long for these as its MPI_Allreduce, which can't be left when a rank is
// missing.
//
// Ranks beyond the largest power of two give theirs to a neighbour first and get the result from it at the end. Every
// rank combines the same values in the same order, the lower ranks' first, so that all get the same bits: a sum of two
// NaNs is the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi_library.h"

namespace anyplace::mpi {

/// More bytes than this are MPI's own business.
inline constexpr std::uint64_t small_reduce_bytes = 8192;

/// What one rank does: the same for all operations of a group.
struct SmallPlan {
  struct Step {
    int send_to = -1;
    int receive_from = -1;
    bool reduces = false;      ///< what comes is combined; else it is the result
    bool comes_first = false;  ///< it is the first operand
  };
  std::vector<Step> steps;

  SmallPlan(int rank, int size);
};

/// May be used again after its end, so that an operation allocates nothing. Isn't destroyed while is_pending().
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

  /// Both outlive it.
  SmallReduce(const MpiLibrary& mpi, const SmallPlan& plan) noexcept : mpi_(mpi), plan_(plan) {}

  /// What look() does from now on. `bytes` are the operation's.
  void begin(const Operation& operation, std::uint64_t bytes);
  /// Tests what was started, and starts what comes next. True when all of it is done, or `code` isn't MPI's success.
  bool look(int& code) noexcept;
  /// Whether MPI may still use the operation's memory.
  bool is_pending() const noexcept { return is_sending_ || is_receiving_; }

 private:
  int start(const SmallPlan::Step& step) noexcept;
  int test(MpiHandle& request, bool& is_open) noexcept;
  int combine(const SmallPlan::Step& step) noexcept;

  const MpiLibrary& mpi_;
  const SmallPlan& plan_;
  Operation operation_;
  std::uint64_t bytes_ = 0;
  std::size_t next_ = 0;
  bool has_received_ = false;  ///< what is to be combined
  bool is_sending_ = false, is_receiving_ = false;
  MpiHandle send_ = 0, receive_ = 0;
  std::vector<std::byte> received_;
};

}  // namespace anyplace::mpi
