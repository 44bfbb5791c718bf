// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

/// Why a table can't be used; empty if it can.
std::string table_problem(const anyplace_compiler_table& table, std::uint32_t room, std::string_view name) {
  if (table.abi_major != ANYPLACE_COMPILER_ABI_MAJOR) {
    return fmt::format(
        "it was built for the compilers' ABI {}.{}, and this anyplace has {}.{}: build it again with this anyplace's "
        "headers, or use an anyplace of its major",
        table.abi_major, table.abi_minor, ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR);
  }
  if (table.struct_size < sizeof(anyplace_compiler_table) || table.struct_size > room) {
    return fmt::format("it says that it filled {} bytes of the table; at least {} are needed, and it was given {}",
                       table.struct_size, sizeof(anyplace_compiler_table), room);
  }
  const auto is_open = [](const auto& text) { return std::memchr(text, '\0', sizeof(text)) == nullptr; };
  const char* const open = is_open(table.name)          ? "name"
                           : is_open(table.version)     ? "version"
                           : is_open(table.description) ? "description"
                                                        : nullptr;
  if (open != nullptr) return fmt::format("the {} in its table doesn't end with a NUL", open);
  if (name != table.name) {
    return fmt::format("its table says that its name is {}, and its file says {}", quoted(table.name), quoted(name));
  }
  if ((table.formats | table.from_spirv) == 0) return "its table names no format that it makes";
  const char* const lacks = table.library == nullptr ? "library" : table.compile == nullptr ? "compile" : nullptr;
  if (lacks != nullptr) return fmt::format("its table lacks the entry {}, which every compiler must have", lacks);
  return "";
}

std::optional<Refusal> load(CompilerPlugin& compiler) {
  LoadedPlugin* const context = &compiler;
  compiler.host = {sizeof(compiler.host), ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR, 0, context,
                   plugin_leave_message};
  return fill_plugin<anyplace_compiler_entry_function>(compiler, ANYPLACE_COMPILER_ENTRY_SYMBOL, table_problem);
}
NoDestructor<LoadedPlugins<CompilerPlugin>> plugins(load);

}  // namespace

CompilerLibrary library_of(const CompilerPlugin& compiler, std::uint32_t format) {
  CompilerLibrary library;
  anyplace_compiler_library filled{};
  filled.struct_size = sizeof(filled);
  take_message();
  const anyplace_status status = compiler.table.library(compiler.table.self, format, &filled);
  library.is_there = status == ANYPLACE_STATUS_OK;
  if (library.is_there) {
    library.path = bounded(filled.path);
    library.version = one_line(bounded(filled.version));
  } else {
    library.reason = take_message().text;
    if (library.reason.empty()) library.reason = "it doesn't say why";
  }
  return library;
}

std::vector<Candidate<CompilerPlugin>> compiler_candidates() {
  auto all = plugins.value.candidates(list_plugins(PluginKind::compiler).files);
  const auto rank = [](const auto& one) { return one.plugin != nullptr ? one.plugin->table.rank : UINT32_MAX; };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace anyplace::detail
