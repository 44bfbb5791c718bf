// SPDX-License-Identifier: Apache-2.0
//
// The books of the process and of the device: what an operation that was undone may not have left behind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "table_backend.h"

namespace anyplace::conformance {

enum class Figure { descriptors, threads, mappings, heap_bytes, address_space, device_bytes, count };

using Figures = std::array<std::int64_t, static_cast<std::size_t>(Figure::count)>;

/// Now. What can't be told is 0.
Figures figures(const TableBackend& backend);

/// Fails the case if what `once` does leaves something behind each time: `once` runs `times` times a round, and some
/// figure is up by half a unit a time after every one of many rounds. So a cache that fills, a table that doubles and
/// another process's memory convict nobody. `device_bytes` is what a time holds of the device's memory.
void check_leaves_nothing(const TableBackend& backend, int times, std::uint64_t device_bytes,
                          const std::function<void()>& once, Caller caller = {});

}  // namespace anyplace::conformance
