// SPDX-License-Identifier: Apache-2.0
#include "plugins/plugin_open.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "anyplace/backend/kit/trust.h"
#include "plugins/elf_check.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/shortage.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

Refusal refuse_file(std::string reason, ErrorCode code = ErrorCode::plugin_refused) {
  return {code, std::move(reason)};
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

/// Whether the linker's text says that a library which the plugin is linked with is missing: "libfoo.so.1: cannot open
/// shared object file: No such file or directory".
bool is_missing_library(const std::string& text, const std::string& path) {
  return text.find("cannot open shared object file") != std::string::npos && !text.starts_with(path);
}

bool is_on_noexec(const std::string& path) {
  struct statvfs status {};
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0;
}

Refusal refused_by_linker(const std::string& path, const std::string& name, int error) {
  const char* const said_by_linker = ::dlerror();
  const std::string text = one_line(bounded(said_by_linker == nullptr ? "no reason given" : said_by_linker));
  if (const int shortage = linker_shortage(error, said_by_linker); shortage != 0) {
    fail_for_now(name, "loading a plugin", fmt::format("{} can't be opened by the dynamic linker ({})", path, text),
                 shortage);
  }
  if (is_missing_library(text, path)) {
    return refuse_file("a library that it needs is missing: " + text, ErrorCode::library_missing);
  }
  if (is_on_noexec(path)) {
    Refusal refusal = refuse_file("its file system is mounted noexec, so nothing in it is executed: " + text);
    refusal.remedy = "put the plugin on another file system, or mount that one without noexec";
    return refusal;
  }
  return refuse_file("the dynamic linker refuses it: " + text);
}

struct Opened {
  std::mutex mutex;  // guards by_handle; no other lock is taken under it
  std::map<void*, const void*> by_handle;
};
NoDestructor<Opened> opened;

/// Whether the file behind `handle` was opened before, under another name (a hard link): its entry is called once only.
bool was_opened(void* handle, const void* owner) {
  const std::lock_guard lock(opened.value.mutex);
  return opened.value.by_handle.emplace(handle, owner).first->second != owner;
}

}  // namespace

OpenedFile open_plugin(const std::string& path, const std::string& name, const void* owner) {
  int shortage = 0;
  std::string problem = file_problem(path, &shortage);
  if (shortage != 0) fail_for_now(name, "loading a plugin", path + ": " + problem, shortage);
  if (!problem.empty()) return {nullptr, refuse_file(std::move(problem))};
  if (backend::Distrust found = backend::distrust_of(path)) {
    if (is_shortage(found.error)) fail_for_now(name, "loading a plugin", found.problem, found.error);
    return {nullptr, {ErrorCode::plugin_refused, std::move(found.problem), std::move(found.remedy)}};
  }
  errno = 0;
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {nullptr, refused_by_linker(path, name, errno)};
  if (was_opened(handle, owner)) {
    return {nullptr, refuse_file("it is the same file as a plugin that was opened under another name")};
  }
  return {handle, {}};
}

Refusal lacks_symbol(const char* symbol) {
  return refuse_file(
      fmt::format("it lacks the symbol {}: it is no anyplace plugin, or the symbol is not exported", symbol));
}

Refusal escaped(const char* what) {
  return refuse_file(what == nullptr ? std::string("its entry let an exception escape that is no std::exception")
                                     : "its entry let an exception escape: " + one_line(what));
}

std::optional<Refusal> refusal_of(anyplace_status status, const std::string& name, const char* entry) {
  Message message = take_message();
  if (status == ANYPLACE_STATUS_OK) return std::nullopt;
  Error error = error_of(status, std::move(message), name, entry);
  if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) throw Error(std::move(error));
  Refusal refusal = refuse_file(said(error), error.code());
  refusal.remedy = one_line(error.remedy());
  if (!error.see().empty()) refusal.remedy += (refusal.remedy.empty() ? "" : "; ") + one_line(error.see());
  return refusal;
}

}  // namespace anyplace::detail
