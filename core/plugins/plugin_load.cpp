// SPDX-License-Identifier: Apache-2.0
#include "plugins/plugin_load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "plugins/plugin_open.h"
#include "plugins/plugin_table.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr const char* entry_operation = "anyplace_backend_entry";

LoadResult refused(Refusal refusal) { return {refusal.code, std::move(refusal.reason), 0, std::move(refusal.remedy)}; }
LoadResult refused(std::string reason) { return refused(Refusal{ErrorCode::plugin_refused, std::move(reason)}); }

/// Asks for the number of devices and checks it. This is the first entry of the table that is called.
LoadResult count_devices(Backend& backend) {
  std::int32_t count = 0;
  const anyplace_status status = backend.table.device_count(backend.table.self, &count);
  if (status == ANYPLACE_STATUS_OK) backend.hidden_note = one_line(take_message().text);
  if (std::optional<Refusal> refusal = refusal_of(status, backend.name, entry_operation)) {
    return refused(std::move(*refusal));
  }
  if (count < 0 || count > ANYPLACE_MAX_DEVICES) {
    return refused(fmt::format("it says that it has {} devices; 0 to {} are possible", count, ANYPLACE_MAX_DEVICES));
  }
  return {ErrorCode::ok, "", count, ""};
}

LoadResult call_entry(Backend& backend, anyplace_backend_entry_function entry, LoadProgress& progress) {
  GuardedTable<anyplace_backend_table> filled;
  take_message();
  if (std::optional<Refusal> refusal = fill_table(entry, backend.host, filled, backend.name, entry_operation)) {
    return refused(std::move(*refusal));
  }
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
    OpenedFile opened = open_plugin(backend.path, backend.name, &backend);
    if (opened.handle == nullptr) return refused(std::move(opened.refusal));
    progress.handle = opened.handle;
  }
  void* const symbol = ::dlsym(progress.handle, ANYPLACE_ENTRY_SYMBOL);
  if (symbol == nullptr) return refused(lacks_symbol(ANYPLACE_ENTRY_SYMBOL));
  return call_entry(backend, reinterpret_cast<anyplace_backend_entry_function>(symbol), progress);
}

}  // namespace anyplace::detail
