// SPDX-License-Identifier: Apache-2.0
#include "tools/collective_plan.h"

#include <algorithm>
#include <bit>

#include "anyplace/backend/kit/recursive_doubling.h"

namespace anyplace::tool {
namespace {

std::uint32_t unsigned_of(int number) noexcept { return static_cast<std::uint32_t>(number); }

std::uint32_t one_block(const Ranks& /*ranks*/) { return 1; }
std::uint32_t block_for_each_rank(const Ranks& ranks) { return unsigned_of(ranks.count()); }
std::uint32_t two_blocks_for_each_rank(const Ranks& ranks) { return 2 * block_for_each_rank(ranks); }
std::uint32_t block_of_rank(const Ranks& /*ranks*/, int rank) { return unsigned_of(rank); }

void append(PlanSteps& steps, const PlanSteps& more) { steps.insert(steps.end(), more.begin(), more.end()); }

// ---- Rings ---------------------------------------------------------------------------------------------------------

/// Ranks in a ring, as the one at `place` sees it. Each has a piece of `each` blocks, from block `first` on.
struct Ring {
  int size;
  int place;
  int next;      // the rank after this one
  int previous;  // the rank before this one
  std::uint32_t first;
  std::uint32_t each;

  Blocks piece(int index) const noexcept {
    const int wrapped = ((index % size) + size) % size;
    return {first + unsigned_of(wrapped) * each, each};
  }
};

Ring ring_of_all(const Ranks& ranks, int rank) {
  const int n = ranks.count();
  return {n, rank, (rank + 1) % n, (rank + n - 1) % n, 0, 1};
}
/// The devices of a machine. The pieces are cut again, for the machines.
Ring ring_in_machine(const Ranks& ranks, int rank) {
  const int d = ranks.devices, own = rank % d, base = rank - own;
  return {d, own, base + (own + 1) % d, base + (own + d - 1) % d, 0, unsigned_of(ranks.machines)};
}
/// The devices that have one number in their machines. They share the piece that the machine's ring gives to that
/// number.
Ring ring_of_machines(const Ranks& ranks, int rank) {
  const int m = ranks.machines, d = ranks.devices, own = rank / d, device = rank % d;
  return {m, own, (own + 1) % m * d + device, (own + m - 1) % m * d + device, unsigned_of(device * m), 1};
}

/// In the end the rank has the sum of its own piece. The sum so far comes first, so that the order is the ring's.
PlanSteps reduce_scatter_in(const Ring& ring) {
  PlanSteps steps;
  for (int step = 0; step < ring.size - 1; ++step) {
    steps.push_back(
        {ring.next, ring.previous, ring.piece(ring.place - 1 - step), ring.piece(ring.place - 2 - step), true, true});
  }
  return steps;
}
PlanSteps all_gather_in(const Ring& ring) {
  PlanSteps steps;
  for (int step = 0; step < ring.size - 1; ++step) {
    steps.push_back({ring.next, ring.previous, ring.piece(ring.place - step), ring.piece(ring.place - 1 - step)});
  }
  return steps;
}

PlanSteps ring_reduce_scatter(const Ranks& ranks, int rank) { return reduce_scatter_in(ring_of_all(ranks, rank)); }
PlanSteps ring_all_gather(const Ranks& ranks, int rank) { return all_gather_in(ring_of_all(ranks, rank)); }
PlanSteps ring_all_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps = ring_reduce_scatter(ranks, rank);
  append(steps, ring_all_gather(ranks, rank));
  return steps;
}

PlanSteps hierarchical_reduce_scatter(const Ranks& ranks, int rank) {
  PlanSteps steps = reduce_scatter_in(ring_in_machine(ranks, rank));
  append(steps, reduce_scatter_in(ring_of_machines(ranks, rank)));
  return steps;
}
PlanSteps hierarchical_all_gather(const Ranks& ranks, int rank) {
  PlanSteps steps = all_gather_in(ring_of_machines(ranks, rank));
  append(steps, all_gather_in(ring_in_machine(ranks, rank)));
  return steps;
}
PlanSteps hierarchical_all_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps = hierarchical_reduce_scatter(ranks, rank);
  append(steps, hierarchical_all_gather(ranks, rank));
  return steps;
}
std::uint32_t hierarchical_block(const Ranks& ranks, int rank) {
  return unsigned_of(rank % ranks.devices * ranks.machines + rank / ranks.devices);
}

