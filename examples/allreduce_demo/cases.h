// SPDX-License-Identifier: Apache-2.0
// Every operation with every type and reduction that it has.
#pragma once

#include <anyplace/communicator.h>
#include <anyplace/stream.h>

namespace demo {

/// How many were right, and what is to say of those that weren't.
struct Outcome {
  int right = 0;
  int left_out = 0;  ///< the engine hasn't them
  std::string wrong;
};

Outcome check_all(const anyplace::Communicator& all, const anyplace::Stream& stream);

}  // namespace demo
