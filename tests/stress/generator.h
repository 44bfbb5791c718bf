// SPDX-License-Identifier: Apache-2.0
//
// Makes a round of a seed: the same one for the same devices. Each round has its own taste, which kinds of operations
// it has much of, so that rare neighbours meet. What the model refuses for want of an order gets one: a wait between
// streams, an event, or a host that waits.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model.h"
#include "operation.h"

namespace stress {

struct Taste {
  std::uint32_t most_threads = 4;
  std::size_t most_operations = 300;
  std::set<Kind> without;  ///< kinds that are left out
};

Round make_round(std::uint64_t seed, const std::vector<std::string>& places, const std::vector<Traits>& traits,
                 const Taste& taste);

}  // namespace stress
