// SPDX-License-Identifier: Apache-2.0
// How long an all_reduce takes, beside MPI's own where the program was built with it.
#pragma once

#include <anyplace/communicator.h>
#include <anyplace/stream.h>

#include <cstdint>
#include <optional>

namespace demo {

/// Seconds of one all_reduce of so many bytes of floats: the median of `rounds`, in each of which both take turns.
struct Speed {
  double anyplace = 0;
  std::optional<double> mpi;
};

Speed measure(const anyplace::Communicator& all, const anyplace::Stream& stream, std::uint64_t bytes, int rounds,
              int repeats);

}  // namespace demo
