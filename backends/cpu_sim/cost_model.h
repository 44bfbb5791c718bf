// SPDX-License-Identifier: Apache-2.0
//
// What operations and calls take in the deterministic mode's virtual time. The figures are of no real device: they only
// have to be the same in each run, and to make larger operations take longer.
#pragma once

#include <cstdint>

#include "operation.h"

namespace anyplace::cpu_sim {

class CostModel {
 public:
  /// Returns the nanoseconds of virtual time that a host's call takes.
  std::int64_t call_ns() const noexcept { return 1'000; }

  /// Returns the nanoseconds of virtual time from an operation's beginning to its end.
  std::int64_t operation_ns(const Operation& operation) const noexcept {
    constexpr std::int64_t begin_ns = 5'000;
    constexpr std::uint64_t bytes_per_ns = 16;
    constexpr std::int64_t block_ns = 100;
    std::int64_t ns = begin_ns + static_cast<std::int64_t>(operation.bytes / bytes_per_ns);
    if (operation.kind == Operation::Kind::kernel) ns += static_cast<std::int64_t>(operation.units) * block_ns;
    return ns;
  }
};

}  // namespace anyplace::cpu_sim
