// SPDX-License-Identifier: Apache-2.0
//
// The algorithms of collectives as values: which rank sends which blocks to whom, in which step. All of it is pure; a
// NetworkRun (network_run.h) executes plans in virtual time. Of these algorithms, recursive doubling is planned by the
// code that the engine mpi executes (recursive_doubling.h in the kit), and `star` is what anyplace::comm does.
//
// Data is cut into blocks of equal size. A rank goes through its steps in order; steps that are linked by `with_next`
// are done together. What is received replaces the rank's own block, or is added to it when its steps are done.
//
// Invariant: a step never receives plainly into a block that it sends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace anyplace::tool {

/// Consecutive blocks.
struct Blocks {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct PlanStep {
  std::int32_t send_to = -1;       ///< negative: nothing is sent
  std::int32_t receive_from = -1;  ///< negative: nothing is received
  Blocks sent;
  Blocks received;
  bool reduces = false;      ///< the received blocks are added to the rank's own, else they replace them
  bool comes_first = false;  ///< the received blocks are the first operands
  bool with_next = false;    ///< the next step begins with this one
};
using PlanSteps = std::vector<PlanStep>;

/// Ranks are numbered machine by machine: rank r is device r % devices of machine r / devices.
struct Ranks {
  int machines = 1;
  int devices = 1;  ///< of one machine

  int count() const noexcept { return machines * devices; }
};

/// The root of those that have one is rank 0. all_to_all has the blocks that a rank sends, and after them those that it
/// gets: blocks 0 to n - 1 and n to 2 * n - 1.
enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all };

struct Algorithm {
  const char* name;
  CollectiveKind collective;
  const char* executed_by;  ///< the part of anyplace that does it this way; "" if none does
  /// Returns how many blocks a rank's data has.
  std::uint32_t (*blocks)(const Ranks& ranks);
  PlanSteps (*steps)(const Ranks& ranks, int rank);
  /// Returns which block is the rank's own: its part of an all_gather, and its result of a reduce_scatter.
  std::uint32_t (*own_block)(const Ranks& ranks, int rank);
};

/// All algorithms, those of one collective together.
std::span<const Algorithm> algorithms() noexcept;
std::vector<const Algorithm*> algorithms_of(CollectiveKind collective);

/// "all_reduce" and so on, in the order of CollectiveKind.
std::span<const char* const> collective_names() noexcept;

}  // namespace anyplace::tool
