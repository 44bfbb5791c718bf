// SPDX-License-Identifier: Apache-2.0
#include "header_copies.h"

#include <map>
#include <string_view>
#include <utility>

#include "plugin.h"
#include "source_text.h"

namespace anyplace::compilers {
namespace {

/// The dialect itself stays as it is, also where a folder of the request has it.
constexpr std::string_view dialect = "/anyplace/device_code";

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }
std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What stands behind #include, with its quotes or angle brackets; empty for a macro.
std::string_view operand_at(std::string_view text, std::size_t at) {
  at = text.find_first_not_of(" \t", at);
  if (at == text.npos || (text[at] != '"' && text[at] != '<')) return {};
  const std::size_t end = text.find_first_of(text[at] == '<' ? ">\n" : "\"\n", at + 1);
  return end == text.npos || text[end] == '\n' ? std::string_view() : text.substr(at, end + 1 - at);
}

class HeaderCopies {
 public:
  explicit HeaderCopies(const anyplace_compile_request& request) : request_(request) {}

  /// Reads the headers that a text includes, and those that they include.
  void read_included(std::string_view text, std::string_view own_folder) {
    Tokens tokens(text);
    std::string_view last;
    for (std::string_view token; !(token = tokens.next()).empty(); last = token) {
      if (is_include(last, token, tokens)) read(path_of(operand_at(text, tokens.place()), own_folder));
      if (token == "extern" && shared_.note(tokens)) declares_shared_ = declares_shared_ || !own_folder.empty();
    }
  }
  /// Whether one of the headers declares dynamic shared memory.
  bool declares_shared() const noexcept { return declares_shared_; }

  /// Writes the copies. False if that can't be done.
  bool write(const anyplace_compile_sink& sink) const {
    for (const auto& [path, header] : headers_) {
      const std::string text = "#line 1 \"" + in_literal(path) + "\"\n" + changed(header.text, folder_of(path));
      if (!write_file(header.copy, text)) return false;
      sink.header(sink.context, path.c_str());
    }
    return true;
  }
  /// A text that includes the copies, and has ANYPLACE_DYNAMIC_SHARED for `extern __shared__`.
  std::string changed(std::string_view text, std::string_view own_folder) const {
    Copy copy(text, "");
    Tokens tokens(text);
    SharedDeclarations shared = shared_;
    std::string_view last;
    for (std::string_view token; !(token = tokens.next()).empty(); last = token) {
      if (is_include(last, token, tokens)) {
        const std::string_view operand = operand_at(text, tokens.place());
        const auto header = headers_.find(path_of(operand, own_folder));
        if (header == headers_.end()) continue;
        const auto at = static_cast<std::size_t>(operand.data() - text.data());
        copy.advance(at);
        copy.substitute(at + operand.size(), "\"" + header->second.copy + "\"");
      }
      if (token == "extern" && shared.replace(tokens, copy)) token = {};
      shared.convert(tokens, token, copy);
    }
    copy.advance(text.size());
    return std::move(copy.text);
  }

 private:
  struct Header {
    std::string text;
    std::string copy;  ///< its path
  };

  static bool is_include(std::string_view last, std::string_view token, const Tokens& tokens) {
    return last == "#" && token == "include" && tokens.in_directive();
  }
  /// The file that an #include of a file in `own_folder` names; "" if none of the request's folders has it.
  std::string path_of(std::string_view operand, std::string_view own_folder) const {
    if (operand.size() < 3) return "";
    const std::string name(operand.substr(1, operand.size() - 2));
    if (name.front() == '/') return is_file(name) ? name : "";
    if (operand.front() == '"' && !own_folder.empty()) {
      if (std::string path = std::string(own_folder) + name; is_file(path)) return path;
    }
    for (const char* const folder : includes_of(request_)) {
      if (std::string path = std::string(folder) + "/" + name; is_file(path)) return path;
    }
    return "";
  }
  void read(const std::string& path) {
    if (path.empty() || headers_.count(path) != 0 || path.find(dialect) != path.npos) return;
    std::string text;
    if (!read_file(path, text)) return;
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a mark that a compiler skips only at the beginning
    const std::string number = std::to_string(headers_.size());
    headers_[path] = {text, std::string(request_.folder) + "/" + number + "_" + std::string(file_of(path))};
    read_included(text, folder_of(path));
  }

  const anyplace_compile_request& request_;
  std::map<std::string, Header> headers_;  ///< by path
  SharedDeclarations shared_;              ///< of all texts
  bool declares_shared_ = false;
};

}  // namespace

std::string source_with_header_copies(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string_view source(request.source, request.source_bytes);
  HeaderCopies copies(request);
  copies.read_included(source, "");
  if (!copies.declares_shared() || !copies.write(sink)) return std::string(source);
  return copies.changed(source, "");
}

}  // namespace anyplace::compilers
