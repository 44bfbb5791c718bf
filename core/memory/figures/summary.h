// SPDX-License-Identifier: Apache-2.0
// The allocator statistics as a table for people.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/device.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// "1.50 MiB": three to five figures and the unit that leaves them between 1 and 1024; bytes as they are.
std::string scaled_bytes(std::int64_t bytes);
/// "1234", "12.35 M": as it is below a million.
std::string scaled_count(std::int64_t count);

/// One line for each figure. `abbreviated` leaves out the two pools and the figures that are rarely other than 0.
std::string summarise(const std::string& place, const StatTable& table, const MemoryInfo& device, bool abbreviated);

}  // namespace anyplace::detail