// ---- Trees ---------------------------------------------------------------------------------------------------------

/// The children of rank r are r + 1, r + 2, r + 4 and so on, as long as they are less than r's own lowest bit.
int lowest_bit(const Ranks& ranks, int rank) {
  return rank == 0 ? static_cast<int>(std::bit_ceil(unsigned_of(ranks.count()))) : rank & -rank;
}

PlanSteps tree_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps;
  const int own = lowest_bit(ranks, rank);
  for (int bit = 1; bit < own; bit *= 2) {
    if (rank + bit < ranks.count()) steps.push_back({-1, rank + bit, {}, {0, 1}, true});
  }
  if (rank != 0) steps.push_back({rank - own, -1, {0, 1}, {}});
  return steps;
}
/// Each rank passes on what its subtree needs: the blocks of the subtree's ranks, or the same block to all.
PlanSteps tree_down(const Ranks& ranks, int rank, bool scatters) {
  const int n = ranks.count(), own = lowest_bit(ranks, rank);
  const auto blocks = [&](int child, int bit) -> Blocks {
    if (!scatters) return {0, 1};
    return {unsigned_of(child), unsigned_of(std::min(child + bit, n) - child)};
  };
  PlanSteps steps;
  if (rank != 0) steps.push_back({-1, rank - own, {}, blocks(rank, own)});
  for (int bit = own / 2; bit > 0; bit /= 2) {
    if (rank + bit < n) steps.push_back({rank + bit, -1, blocks(rank + bit, bit), {}});
  }
  return steps;
}
PlanSteps tree_broadcast(const Ranks& ranks, int rank) { return tree_down(ranks, rank, false); }
PlanSteps tree_all_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps = tree_reduce(ranks, rank);
  append(steps, tree_broadcast(ranks, rank));
  return steps;
}
PlanSteps scatter_ring_broadcast(const Ranks& ranks, int rank) {
  PlanSteps steps = tree_down(ranks, rank, true);
  append(steps, ring_all_gather(ranks, rank));
  return steps;
}

// ---- Doubling ------------------------------------------------------------------------------------------------------

PlanSteps doubling_all_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps;
  for (const backend::RecursiveDoublingStep& step : backend::recursive_doubling(rank, ranks.count())) {
    steps.push_back({step.send_to, step.receive_from, {0, 1}, {0, 1}, step.reduces, step.comes_first});
  }
  return steps;
}

std::uint32_t blocks_for_halving(const Ranks& ranks) { return std::bit_floor(unsigned_of(ranks.count())); }

/// Rabenseifner's: partners exchange halves, the halves' halves and so on, and gather the sums on the same way back.
/// Near ranks exchange the large halves. Ranks above a power of two take part by a neighbour.
PlanSteps halving_all_reduce(const Ranks& ranks, int rank) {
  const auto power = static_cast<int>(blocks_for_halving(ranks));
  const int extra = ranks.count() - power;
  const Blocks all{0, unsigned_of(power)};
  const bool folds = rank < 2 * extra;
  if (folds && rank % 2 == 0) return {{rank + 1, -1, all, {}}, {-1, rank + 1, {}, all}};
  PlanSteps steps;
  if (folds) steps.push_back({-1, rank - 1, {}, all, true, true});
  const int place = folds ? rank / 2 : rank - extra;
  PlanSteps back;
  Blocks own = all;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = place ^ mask;
    const int peer = other < extra ? other * 2 + 1 : other + extra;
    const Blocks lower{own.first, own.count / 2}, upper{own.first + own.count / 2, own.count / 2};
    const bool keeps_upper = (place & mask) != 0;
    own = keeps_upper ? upper : lower;
    const Blocks given = keeps_upper ? lower : upper;
    steps.push_back({peer, peer, given, own, true, peer < rank});
    back.push_back({peer, peer, own, given});
  }
  std::reverse(back.begin(), back.end());
  append(steps, back);
  if (folds) steps.push_back({rank - 1, -1, all, {}});
  return steps;
}

