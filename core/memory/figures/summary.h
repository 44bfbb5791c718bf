// SPDX-License-Identifier: Apache-2.0
// Writes the allocator statistics as a table for people.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/device.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

/// Such as "1.50 MiB": three to five digits with the unit that leaves the number between 1 and 1024; bytes are written
/// in full.
std::string scaled_bytes(std::int64_t bytes);
/// Such as "1234" or "12.35 M"; numbers below a million are written in full.
std::string scaled_count(std::int64_t count);

/// One line for each figure. `abbreviated` leaves out the two pools and the figures that are rarely other than 0.
std::string summarise(const std::string& place, const StatTable& table, const MemoryInfo& device, bool abbreviated);

}  // namespace anyplace::detail
