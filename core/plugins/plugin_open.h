// SPDX-License-Identifier: Apache-2.0
//
// Opening a plugin's file, whatever the kind of plugin: checks the file, opens it, finds its one symbol, and calls its
// entry function with a table that the entry may not write past.
#pragma once

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "anyplace/backend/abi.h"
#include "anyplace/error.h"

namespace anyplace::detail {

/// Why a file is refused.
struct Refusal {
  ErrorCode code = ErrorCode::plugin_refused;
  std::string reason;
  std::string remedy = {};  ///< the plugin's advice on what to do about it
};

/// The dynamic linker's handle of a file that was opened; or why it is refused.
struct OpenedFile {
  void* handle = nullptr;
  Refusal refusal;
};

/// Opens the file at `path`; `name` is for errors. `owner` is the only one that may open this file. Throws failures
/// that have nothing to do with the file, such as a lack of memory or descriptors.
OpenedFile open_plugin(const std::string& path, const std::string& name, const void* owner);

/// Why a file without its symbol is refused.
Refusal lacks_symbol(const char* symbol);

/// The refusal that a plugin's entry gave as its status, with the message that it left on this thread; none for OK.
/// Throws if the failure was a lack of memory, which isn't the plugin's.
std::optional<Refusal> refusal_of(anyplace_status status, const std::string& name, const char* entry);

/// A table with bytes behind it that a plugin must not write: a plugin that was built for a longer table is detected by
/// them.
template <class Table>
struct GuardedTable {
  static constexpr unsigned char mark = 0xa5;

  Table table{};
  std::array<unsigned char, 4096> beyond;

  GuardedTable() {
    beyond.fill(mark);
    table.struct_size = sizeof(table);
  }
  bool was_overrun() const {
    return !std::all_of(beyond.begin(), beyond.end(), [](unsigned char byte) { return byte == mark; });
  }
};

/// What an exception that left a plugin's entry says; `what` is null for one that is no std::exception.
Refusal escaped(const char* what);

/// Calls a plugin's entry function to fill the table; none if it returned OK without writing past it.
template <class Entry, class Host, class Table>
std::optional<Refusal> fill_table(Entry entry, const Host& host, GuardedTable<Table>& filled, const std::string& name,
                                  const char* symbol) {
  anyplace_status status = ANYPLACE_STATUS_OK;
  try {
    status = entry(&host, &filled.table);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return escaped(exception.what());
  } catch (...) {
    return escaped(nullptr);
  }
  if (std::optional<Refusal> refusal = refusal_of(status, name, symbol)) return refusal;
  if (filled.was_overrun()) {
    return Refusal{ErrorCode::plugin_refused, "it wrote past the end of the table that it was given"};
  }
  return std::nullopt;
}

}  // namespace anyplace::detail
