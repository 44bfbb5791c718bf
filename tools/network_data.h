// SPDX-License-Identifier: Apache-2.0
//
// The data that simulated ranks carry, and what a collective has to make of it. Each block has one number, made of its
// rank and itself, and a fingerprint of the order in which it was added, since sums of floating-point numbers depend on
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/collective_plan.h"

namespace anyplace::tool {

struct BlockValue {
  std::uint64_t sum = 0;
  std::uint64_t order = 0;
};

/// The sum of two values, in this order.
BlockValue added(const BlockValue& first, const BlockValue& second) noexcept;

class NetworkData {
 public:
  NetworkData(const Ranks& ranks, const Algorithm& algorithm);

  std::vector<BlockValue>& of(int rank) noexcept { return values_[static_cast<std::size_t>(rank)]; }
  /// Throws std::logic_error with the rank and the block if a result is wrong.
  void check() const;
  /// Whether the ranks that have a block's sum have added it in the same order.
  bool same_order() const;

 private:
  void check(int rank, std::uint32_t block, std::uint64_t expected) const;
  std::uint64_t sum_of(std::uint32_t block) const noexcept;

  Ranks ranks_;
  const Algorithm& algorithm_;
  std::uint32_t blocks_;
  std::vector<std::vector<BlockValue>> values_;
};

}  // namespace anyplace::tool
