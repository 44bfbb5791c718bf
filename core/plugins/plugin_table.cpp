// SPDX-License-Identifier: Apache-2.0
#include "plugins/plugin_table.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "anyplace/backend/entries.h"
#include "anyplace/error.h"
#include "plugins/table_checks.h"

namespace anyplace::detail {
namespace {

using Table = anyplace_backend_table;

/// An entry by its offset in the table, so that entries of different types fit into one list.
struct Entry {
  const char* name;
  std::size_t offset;  // in the table
  int presence;        // ANYPLACE_ENTRY_REQUIRED, OPTIONAL or TOGETHER
  std::uint64_t capabilities;
};
#define ANYPLACE_ENTRY_ROW(entry, presence, capabilities) \
  Entry{#entry, offsetof(Table, entry), ANYPLACE_ENTRY_##presence, capabilities},
constexpr Entry entries[] = {ANYPLACE_ENTRY_LIST(ANYPLACE_ENTRY_ROW)};
#undef ANYPLACE_ENTRY_ROW

struct Bit {
  const char* name;
  std::uint64_t mask;
};
#define ANYPLACE_CAPABILITY_ROW(upper, lower, bit, text) Bit{#lower, std::uint64_t{1} << (bit)},
constexpr Bit bits[] = {ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_ROW)};
#undef ANYPLACE_CAPABILITY_ROW

bool is_there(const Table& table, const Entry& entry) noexcept {
  void (*function)() = nullptr;
  std::memcpy(&function, reinterpret_cast<const char*>(&table) + entry.offset, sizeof(function));
  return function != nullptr;
}

/// The first entry with that presence and capability that is set (`there`) or null (not `there`).
const Entry* find(const Table& table, bool there, int presence, std::uint64_t capability) noexcept {
  for (const Entry& entry : entries) {
    if (entry.presence != presence || (entry.capabilities & capability) != capability) continue;
    if (is_there(table, entry) == there) return &entry;
  }
  return nullptr;
}

constexpr TableKind backend_kind{"ABI", ANYPLACE_ABI_MAJOR, ANYPLACE_ABI_MINOR, first_table_size};

std::string entries_problem(const Table& table) {
  if (const Entry* const missing = find(table, false, ANYPLACE_ENTRY_REQUIRED, 0)) {
    return fmt::format("its table lacks the entry {}, which every backend must have", missing->name);
  }
  for (const Bit& bit : bits) {
    const Entry* const there = find(table, true, ANYPLACE_ENTRY_TOGETHER, bit.mask);
    const Entry* const missing = find(table, false, ANYPLACE_ENTRY_TOGETHER, bit.mask);
    if (there == nullptr || missing == nullptr) continue;
    return fmt::format("its table has the entry {} without {}: they are there together or not at all", there->name,
                       missing->name);
  }
  return "";
}

}  // namespace

std::string table_problem(const Table& table, std::uint32_t host_size, std::string_view name) {
  if (std::string problem = version_problem(backend_kind, table, host_size); !problem.empty()) return problem;
  const std::initializer_list<TableText> texts{
      {"name", table.name}, {"version", table.version}, {"description", table.description}};
  if (std::string problem = text_problem(texts, name); !problem.empty()) return problem;
  return entries_problem(table);
}

std::optional<MissingEntry> missing_entry(const Table& table, std::uint64_t capabilities) noexcept {
  for (const Bit& bit : bits) {
    if ((capabilities & bit.mask) == 0) continue;
    for (const Entry& entry : entries) {
      if ((entry.capabilities & bit.mask) != 0 && !is_there(table, entry)) return MissingEntry{bit.name, entry.name};
    }
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
