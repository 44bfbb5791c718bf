// SPDX-License-Identifier: Apache-2.0
//
// LaunchLimits: what the first 32 bytes of a launch are compared with in few instructions.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// The numbers from struct_size to argument_count; of each: n - least <= most - least, without sign. Kept so that one
/// addition and one signed comparison say it: n + add <= bound. Nothing is within limits that are all zero: no launch
/// has a struct_size of 0.
struct alignas(64) LaunchLimits {
  static constexpr int count = 8;
  static constexpr int grid = 1, block = 4, arguments = 7;  ///< which number is which; the first is struct_size

  std::uint32_t add[count] = {};
  std::int32_t bound[count] = {};

  /// Throughout `least` <= `most`.
  void set(int i, std::uint32_t least, std::uint32_t most) noexcept {
    constexpr std::uint32_t half = 1u << 31;
    add[i] = half - least;
    bound[i] = static_cast<std::int32_t>(most - least + half);
  }
};
static_assert(sizeof(LaunchLimits) == 64);

}  // namespace anyplace::detail
