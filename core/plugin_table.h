// SPDX-License-Identifier: Apache-2.0
//
// What must hold of the table that a plugin filled, before the core believes any of it. Pure: looks at the bytes it is
// given, calls no entry, follows no pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// The size of the table of version 1.0: no plugin of major 1 fills less.
inline constexpr std::uint32_t first_table_size =
    offsetof(anyplace_backend_table, virtual_unmap) + sizeof(anyplace_backend_table::virtual_unmap);

/// Why the table is refused; empty if it is good. `host_size` is what struct_size was before the plugin's entry; `name`
/// is that of the plugin's file.
std::string table_problem(const anyplace_backend_table& table, std::uint32_t host_size, std::string_view name);

/// A capability bit whose entries the plugin left null.
struct MissingEntry {
  const char* capability;
  const char* entry;
};
std::optional<MissingEntry> missing_entry(const anyplace_backend_table& table, std::uint64_t capabilities) noexcept;

/// Throws plugin_refused, naming bit and entry, if a device claims what its table can't do. `place` is the device's.
void check_capabilities(const anyplace_backend_table& table, std::uint64_t capabilities, const std::string& place,
                        const char* operation);

}  // namespace anyplace::detail
