// SPDX-License-Identifier: Apache-2.0
//
// The synthetic trace: random sizes on several streams that keep a device nearly full. The same seed and capacity give
// the same events everywhere, because nothing depends on the standard library's distributions.
#pragma once

#include <cstdint>

#include "trace.h"

namespace anyplace::tool {

inline constexpr std::uint64_t synthetic_streams = 8;
inline constexpr std::uint64_t synthetic_smallest = 512;
inline constexpr std::uint64_t synthetic_largest = 256 * 1024 * 1024;  ///< sizes are log-uniform between these two
inline constexpr int synthetic_fill = 80;                              ///< percent of the capacity that the trace fills

struct Synthetic {
  /// Fills the capacity to `fill` percent. After that, whenever the next allocation doesn't fit, it frees a random live
  /// one.
  Trace trace;
  /// Continues the trace with its live allocations and slots: a hundredth of the operations at one percent more,
  /// another at two percent more, and so on up to 100 %.
  Trace filling;
};

/// Makes a trace of `operations` events. `fill` percent of the capacity must be at least synthetic_largest.
Synthetic make_synthetic(std::uint64_t seed, std::uint64_t operations, std::uint64_t capacity, int fill);

}  // namespace anyplace::tool
