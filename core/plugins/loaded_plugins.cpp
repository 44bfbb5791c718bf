// SPDX-License-Identifier: Apache-2.0
#include "plugins/loaded_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runtime/switch_variable.h"
#include "runtime/text.h"

namespace anyplace::detail {

void plugin_leave_message(void* /*context*/, std::int64_t vendor_code, const char* vendor_name, const char* text) {
  leave_message(vendor_code, vendor_name, text);
}

void plugin_log(void* context, std::uint32_t level, const char* text) {
  if (!log_wanted()) return;
  try {
    const std::string line = fmt::format("anyplace: {}: {}: {}\n", static_cast<const LoadedPlugin*>(context)->name,
                                         level == ANYPLACE_LOG_WARNING ? "warning" : "info", one_line(bounded(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // without memory the line is dropped
  }
}

std::vector<std::string> separate_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    if (blank != 0) words.emplace_back(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return words;
}

}  // namespace anyplace::detail
