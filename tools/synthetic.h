// SPDX-License-Identifier: Apache-2.0
//
// The synthetic trace: random sizes on several streams that keep a device nearly full. The same seed and capacity give
// the same events everywhere: nothing of it depends on the standard library's distributions.
#pragma once

#include <cstdint>

#include "trace.h"

namespace anyplace::tool {

inline constexpr std::uint64_t synthetic_streams = 8;
inline constexpr std::uint64_t synthetic_smallest = 512;
inline constexpr std::uint64_t synthetic_largest = 256 * 1024 * 1024;  ///< sizes are log-uniform between the two
inline constexpr int synthetic_fill = 80;                              ///< percent of the capacity

struct Synthetic {
  /// Fills the capacity to `fill` percent, and then frees a random one of what is live for each that doesn't fit.
  Trace trace;
  /// What the trace leaves live, filled further: a hundredth of the operations at a percent more, at two more, ... and
  /// at 100 %. Its slots continue the trace's.
  Trace filling;
};

/// `operations` events in the trace. `fill` percent of the capacity are at least synthetic_largest.
Synthetic make_synthetic(std::uint64_t seed, std::uint64_t operations, std::uint64_t capacity, int fill);

}  // namespace anyplace::tool
