// SPDX-License-Identifier: Apache-2.0
//
// Executes the plan of a collective (collective_plan.h) on all ranks of a network at once, event by event, in virtual
// time. No thread and no clock is involved: the same question gives the same answer everywhere.
//
// The model. A message begins when sender and receiver have both come to it, as a large one does over RDMA; its latency
// passes, and then its bytes go at the rate that LinkShares gives them. A rank whose messages of a step are all over
// adds what it has received, at the rate of its memory: to add k messages of b bytes, (k + 2 * ceil(k / 7)) * b bytes
// are read and written, as the kernels of anyplace::comm do it, eight operands in a pass. Then it goes on.
//
// Ranks carry data: a number for each block. The result of each run is compared with what the collective promises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/collective_plan.h"
#include "tools/network_profile.h"

namespace anyplace::tool {

/// What the time of the slowest rank was, along the chain of what it had waited for.
struct TimeShare {
  std::string what;  ///< "NICs", "latency between machines", "adding" and so on
  double ns = 0;
};

struct LinkUse {
  std::string kind;
  double bytes = 0;    ///< that all links of this kind carried
  double busiest = 0;  ///< how much of its bandwidth the busiest one has used: 0 to 1
};

struct NetworkResult {
  double ns = 0;
  std::uint64_t messages = 0;
  std::vector<TimeShare> shares;  ///< The longest is first; their sum is `ns`.
  std::vector<LinkUse> links;     ///< those that were used
  bool same_bits = false;  ///< Whether all ranks that have a sum have added in the same order. True without sums.
};

/// There are no more ranks, so that a plan fits into memory.
constexpr int most_ranks = 2048;

/// Runs a collective of `bytes` bytes: those of the larger one of a rank's two buffers. The profile's
/// devices_per_machine is `ranks.devices`. Throws std::logic_error if the plan is wrong: it waits for ever, or a rank
/// has a wrong result.
NetworkResult run_network(const NetworkProfile& profile, const Ranks& ranks, const Algorithm& algorithm,
                          std::uint64_t bytes);

}  // namespace anyplace::tool
