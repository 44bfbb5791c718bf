// SPDX-License-Identifier: Apache-2.0
#include "plugin_load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#include "call.h"
#include "elf_check.h"
#include "plugin_table.h"
#include "text.h"

namespace anyplace::detail {
namespace {

/// A table with room behind it that a plugin has no business in.
struct GuardedTable {
  static constexpr unsigned char mark = 0xa5;

  anyplace_backend_table table{};
  std::array<unsigned char, 4096> beyond;

  GuardedTable() {
    beyond.fill(mark);
    table.struct_size = sizeof(table);
  }
  bool was_overrun() const {
    return !std::all_of(beyond.begin(), beyond.end(), [](unsigned char byte) { return byte == mark; });
  }
};

std::optional<Error> entry_failure(anyplace_status status, const Backend& backend) {
  Message message = take_message();
  if (status == ANYPLACE_STATUS_OK) return std::nullopt;
  return error_of(status, std::move(message), backend.name, "anyplace_backend_entry");
}

/// The text of an entry's failure, without place, operation and code, which the reason's reader knows.
std::string said(const Error& error) {
  std::string text = error.text();
  if (!error.vendor_text().empty()) text += ": " + error.vendor_text();
  if (!error.vendor_name().empty() || error.vendor_code() != 0) {
    text += fmt::format(" ({}{}{})", error.vendor_name(),
                        error.vendor_name().empty() || error.vendor_code() == 0 ? "" : " ",
                        error.vendor_code() == 0 ? std::string() : std::to_string(error.vendor_code()));
  }
  return one_line(text);
}

LoadResult refused(std::string reason, ErrorCode code = ErrorCode::plugin_refused) {
  return {code, std::move(reason), 0};
}

/// "libfoo.so.1: cannot open shared object file: No such file or directory": a library that the plugin is linked with.
bool is_missing_library(const std::string& text, const std::string& path) {
  return text.find("cannot open shared object file") != std::string::npos && !text.starts_with(path);
}

LoadResult refused_by_linker(const Backend& backend) {
  const char* const said_by_linker = ::dlerror();
  const std::string text = one_line(bounded(said_by_linker == nullptr ? "no reason given" : said_by_linker));
  if (is_missing_library(text, backend.path)) {
    return refused("a library that it needs is missing: " + text, ErrorCode::library_missing);
  }
  return refused("the dynamic linker refuses it: " + text);
}

/// Whether the file behind `handle` was opened before, under another name (a hard link): its entry is called once only.
bool was_opened(void* handle) {
  static std::mutex mutex;  // guards opened; no other lock is taken under it
  static auto* const opened = new std::set<void*>;
  const std::lock_guard lock(mutex);
  return !opened->insert(handle).second;
}

/// Reads the count and checks it. Entries of the table may be called from here on.
LoadResult count_devices(const Backend& backend) {
  std::int32_t count = 0;
  const anyplace_status status = backend.table.device_count(backend.table.self, &count);
  if (const std::optional<Error> failure = entry_failure(status, backend))
    return refused(said(*failure), failure->code());
  if (count < 0 || count > ANYPLACE_MAX_DEVICES) {
    return refused(fmt::format("it says that it has {} devices; 0 to {} are possible", count, ANYPLACE_MAX_DEVICES));
  }
  return {ErrorCode::ok, "", count};
}

LoadResult call_entry(Backend& backend, anyplace_backend_entry_function entry) {
  GuardedTable filled;
  const anyplace_status status = entry(&backend.host, &filled.table);
  if (const std::optional<Error> failure = entry_failure(status, backend))
    return refused(said(*failure), failure->code());
  if (filled.was_overrun()) return refused("it wrote past the end of the table that it was given");
  if (std::string problem = table_problem(filled.table, sizeof(filled.table), backend.name); !problem.empty()) {
    return refused(std::move(problem));
  }
  // What the plugin didn't fill stays null, whatever it left there.
  std::memcpy(&backend.table, &filled.table, filled.table.struct_size);
  return count_devices(backend);
}

}  // namespace

LoadResult load_plugin(Backend& backend) {
  if (std::string problem = file_problem(backend.path); !problem.empty()) return refused(std::move(problem));
  // Constructors and the entry may not call anyplace: two plugins that ask for each other would wait for ever.
  const CallbackScope scope;
  void* const handle = ::dlopen(backend.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refused_by_linker(backend);
  if (was_opened(handle)) return refused("it is the same file as a plugin that was opened under another name");
  void* const symbol = ::dlsym(handle, ANYPLACE_ENTRY_SYMBOL);
  if (symbol == nullptr) {
    return refused(fmt::format("it lacks the symbol {}: it is no anyplace plugin, or the symbol is not exported",
                               ANYPLACE_ENTRY_SYMBOL));
  }
  try {
    take_message();
    return call_entry(backend, reinterpret_cast<anyplace_backend_entry_function>(symbol));
  } catch (const std::exception& exception) {
    return refused(std::string("its entry let an exception escape: ") + one_line(exception.what()));
  } catch (...) {
    return refused("its entry let an exception escape that is no std::exception");
  }
}

}  // namespace anyplace::detail
