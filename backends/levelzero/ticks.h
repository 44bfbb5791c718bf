// SPDX-License-Identifier: Apache-2.0
//
// Computes the time between two values of a device's counter.
#pragma once

#include <cstdint>

namespace anyplace::levelzero {

/// Milliseconds from `start` to `end`, values of a counter with `valid_bits` that may have wrapped around between them.
/// Negative if `end` came first; the shorter of the two distances decides which came first. `ticks_per_second` isn't 0.
inline double milliseconds_between(std::uint64_t start, std::uint64_t end, unsigned valid_bits,
                                   double ticks_per_second) noexcept {
  const bool whole = valid_bits == 0 || valid_bits >= 64;
  const std::uint64_t mask = whole ? ~std::uint64_t{0} : (std::uint64_t{1} << valid_bits) - 1;
  const std::uint64_t forward = (end - start) & mask;
  const std::uint64_t backward = (start - end) & mask;
  const double ticks = forward <= backward ? static_cast<double>(forward) : -static_cast<double>(backward);
  return ticks / ticks_per_second * 1e3;
}

}  // namespace anyplace::levelzero