// ---- Stars ---------------------------------------------------------------------------------------------------------

PlanSteps star_reduce(const Ranks& ranks, int rank) {
  if (rank != 0) return {{0, -1, {0, 1}, {}}};
  PlanSteps steps;
  for (int other = 1; other < ranks.count(); ++other) {
    steps.push_back({-1, other, {}, {0, 1}, true, false, other + 1 < ranks.count()});
  }
  return steps;
}
PlanSteps star_broadcast(const Ranks& ranks, int rank) {
  if (rank != 0) return {{-1, 0, {}, {0, 1}}};
  PlanSteps steps;
  for (int other = 1; other < ranks.count(); ++other) {
    steps.push_back({other, -1, {0, 1}, {}, false, false, other + 1 < ranks.count()});
  }
  return steps;
}
PlanSteps star_all_reduce(const Ranks& ranks, int rank) {
  PlanSteps steps = star_reduce(ranks, rank);
  append(steps, star_broadcast(ranks, rank));
  return steps;
}

PlanSteps pairwise_all_to_all(const Ranks& ranks, int rank) {
  PlanSteps steps;
  const int n = ranks.count();
  for (int step = 1; step < n; ++step) {
    const int to = (rank + step) % n, from = (rank + n - step) % n;
    steps.push_back({to, from, {unsigned_of(to), 1}, {unsigned_of(n + from), 1}});
  }
  return steps;
}

constexpr const char* no_part = "";
constexpr const char* by_comm = "anyplace::comm, in one process";

constexpr Algorithm all[] = {
    {"ring", CollectiveKind::all_reduce, no_part, block_for_each_rank, ring_all_reduce, block_of_rank},
    {"tree", CollectiveKind::all_reduce, no_part, one_block, tree_all_reduce, block_of_rank},
    {"recursive_doubling", CollectiveKind::all_reduce, "the engine mpi, up to 8 KiB", one_block, doubling_all_reduce,
     block_of_rank},
    {"halving_doubling", CollectiveKind::all_reduce, no_part, blocks_for_halving, halving_all_reduce, block_of_rank},
    {"hierarchical", CollectiveKind::all_reduce, no_part, block_for_each_rank, hierarchical_all_reduce,
     hierarchical_block},
    {"star", CollectiveKind::all_reduce, by_comm, one_block, star_all_reduce, block_of_rank},
    {"ring", CollectiveKind::reduce_scatter, no_part, block_for_each_rank, ring_reduce_scatter, block_of_rank},
    {"hierarchical", CollectiveKind::reduce_scatter, no_part, block_for_each_rank, hierarchical_reduce_scatter,
     hierarchical_block},
    {"ring", CollectiveKind::all_gather, no_part, block_for_each_rank, ring_all_gather, block_of_rank},
    {"hierarchical", CollectiveKind::all_gather, no_part, block_for_each_rank, hierarchical_all_gather,
     hierarchical_block},
    {"tree", CollectiveKind::broadcast, no_part, one_block, tree_broadcast, block_of_rank},
    {"scatter_ring", CollectiveKind::broadcast, no_part, block_for_each_rank, scatter_ring_broadcast, block_of_rank},
    {"star", CollectiveKind::broadcast, by_comm, one_block, star_broadcast, block_of_rank},
    {"tree", CollectiveKind::reduce, no_part, one_block, tree_reduce, block_of_rank},
    {"star", CollectiveKind::reduce, by_comm, one_block, star_reduce, block_of_rank},
    {"pairwise", CollectiveKind::all_to_all, no_part, two_blocks_for_each_rank, pairwise_all_to_all, block_of_rank},
};

constexpr const char* names[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all"};

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return all; }

std::vector<const Algorithm*> algorithms_of(CollectiveKind collective) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& each : all) {
    if (each.collective == collective) found.push_back(&each);
  }
  return found;
}

std::span<const char* const> collective_names() noexcept { return names; }

}  // namespace anyplace::tool
