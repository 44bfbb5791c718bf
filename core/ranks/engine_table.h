// SPDX-License-Identifier: Apache-2.0
//
// Checks of the table that an engine's plugin filled, made before the core uses any of it (plugins/plugin_table.h has
// those of a backend's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "anyplace/backend/engine.h"

namespace anyplace::detail {

/// The size of the table of version 1.0: no engine of major 1 fills less.
inline constexpr std::uint32_t first_engine_table_size = sizeof(anyplace_engine_table);
static_assert(ANYPLACE_ENGINE_ABI_MINOR == 0, "a later minor's table is longer: give the number of bytes that 1.0 had");

/// Why the table is refused; empty if it is good. `host_size` is the value of struct_size before the plugin's entry
/// function was called; `name` is that of the plugin's file.
std::string engine_table_problem(const anyplace_engine_table& table, std::uint32_t host_size, std::string_view name);

}  // namespace anyplace::detail
