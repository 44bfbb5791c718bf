// SPDX-License-Identifier: Apache-2.0
//
// A Group has the ranks of an MPI communicator. An Operation is what was started in one: requests of MPI's, which are
// tested.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "anyplace/backend/engine.h"
#include "runtime.h"
#include "small_reduce.h"

namespace anyplace::mpi {

struct Operation;

struct Group {
  /// `device` is null for the world, whose operations are of the host's memory.
  Group(MpiHandle comm, int rank, int size, const anyplace_engine_device* device);

  MpiHandle comm;
  const int rank;
  const int size;
  anyplace_engine_device device{};
  bool is_foreign = false;           ///< MPI reaches the memory of the device, and the host doesn't
  bool takes_device_memory = false;  ///< MPI reaches the memory of the device
  const SmallPlan small_plan;
  std::uint64_t sequence = 0;        ///< how many small all_reduces were started; the same at all ranks
  std::unique_ptr<Operation> spare;  ///< for the next operation, so that a small one allocates nothing

  void describe(anyplace_engine_group& out) noexcept;
};

struct Operation {
  explicit Operation(Group& of) noexcept : group(of), small(*runtime().mpi, of.small_plan) {}

  Group& group;
  std::vector<anyplace_engine_part> parts;
  std::vector<MpiHandle> requests;
  bool is_small = false;
  SmallReduce small;        ///< does the all_reduce if is_small
  std::uint64_t begun = 0;  ///< elements of a large all_reduce in pieces that were started; otherwise 0

  /// Starts `parts`. Returns a code of MPI's, as test() does.
  int start();
  /// Tests once, and starts what comes next. Sets `state` to ANYPLACE_OPERATION_*.
  int test(std::uint32_t& state);

 private:
  void start_small();
  int start_piece();
  int start_part(const anyplace_engine_part& part, int tag);
  void divide_averages() noexcept;
};

}  // namespace anyplace::mpi
