// SPDX-License-Identifier: Apache-2.0
#include "plugin_table.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "anyplace/error.h"
#include "text.h"

namespace anyplace::detail {
namespace {

using Table = anyplace_backend_table;

/// An entry by its place in the table, so that entries of different types fit one list.
struct Entry {
  const char* name;
  std::size_t offset;
};
#define ANYPLACE_ENTRY(name) \
  Entry { #name, offsetof(Table, name) }

constexpr Entry required[] = {
    ANYPLACE_ENTRY(device_count),       ANYPLACE_ENTRY(device_properties), ANYPLACE_ENTRY(device_memory),
    ANYPLACE_ENTRY(device_synchronize), ANYPLACE_ENTRY(stream_create),     ANYPLACE_ENTRY(stream_default),
    ANYPLACE_ENTRY(stream_destroy),     ANYPLACE_ENTRY(stream_query),      ANYPLACE_ENTRY(stream_synchronize),
    ANYPLACE_ENTRY(stream_wait_event),  ANYPLACE_ENTRY(event_create),      ANYPLACE_ENTRY(event_destroy),
    ANYPLACE_ENTRY(event_record),       ANYPLACE_ENTRY(event_query),       ANYPLACE_ENTRY(event_synchronize),
    ANYPLACE_ENTRY(memory_allocate),    ANYPLACE_ENTRY(memory_free),       ANYPLACE_ENTRY(memory_copy),
    ANYPLACE_ENTRY(memory_set),
};

// Entries that are there together or not at all.
constexpr Entry peer[] = {ANYPLACE_ENTRY(peer_query), ANYPLACE_ENTRY(peer_enable), ANYPLACE_ENTRY(peer_disable)};
constexpr Entry gates[] = {ANYPLACE_ENTRY(gate_create), ANYPLACE_ENTRY(gate_open), ANYPLACE_ENTRY(gate_destroy),
                           ANYPLACE_ENTRY(stream_wait_gate)};
constexpr Entry async_memory[] = {ANYPLACE_ENTRY(memory_allocate_async), ANYPLACE_ENTRY(memory_free_async)};
constexpr Entry registering[] = {ANYPLACE_ENTRY(host_register), ANYPLACE_ENTRY(host_unregister)};
constexpr Entry modules[] = {ANYPLACE_ENTRY(module_load), ANYPLACE_ENTRY(module_unload), ANYPLACE_ENTRY(module_kernel)};
constexpr Entry host_kernels[] = {ANYPLACE_ENTRY(kernel_from_host), ANYPLACE_ENTRY(kernel_destroy)};
constexpr Entry virtual_memory[] = {
    ANYPLACE_ENTRY(virtual_granularity), ANYPLACE_ENTRY(virtual_reserve),  ANYPLACE_ENTRY(virtual_release),
    ANYPLACE_ENTRY(physical_create),     ANYPLACE_ENTRY(physical_destroy), ANYPLACE_ENTRY(virtual_map),
    ANYPLACE_ENTRY(virtual_unmap),
};
constexpr std::span<const Entry> groups[] = {peer,    gates,        async_memory,  registering,
                                             modules, host_kernels, virtual_memory};

constexpr Entry elapsed[] = {ANYPLACE_ENTRY(event_elapsed)};
constexpr Entry host_functions[] = {ANYPLACE_ENTRY(stream_host_function)};
constexpr Entry copy_2d[] = {ANYPLACE_ENTRY(memory_copy_2d)};
constexpr Entry copy_peer[] = {ANYPLACE_ENTRY(memory_copy_peer)};
constexpr Entry launch[] = {ANYPLACE_ENTRY(kernel_launch)};
constexpr Entry natives[] = {ANYPLACE_ENTRY(device_native), ANYPLACE_ENTRY(stream_native),
                             ANYPLACE_ENTRY(event_native)};
constexpr Entry from_native[] = {ANYPLACE_ENTRY(stream_from_native)};
constexpr Entry reset[] = {ANYPLACE_ENTRY(device_reset)};
#undef ANYPLACE_ENTRY

/// What a capability bit needs; bits that need nothing beyond the required entries aren't listed.
struct Need {
  unsigned bit;
  const char* name;
  std::span<const Entry> entries;
};
#define ANYPLACE_NEED(upper, lower, entries) \
  Need { ANYPLACE_CAPABILITY_BIT_##upper, #lower, entries }
constexpr Need needs[] = {
    ANYPLACE_NEED(TIMED_EVENTS, timed_events, elapsed),
    ANYPLACE_NEED(HOST_FUNCTIONS, host_functions, host_functions),
    ANYPLACE_NEED(GATES, gates, gates),
    ANYPLACE_NEED(HOST_REGISTER, host_register, registering),
    ANYPLACE_NEED(STREAM_ORDERED_MEMORY, stream_ordered_memory, async_memory),
    ANYPLACE_NEED(COPY_2D, copy_2d, copy_2d),
    ANYPLACE_NEED(PEER_COPY, peer_copy, copy_peer),
    ANYPLACE_NEED(PEER_ACCESS, peer_access, peer),
    ANYPLACE_NEED(MODULES, modules, modules),
    ANYPLACE_NEED(MODULES, modules, launch),
    ANYPLACE_NEED(HOST_KERNELS, host_kernels, host_kernels),
    ANYPLACE_NEED(HOST_KERNELS, host_kernels, launch),
    ANYPLACE_NEED(NATIVE_HANDLES, native_handles, natives),
    ANYPLACE_NEED(STREAM_FROM_NATIVE, stream_from_native, from_native),
    ANYPLACE_NEED(DEVICE_RESET, device_reset, reset),
    ANYPLACE_NEED(VIRTUAL_MEMORY, virtual_memory, virtual_memory),
};
#undef ANYPLACE_NEED

bool is_there(const Table& table, const Entry& entry) noexcept {
  void (*function)() = nullptr;
  static_assert(sizeof(function) == sizeof(table.device_count));
  std::memcpy(&function, reinterpret_cast<const char*>(&table) + entry.offset, sizeof(function));
  return function != nullptr;
}

const Entry* first_missing(const Table& table, std::span<const Entry> entries) noexcept {
  for (const Entry& entry : entries) {
    if (!is_there(table, entry)) return &entry;
  }
  return nullptr;
}

template <std::size_t N>
bool ends(const char (&text)[N]) noexcept {
  return std::memchr(text, '\0', N) != nullptr;
}

std::string version_problem(const Table& table, std::uint32_t host_size) {
  if (table.abi_major != ANYPLACE_ABI_MAJOR) {
    return fmt::format(
        "it was built for ABI {}.{}, and this anyplace has {}.{}: build it again with this anyplace's headers, "
        "or use an anyplace of its major",
        table.abi_major, table.abi_minor, ANYPLACE_ABI_MAJOR, ANYPLACE_ABI_MINOR);
  }
  if (table.struct_size < first_table_size || table.struct_size > host_size) {
    return fmt::format("it says that it filled {} bytes of the table; at least {} are needed, and it was given {}",
                       table.struct_size, first_table_size, host_size);
  }
  return "";
}

std::string text_problem(const Table& table, std::string_view name) {
  const char* const open = !ends(table.name)          ? "name"
                           : !ends(table.version)     ? "version"
                           : !ends(table.description) ? "description"
                                                      : nullptr;
  if (open != nullptr) return fmt::format("the {} in its table doesn't end with a NUL", open);
  if (name != table.name) {
    return fmt::format("its table says that its name is {}, and its file says {}", quoted(table.name), quoted(name));
  }
  return "";
}

std::string entries_problem(const Table& table) {
  if (const Entry* const entry = first_missing(table, required)) {
    return fmt::format("its table lacks the entry {}, which every backend must have", entry->name);
  }
  for (const std::span<const Entry> group : groups) {
    const Entry* const missing = first_missing(table, group);
    if (missing == nullptr) continue;
    for (const Entry& entry : group) {
      if (is_there(table, entry)) {
        return fmt::format("its table has the entry {} without {}: they are there together or not at all", entry.name,
                           missing->name);
      }
    }
  }
  return "";
}

}  // namespace

std::string table_problem(const Table& table, std::uint32_t host_size, std::string_view name) {
  if (std::string problem = version_problem(table, host_size); !problem.empty()) return problem;
  if (std::string problem = text_problem(table, name); !problem.empty()) return problem;
  return entries_problem(table);
}

std::optional<MissingEntry> missing_entry(const Table& table, std::uint64_t capabilities) noexcept {
  for (const Need& need : needs) {
    if ((capabilities >> need.bit & 1) == 0) continue;
    if (const Entry* const missing = first_missing(table, need.entries)) return MissingEntry{need.name, missing->name};
  }
  return std::nullopt;
}

void check_capabilities(const Table& table, std::uint64_t capabilities, const std::string& place,
                        const char* operation) {
  const std::optional<MissingEntry> missing = missing_entry(table, capabilities);
  if (!missing) return;
  ErrorDetails details;
  details.code = ErrorCode::plugin_refused;
  details.place = place;
  details.operation = operation;
  details.text = fmt::format("the device claims the capability {}, and its plugin's table lacks the entry {}",
                             missing->capability, missing->entry);
  details.remedy = "the plugin has to be corrected by its vendor";
  details.see = "`anyplace conformance` shows all that is wrong with it";
  throw Error(std::move(details));
}

}  // namespace anyplace::detail
