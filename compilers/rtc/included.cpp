// SPDX-License-Identifier: Apache-2.0
#include "included.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {
namespace {

constexpr const char* no_file = "a macro's #include";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

/// What stands behind #include in a line; empty if it is another line.
std::string_view included_by(std::string_view line) {
  line = without_blanks(line);
  if (!line.starts_with('#')) return {};
  line = without_blanks(line.substr(1));
  constexpr std::string_view word = "include";
  return line.starts_with(word) ? without_blanks(line.substr(word.size())) : std::string_view();
}

/// The names in a text; with quotes or without.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view operand = included_by(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (operand.empty()) continue;
    const bool is_literal = operand.front() == '"' || operand.front() == '<';
    const std::size_t close = is_literal ? operand.find(operand.front() == '<' ? '>' : '"', 1) : operand.npos;
    names.emplace_back(close == operand.npos ? no_file : operand.substr(1, close - 1));
  }
  return names;
}

}  // namespace

void report_included(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  std::set<std::string> known;
  std::vector<std::string> left;  // files that are to be read
  const auto add = [&](std::string_view text, const std::string& own_folder) {
    for (const std::string& name : names_in(text)) {
      if (name == no_file) sink.header(sink.context, no_file);
      std::vector<std::string> paths{own_folder + name};
      for (const char* const folder : includes_of(request)) paths.push_back(std::string(folder) + "/" + name);
      for (std::string& path : paths) {
        if (path.starts_with('/') && is_file(path) && known.insert(path).second) left.push_back(std::move(path));
      }
    }
  };
  add({request.source, request.source_bytes}, "");
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    sink.header(sink.context, path.c_str());
    std::string text;
    if (read_file(path, text)) add(text, path.substr(0, path.rfind('/') + 1));
  }
}

}  // namespace anyplace::compilers
