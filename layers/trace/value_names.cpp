// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "record.h"

namespace anyplace::trace {
namespace {

using backend::Argument;
using Names = std::vector<ValueName>;

template <class T>
void add_names(Names& names, const Argument& argument) {
  using Value = std::remove_cv_t<std::remove_pointer_t<T>>;
  if (value_count<T>(argument) == 0) return;
  if constexpr (std::is_pointer_v<T> && std::is_class_v<Value>) {
    for (const char* const name : StructValues<Value>::names) {
      names.push_back({name, backend::Kind::NUMBER, backend::Role::IN});
    }
  } else {
    names.push_back({argument.name, argument.kind, argument.role});
  }
}

template <class... Args>
Names names_of(anyplace_status (*)(void*, Args...), std::span<const Argument> arguments) {
  Names names;
  std::size_t at = 0;
  (add_names<Args>(names, arguments[at++]), ...);
  return names;
}

std::vector<Names> all_names() {
  std::vector<Names> all;
#define ANYPLACE_TRACE_NAMES(entry, presence, capabilities)                             \
  all.push_back(names_of(static_cast<decltype(anyplace_backend_table::entry)>(nullptr), \
                         backend::EntryOf<&anyplace_backend_table::entry>::arguments));
  ANYPLACE_ENTRY_LIST(ANYPLACE_TRACE_NAMES)
#undef ANYPLACE_TRACE_NAMES
  return all;
}

}  // namespace

std::span<const ValueName> value_names(std::uint16_t entry) {
  static const auto& all = *new std::vector<Names>(all_names());
  return all[entry];
}

}  // namespace anyplace::trace
