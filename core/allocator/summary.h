// SPDX-License-Identifier: Apache-2.0
// The books as a table for people.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/device.h"
#include "books.h"

namespace anyplace::detail {

/// "1.50 MiB": three to five figures and the unit that leaves them between 1 and 1024; bytes as they are.
std::string scaled_bytes(std::int64_t bytes);
/// "1234", "12.35 M": as it is below a million.
std::string scaled_count(std::int64_t count);

/// A line a figure; `abbreviated` leaves out the two pools and what is rarely other than 0.
std::string summarise(const std::string& place, const StatTable& table, const MemoryInfo& device, bool abbreviated);

}  // namespace anyplace::detail
