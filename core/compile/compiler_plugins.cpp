// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plugins/table_checks.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr TableKind compiler_kind{"the compilers' ABI", ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR,
                                  sizeof(anyplace_compiler_table)};

/// Why a table can't be used; empty if it can.
std::string table_problem(const anyplace_compiler_table& table, std::uint32_t room, std::string_view name) {
  if (std::string problem = version_problem(compiler_kind, table, room); !problem.empty()) return problem;
  const std::initializer_list<TableText> texts{
      {"name", table.name}, {"version", table.version}, {"description", table.description}};
  if (std::string problem = text_problem(texts, name); !problem.empty()) return problem;
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
