// SPDX-License-Identifier: Apache-2.0
//
// Checks of the table that a plugin filled, made before the core uses any of it. They only look at the bytes they are
// given: they call no entry and follow no pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// The size of the table of version 1.0: no plugin of major 1 fills less.
inline constexpr std::uint32_t first_table_size = sizeof(anyplace_backend_table);
static_assert(ANYPLACE_ABI_MINOR == 0, "a later minor's table is longer: give the number of bytes that 1.0 had");

/// Why the table is refused; empty if it is good. `host_size` is the value of struct_size before the plugin's entry
/// function was called; `name` is that of the plugin's file.
std::string table_problem(const anyplace_backend_table& table, std::uint32_t host_size, std::string_view name);

/// A capability bit whose entries the plugin left null.
struct MissingEntry {
  const char* capability;
  const char* entry;
};
std::optional<MissingEntry> missing_entry(const anyplace_backend_table& table, std::uint64_t capabilities) noexcept;

/// Throws plugin_refused, naming capability and entry, if a device claims a capability whose entries its table lacks.
/// `place` is the device's.
void check_capabilities(const anyplace_backend_table& table, std::uint64_t capabilities, const std::string& place,
                        const char* operation);

}  // namespace anyplace::detail
