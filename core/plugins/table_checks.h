// SPDX-License-Identifier: Apache-2.0
//
// What is checked of the table of every kind of plugin: backends, engines, compilers and layers. It was built for this
// anyplace's ABI, it has a possible size, its texts end, and it has the name of its file. Each kind adds what its
// entries must be.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// A kind of table, as this anyplace has it.
struct TableKind {
  const char* abi;  ///< as errors call it: "ABI" or "the layers' ABI"
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t least_size;  ///< in bytes: what a table of the first minor has
};

std::string version_problem(const TableKind& kind, std::uint32_t major, std::uint32_t minor, std::uint32_t filled_size,
                            std::uint32_t room);

/// Why a table of that kind can't be used here; empty if it can. `room` is the value of struct_size before the plugin's
/// entry function was called.
template <class Table>
std::string version_problem(const TableKind& kind, const Table& table, std::uint32_t room) {
  return version_problem(kind, table.abi_major, table.abi_minor, table.struct_size, room);
}

/// A text of a table. It keeps the array's address.
struct TableText {
  template <std::size_t N>
  TableText(const char* of, const char (&array)[N]) noexcept
      : field(of), text(array), ends(std::memchr(array, '\0', N) != nullptr) {}

  const char* field;  ///< its name in the table
  const char* text;
  bool ends;  ///< with a NUL
};

/// Why the texts can't be used; empty if they can. The first is the plugin's name; `name` is that of its file.
std::string text_problem(std::initializer_list<TableText> texts, std::string_view name);

}  // namespace anyplace::detail
