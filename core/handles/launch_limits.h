// SPDX-License-Identifier: Apache-2.0
//
// LaunchLimits: limits for the eight numbers in the first 32 bytes of a launch, laid out so that few instructions
// compare all of them.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// Limits for the numbers from struct_size to argument_count. A number n is within its limits if n - least <= most -
/// least as unsigned numbers. `add` and `bound` turn that into one addition and one signed comparison, n + add <=
/// bound, which vector instructions have. No launch is within limits that are all zero, because no launch has a
/// struct_size of 0.
struct alignas(64) LaunchLimits {
  static constexpr int count = 8;
  static constexpr int grid = 1, block = 4, arguments = 7;  ///< the indexes of the numbers; index 0 is struct_size

  std::uint32_t add[count] = {};
  std::int32_t bound[count] = {};

  /// `least` <= `most`.
  void set(int i, std::uint32_t least, std::uint32_t most) noexcept {
    constexpr std::uint32_t half = 1u << 31;
    add[i] = half - least;
    bound[i] = static_cast<std::int32_t>(most - least + half);
  }
};
static_assert(sizeof(LaunchLimits) == 64);

}  // namespace anyplace::detail
