// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_plugins.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

struct Loaded {
  /// It is kept even if the plugin is refused, because the plugin may have stored the host's address.
  std::unique_ptr<CompilerPlugin> compiler = std::make_unique<CompilerPlugin>();
  std::optional<Refusal> refusal;
  bool is_done = false;  ///< false after a shortage; the next call then loads the plugin again
};
struct Plugins {
  std::mutex mutex;  // guards what follows; plugins are loaded under it
  std::map<std::string, Loaded> by_path;
  std::map<std::string, const CompilerPlugin*> accepted;  ///< by name
};
NoDestructor<Plugins> plugins;

void host_leave_message(void* /*context*/, std::int64_t code, const char* vendor_name, const char* text) {
  leave_message(code, vendor_name, text);
}

/// Why a table can't be used; empty if it can.
std::string table_problem(const anyplace_compiler_table& table, std::uint32_t room, const std::string& name) {
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
    return fmt::format("its table says that its name is {}, and its file says {}", quoted(table.name),
                       detail::quoted(name));
  }
  if ((table.formats | table.from_spirv) == 0) return "its table names no format that it makes";
  const char* const lacks = table.library == nullptr ? "library" : table.compile == nullptr ? "compile" : nullptr;
  if (lacks != nullptr) return fmt::format("its table lacks the entry {}, which every compiler must have", lacks);
  return "";
}

std::optional<Refusal> load(CompilerPlugin& compiler) {
  const CallbackScope scope;  // the plugin may not call anyplace
  const OpenedFile opened = open_plugin(compiler.path, compiler.name, &compiler);
  if (opened.handle == nullptr) return opened.refusal;
  void* const symbol = ::dlsym(opened.handle, ANYPLACE_COMPILER_ENTRY_SYMBOL);
  if (symbol == nullptr) return lacks_symbol(ANYPLACE_COMPILER_ENTRY_SYMBOL);
  GuardedTable<anyplace_compiler_table> filled;
  take_message();
  if (std::optional<Refusal> refusal =
          fill_table(reinterpret_cast<anyplace_compiler_entry_function>(symbol), compiler.host, filled, compiler.name,
                     ANYPLACE_COMPILER_ENTRY_SYMBOL)) {
    return refusal;
  }
  if (std::string problem = table_problem(filled.table, sizeof(filled.table), compiler.name); !problem.empty()) {
    return Refusal{ErrorCode::plugin_refused, std::move(problem)};
  }
  compiler.table = filled.table;
  return std::nullopt;
}

const Loaded& loaded(const PluginFile& file) {
  Loaded& one = plugins.value.by_path[file.path];
  if (one.is_done) return one;
  CompilerPlugin& compiler = *one.compiler;
  compiler.name = file.name;
  compiler.path = file.path;
  compiler.host = {sizeof(compiler.host), ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR, 0, &compiler,
                   host_leave_message};
  one.refusal = load(compiler);
  one.is_done = true;
  if (!one.refusal) plugins.value.accepted.emplace(compiler.name, &compiler);
  return one;
}

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

std::vector<CompilerCandidate> compiler_candidates() {
  const LoadingScope loading;  // the lock may be held for long
  const std::lock_guard lock(plugins.value.mutex);
  std::vector<CompilerCandidate> all;
  for (const PluginFile& file : list_plugins(PluginKind::compiler).files) {
    CompilerCandidate& candidate = all.emplace_back(CompilerCandidate{file});
    const auto accepted = plugins.value.accepted.find(file.name);
    if (accepted != plugins.value.accepted.end() && accepted->second->path != file.path) {
      candidate.refusal.reason = accepted->second->path + " comes first";
      continue;
    }
    const Loaded& one = loaded(file);
    candidate.compiler = one.refusal ? nullptr : one.compiler.get();
    if (one.refusal) candidate.refusal = *one.refusal;
  }
  const auto rank = [](const CompilerCandidate& one) {
    return one.compiler != nullptr ? one.compiler->table.rank : UINT32_MAX;
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace anyplace::detail
