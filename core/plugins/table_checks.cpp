// SPDX-License-Identifier: Apache-2.0
#include "plugins/table_checks.h"

#include <fmt/format.h>

#include "anyplace/version.h"
#include "plugins/plugin_search.h"
#include "runtime/text.h"

namespace anyplace::detail {

std::string version_problem(const TableKind& kind, std::uint32_t major, std::uint32_t minor, std::uint32_t filled_size,
                            std::uint32_t room) {
  if (major != kind.major) {
    return fmt::format(
        "it was built for {} {}.{}, and this anyplace has {}.{}: it is of another version than anyplace {}, whose "
        "plugins are installed in folders named {}; install it for this version, build it again with this version's "
        "headers, or use an anyplace of its major",
        kind.abi, major, minor, kind.major, kind.minor, version(), plugin_folder_name);
  }
  if (filled_size < kind.least_size || filled_size > room) {
    return fmt::format("it says that it filled {} bytes of the table; at least {} are needed, and it was given {}",
                       filled_size, kind.least_size, room);
  }
  return "";
}

std::string text_problem(std::initializer_list<TableText> texts, std::string_view name) {
  for (const TableText& one : texts) {
    if (!one.ends) return fmt::format("the {} in its table doesn't end with a NUL", one.field);
  }
  const std::string_view own = texts.begin()->text;
  if (name != own) {
    return fmt::format("its table says that its name is {}, and its file says {}", in_quotes(own), in_quotes(name));
  }
  return "";
}

}  // namespace anyplace::detail
