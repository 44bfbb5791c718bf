// SPDX-License-Identifier: Apache-2.0
//
// The figures of the process and the device in which an operation that was undone must leave nothing behind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "table_backend.h"

namespace anyplace::conformance {

enum class Figure { descriptors, threads, mappings, heap_bytes, address_space, device_bytes, count };

using Figures = std::array<std::int64_t, static_cast<std::size_t>(Figure::count)>;

/// The present figures; one that can't be told is 0.
Figures figures(const TableBackend& backend);

/// Fails the case if `once` leaves something behind each time. `once` runs `times` times in a round, and some figure
/// has risen by half a unit per time after every one of many rounds. So a cache that fills, a table that doubles and
/// another process's memory convict nobody. `device_bytes` is the device memory that one time uses.
void check_leaves_nothing(const TableBackend& backend, int times, std::uint64_t device_bytes,
                          const std::function<void()>& once, Caller caller = {});

}  // namespace anyplace::conformance
