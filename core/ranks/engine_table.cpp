// SPDX-License-Identifier: Apache-2.0
#include "ranks/engine_table.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "plugins/table_checks.h"

namespace anyplace::detail {
namespace {

using Table = anyplace_engine_table;

/// The assertions below this check that the table and its list are in one order, and that the list leaves out nothing.
enum Index : std::size_t {
#define ANYPLACE_ENGINE_INDEX(entry, has) index_of_##entry,
  ANYPLACE_ENGINE_ENTRY_LIST(ANYPLACE_ENGINE_INDEX)
#undef ANYPLACE_ENGINE_INDEX
      entry_count
};
#define ANYPLACE_ENGINE_PLACE(entry, has) \
  static_assert(offsetof(Table, entry) == offsetof(Table, library) + index_of_##entry * sizeof(void (*)()));
ANYPLACE_ENGINE_ENTRY_LIST(ANYPLACE_ENGINE_PLACE)
#undef ANYPLACE_ENGINE_PLACE
static_assert(sizeof(Table) == offsetof(Table, library) + entry_count * sizeof(void (*)()));

enum class Has { EVERY, WORLD, ID, ANY, HOST, STREAM };

struct Entry {
  const char* name;
  Has has;
  bool is_there;
};

constexpr TableKind engine_kind{"the engines' ABI", ANYPLACE_ENGINE_ABI_MAJOR, ANYPLACE_ENGINE_ABI_MINOR,
                                first_engine_table_size};

std::string engine_text_problem(const Table& table, std::string_view name) {
  const std::initializer_list<TableText> texts{{"name", table.name},
                                               {"title", table.title},
                                               {"version", table.version},
                                               {"description", table.description},
                                               {"library_file", table.library_file},
                                               {"backends", table.backends},
                                               {"launcher_variables", table.launcher_variables}};
  if (std::string problem = text_problem(texts, name); !problem.empty()) return problem;
  return *table.backends == '\0' ? "its table names no backend that it serves" : "";
}

std::string entries_problem(const Table& table) {
#define ANYPLACE_ENGINE_ROW(entry, has) Entry{#entry, Has::has, table.entry != nullptr},
  const Entry entries[] = {ANYPLACE_ENGINE_ENTRY_LIST(ANYPLACE_ENGINE_ROW)};
#undef ANYPLACE_ENGINE_ROW
  if (table.kind != ANYPLACE_ENGINE_ON_STREAM && table.kind != ANYPLACE_ENGINE_ON_HOST) {
    return fmt::format("its table says that it is of kind {}; {} and {} are possible", table.kind,
                       std::uint32_t{ANYPLACE_ENGINE_ON_STREAM}, std::uint32_t{ANYPLACE_ENGINE_ON_HOST});
  }
  const bool on_host = table.kind == ANYPLACE_ENGINE_ON_HOST;
  const Entry* of_world = nullptr;
  for (const Entry& entry : entries) {
    if (entry.has == Has::WORLD && entry.is_there) of_world = &entry;
  }
  if (of_world != nullptr && !on_host) {
    return fmt::format("its table has the entry {}, which only an engine on the host has", of_world->name);
  }
  for (const Entry& entry : entries) {
    if (entry.is_there) continue;
    if (entry.has == Has::EVERY) {
      return fmt::format("its table lacks the entry {}, which every engine must have", entry.name);
    }
    if (entry.has == (on_host ? Has::HOST : Has::STREAM)) {
      return fmt::format("its table lacks the entry {}, which every engine on {} must have", entry.name,
                         on_host ? "the host" : "a stream");
    }
    if (entry.has == Has::WORLD && of_world != nullptr) {
      return fmt::format("its table has the entry {} without {}: they are there together or not at all", of_world->name,
                         entry.name);
    }
    if (entry.has == Has::ID && of_world == nullptr) {
      return fmt::format("its table lacks the entry {}, which every engine without a world must have", entry.name);
    }
  }
  return "";
}

}  // namespace

std::string engine_table_problem(const Table& table, std::uint32_t host_size, std::string_view name) {
  if (std::string problem = version_problem(engine_kind, table, host_size); !problem.empty()) return problem;
  if (std::string problem = engine_text_problem(table, name); !problem.empty()) return problem;
  return entries_problem(table);
}

}  // namespace anyplace::detail
