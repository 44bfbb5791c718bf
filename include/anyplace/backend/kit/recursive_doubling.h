// SPDX-License-Identifier: Apache-2.0
//
// The steps by which ranks reduce what each of them has, by recursive doubling: in each step a rank exchanges all of
// its data with another one, twice as far away as in the step before. The engine mpi executes them; `anyplace network`
// simulates them. They are a pure function of the rank and the number of ranks.
//
// If the number of ranks is no power of two, as many ranks as are too many give their values to a neighbour first and
// get the result from it at the end. Every rank combines the same values in the same order, the lower ranks' first, so
// that all get the same bits although the order matters: the sum of two NaNs is the first one.
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace anyplace::backend {

/// The engine mpi leaves an all_reduce of more bytes than this to MPI.
inline constexpr std::uint64_t recursive_doubling_bytes = 8192;

/// A rank sends and receives at one time, and goes on when both are done.
struct RecursiveDoublingStep {
  int send_to = -1;          ///< negative: it sends nothing
  int receive_from = -1;     ///< negative: it receives nothing
  bool reduces = false;      ///< the received data is combined; otherwise it is the result
  bool comes_first = false;  ///< the received data is the first operand
};

/// Returns the steps of one rank. `size` is 1 at least, and `rank` less than it.
inline std::vector<RecursiveDoublingStep> recursive_doubling(int rank, int size) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int extra = size - power;
  const bool folds = rank < 2 * extra;
  if (folds && rank % 2 == 0) return {{rank + 1, -1}, {-1, rank + 1}};
  std::vector<RecursiveDoublingStep> steps;
  if (folds) steps.push_back({-1, rank - 1, true, true});
  const int place = folds ? rank / 2 : rank - extra;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = place ^ mask;
    const int peer = other < extra ? other * 2 + 1 : other + extra;
    steps.push_back({peer, peer, true, peer < rank});
  }
  if (folds) steps.push_back({rank - 1, -1});
  return steps;
}

}  // namespace anyplace::backend
