// SPDX-License-Identifier: Apache-2.0
#include "plugins/plugin_load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "plugins/elf_check.h"
#include "plugins/plugin_table.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"
#include "runtime/shortage.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr const char* entry_operation = "anyplace_backend_entry";

/// A table with bytes behind it that a plugin must not write: a plugin that was built for a longer table is detected by
/// them.
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

/// The Error of a status that the plugin's entry returned. Throws if the failure was a lack of memory, which isn't the
/// plugin's.
std::optional<Error> entry_failure(anyplace_status status, const Backend& backend) {
  Message message = take_message();
  if (status == ANYPLACE_STATUS_OK) return std::nullopt;
  Error error = error_of(status, std::move(message), backend.name, entry_operation);
  if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) throw Error(std::move(error));
  return error;
}

/// The text of an entry's failure without place, operation and code, which the reader of a refusal's reason knows
/// already.
std::string said(const Error& error) {
  std::string text(error.problem());
  if (!error.vendor_text().empty()) text += ": " + error.vendor_text();
  if (!error.vendor_name().empty() || error.vendor_code() != 0) {
    text += fmt::format(" ({}{}{})", error.vendor_name(),
                        error.vendor_name().empty() || error.vendor_code() == 0 ? "" : " ",
                        error.vendor_code() == 0 ? std::string() : std::to_string(error.vendor_code()));
  }
  return one_line(text);
}

LoadResult refused(std::string reason, ErrorCode code = ErrorCode::plugin_refused) {
  return {code, std::move(reason), 0, ""};
}

LoadResult refused(const Error& error) {
  LoadResult result = refused(said(error), error.code());
  result.remedy = one_line(error.remedy());
  if (!error.see().empty()) result.remedy += (result.remedy.empty() ? "" : "; ") + one_line(error.see());
  return result;
}

/// Whether the linker's text says that a library which the plugin is linked with is missing: "libfoo.so.1: cannot open
/// shared object file: No such file or directory".
bool is_missing_library(const std::string& text, const std::string& path) {
  return text.find("cannot open shared object file") != std::string::npos && !text.starts_with(path);
}

LoadResult refused_by_linker(const Backend& backend, int error) {
  const char* const said_by_linker = ::dlerror();
  const std::string text = one_line(bounded(said_by_linker == nullptr ? "no reason given" : said_by_linker));
  if (const int shortage = linker_shortage(error, said_by_linker); shortage != 0) {
    fail_for_now(backend.name, "loading a plugin",
                 fmt::format("{} can't be opened by the dynamic linker ({})", backend.path, text), shortage);
  }
  if (is_missing_library(text, backend.path)) {
    return refused("a library that it needs is missing: " + text, ErrorCode::library_missing);
  }
  return refused("the dynamic linker refuses it: " + text);
}

struct Opened {
  std::mutex mutex;  // guards by_handle; no other lock is taken under it
  std::map<void*, const Backend*> by_handle;
};
NoDestructor<Opened> opened;

/// Whether the file behind `handle` was opened before, under another name (a hard link): its entry is called once only.
bool was_opened(void* handle, const Backend& backend) {
  const std::lock_guard lock(opened.value.mutex);
  return opened.value.by_handle.emplace(handle, &backend).first->second != &backend;
}

/// Asks for the number of devices and checks it. This is the first entry of the table that is called.
LoadResult count_devices(Backend& backend) {
  std::int32_t count = 0;
  const anyplace_status status = backend.table.device_count(backend.table.self, &count);
  if (status == ANYPLACE_STATUS_OK) backend.hidden_note = one_line(take_message().text);
  if (const std::optional<Error> failure = entry_failure(status, backend)) return refused(*failure);
  if (count < 0 || count > ANYPLACE_MAX_DEVICES) {
    return refused(fmt::format("it says that it has {} devices; 0 to {} are possible", count, ANYPLACE_MAX_DEVICES));
  }
  return {ErrorCode::ok, "", count, ""};
}

/// Calls the plugin's entry function. If that throws, returns why the plugin is refused; bad_alloc is passed on.
std::string call_guarded(anyplace_backend_entry_function entry, const Backend& backend, GuardedTable& filled,
                         anyplace_status* status) {
  try {
    *status = entry(&backend.host, &filled.table);
    return "";
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return std::string("its entry let an exception escape: ") + one_line(exception.what());
  } catch (...) {
    return "its entry let an exception escape that is no std::exception";
  }
}

LoadResult call_entry(Backend& backend, anyplace_backend_entry_function entry, LoadProgress& progress) {
  GuardedTable filled;
  anyplace_status status = ANYPLACE_STATUS_OK;
  take_message();
  if (std::string escaped = call_guarded(entry, backend, filled, &status); !escaped.empty()) {
    return refused(std::move(escaped));
  }
  if (const std::optional<Error> failure = entry_failure(status, backend)) return refused(*failure);
  if (filled.was_overrun()) return refused("it wrote past the end of the table that it was given");
  if (std::string problem = table_problem(filled.table, sizeof(filled.table), backend.name); !problem.empty()) {
    return refused(std::move(problem));
  }
  // Entries beyond the plugin's struct_size stay null, whatever it wrote there.
  std::memcpy(&backend.table, &filled.table, filled.table.struct_size);
  progress.filled = true;
  add_initialised();
  return count_devices(backend);
}

}  // namespace

LoadResult load_plugin(Backend& backend, LoadProgress& progress) {
  // The plugin's constructors and its entry function may not call anyplace: two plugins that load each other would wait
  // for ever.
  const CallbackScope scope;
  if (progress.filled) return count_devices(backend);
  if (progress.handle == nullptr) {
    int shortage = 0;
    std::string problem = file_problem(backend.path, &shortage);
    if (shortage != 0) fail_for_now(backend.name, "loading a plugin", backend.path + ": " + problem, shortage);
    if (!problem.empty()) return refused(std::move(problem));
    errno = 0;
    void* const handle = ::dlopen(backend.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return refused_by_linker(backend, errno);
    if (was_opened(handle, backend))
      return refused("it is the same file as a plugin that was opened under another name");
    progress.handle = handle;
  }
  void* const symbol = ::dlsym(progress.handle, ANYPLACE_ENTRY_SYMBOL);
  if (symbol == nullptr) {
    return refused(fmt::format("it lacks the symbol {}: it is no anyplace plugin, or the symbol is not exported",
                               ANYPLACE_ENTRY_SYMBOL));
  }
  return call_entry(backend, reinterpret_cast<anyplace_backend_entry_function>(symbol), progress);
}

}  // namespace anyplace::detail
