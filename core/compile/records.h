// SPDX-License-Identifier: Apache-2.0
//
// Records: named pieces of bytes one behind the other, as files hold them: the requests and results of compilations,
// and the entries of the cache. A record is a line "<name> <bytes>", so many bytes, and a line end.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anyplace::detail {

using Record = std::pair<std::string_view, std::string_view>;  ///< the name, and the bytes

inline void add_record(std::string& to, std::string_view name, std::string_view bytes) {
  to.append(name).append(" ").append(std::to_string(bytes.size())).append("\n").append(bytes).append("\n");
}

/// The records of a text, which they point into; none if it isn't records from beginning to end.
inline std::optional<std::vector<Record>> read_records(std::string_view text) {
  std::vector<Record> records;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::size_t line_end = text.find('\n');
    if (line_end == text.npos || blank == 0 || blank >= line_end) return std::nullopt;
    std::size_t count = 0;
    const char* const end = text.data() + line_end;
    const auto [stopped, error] = std::from_chars(text.data() + blank + 1, end, count);
    if (error != std::errc() || stopped != end) return std::nullopt;
    const std::string_view name = text.substr(0, blank);
    text.remove_prefix(line_end + 1);
    if (count >= text.size() || text[count] != '\n') return std::nullopt;
    records.emplace_back(name, text.substr(0, count));
    text.remove_prefix(count + 1);
  }
  return records;
}

}  // namespace anyplace::detail
