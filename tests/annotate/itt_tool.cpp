// SPDX-License-Identifier: Apache-2.0
// A collector for ITT as the tests have it: a library that INTEL_LIBITTNOTIFY64 names. It writes what it hears to the
// file that ITT_TOOL_RECORD names, metadata as lines of their own, and misbehaves as ANNOTATE_TEST_MODE says. As ITT's
// reference collector it leaves domains and strings to the static part.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "annotate/itt_abi.h"
#include "record.h"

#define ITT_EXPORT extern "C" __attribute__((visibility("default")))

using namespace anyplace::detail::itt;
using annotate_record::Line;
using annotate_record::mode_is;

namespace {

void say(const Line& line) { annotate_record::record("ITT_TOOL_RECORD", line); }
void say(const std::string& what, const Domain* domain, const StringHandle* name) {
  say({.what = what, .domain = domain->name, .name = name == nullptr ? "-" : name->text});
}
std::string number(const Id& id) { return id.d1 == 0 ? "" : " " + std::to_string(id.d2); }

}  // namespace

ITT_EXPORT void __itt_task_begin(const Domain* domain, Id /*task*/, Id /*parent*/, StringHandle* name) {
  if (mode_is("throws_later")) throw 3;
  say("push", domain, name);
}
ITT_EXPORT void __itt_task_end(const Domain* domain) { say("pop", domain, nullptr); }
ITT_EXPORT void __itt_task_begin_overlapped(const Domain* domain, Id task, Id /*parent*/, StringHandle* name) {
  say("start" + number(task), domain, name);
}
ITT_EXPORT void __itt_task_end_overlapped(const Domain* domain, Id task) { say("end" + number(task), domain, nullptr); }
ITT_EXPORT void __itt_marker(const Domain* domain, Id /*id*/, StringHandle* name, Scope scope) {
  if (mode_is("throws_later")) throw 3;
  say(scope == scope_track ? "mark" : "mark?", domain, name);
}
ITT_EXPORT void __itt_metadata_add(const Domain* domain, Id id, StringHandle* key, MetadataType type, std::size_t count,
                                   void* data) {
  Line line{.what = "metadata" + std::string(count == 1 ? "" : "?"), .domain = domain->name, .name = key->text};
  (void)id;
  if (type == metadata_s64) line.payload = "i64:" + std::to_string(*static_cast<std::int64_t*>(data));
  if (type == metadata_u64) line.payload = "u64:" + std::to_string(*static_cast<std::uint64_t*>(data));
  if (type == metadata_f64) line.payload = "f64:" + std::to_string(*static_cast<double*>(data));
  if (type == metadata_u32) line.color = annotate_record::hexadecimal(*static_cast<unsigned*>(data));
  say(line);
}
ITT_EXPORT void __itt_metadata_str_add(const Domain* domain, Id /*id*/, StringHandle* key, const char* data,
                                       std::size_t length) {
  say({.what = "metadata", .domain = domain->name, .category = std::string(data, length), .name = key->text});
}
ITT_EXPORT void __itt_thread_set_name(const char* name) { say({.what = "thread", .name = name}); }

#ifdef ITT_TOOL_BEFORE_3
ITT_EXPORT const char* __itt_api_version() { return "2"; }
#else
ITT_EXPORT void __itt_api_init(Global* global, Group groups) {
  if (mode_is("throws_at_once")) throw std::runtime_error("this collector doesn't like it here");
  if (mode_is("fills_nothing")) return;
  if (std::memcmp(global->magic, magic, sizeof(magic)) != 0 || global->version_major != 3 || groups != group_all ||
      global->mutex_initialized != 1) {
    std::abort();
  }
  // A collector locks the record's mutex as it likes, also twice.
  pthread_mutex_lock(&global->mutex);
  pthread_mutex_lock(&global->mutex);
  for (const ApiInfo* info = global->api_list; info->name != nullptr; ++info) {
    void* const found = mode_is("fills_null") ? nullptr : dlsym(global->library, info->name);
    *info->function = found != nullptr || mode_is("fills_null") ? found : info->otherwise;
  }
  pthread_mutex_unlock(&global->mutex);
  pthread_mutex_unlock(&global->mutex);
}
#endif
