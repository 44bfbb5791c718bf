// SPDX-License-Identifier: Apache-2.0
#include "kernel_source.h"

#include <algorithm>
#include <cctype>

namespace anyplace::compilers {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Cuts C++ into words, literals and single characters.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// The next one; empty at the end.
  std::string_view next() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        in_directive_ = in_directive_ && at_ > 0 && text_[at_ - 1] == '\\';
        is_line_begin_ = true;
      }
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (begins("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (begins("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        in_directive_ = in_directive_ || (c == '#' && is_line_begin_);
        is_line_begin_ = false;
        return token();
      }
    }
    return {};
  }
  /// Whether the last token is in a line of the preprocessor.
  bool in_directive() const noexcept { return in_directive_; }

 private:
  bool begins(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  std::string_view token() {
    const std::size_t begin = at_;
    if (is_word(text_[at_])) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      const bool is_raw = word == "R" || word == "u8R" || word == "LR" || word == "uR" || word == "UR";
      if (is_raw && begins("\"")) skip_raw();
      return text_.substr(begin, at_ - begin);
    }
    if (text_[at_] == '"' || text_[at_] == '\'') {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
      return text_.substr(begin, at_ - begin);
    }
    ++at_;
    return text_.substr(begin, 1);
  }
  /// A raw string: "mark( ... )mark".
  void skip_raw() {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) return;
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    at_ = close == text_.npos ? text_.size() : close + end.size();
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool is_line_begin_ = true;
  bool in_directive_ = false;
};

void add(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

/// Reads what is between __global__ and the parameters: `void __launch_bounds__(256) name(`. Returns the name; empty if
/// that is no function.
std::string_view function_name(Tokens& tokens) {
  std::string_view name, token;
  while (!(token = tokens.next()).empty() && token != ";" && token != "{") {
    if (token != "(") {
      if (is_word(token.front())) name = token;
      continue;
    }
    if (name != "__launch_bounds__" && name != "__attribute__") return name;
    for (int depth = 1; depth > 0 && !(token = tokens.next()).empty();)
      depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    name = {};
  }
  return {};
}

/// Puts `static` over the text from `first` to `last`, which are at least as long, and keeps its lines.
void make_static(std::string& text, std::size_t first, std::size_t last) {
  constexpr std::string_view word = "static";
  for (std::size_t i = first; i < last; ++i) {
    if (i < first + word.size()) {
      text[i] = word[i - first];
    } else if (text[i] != '\n') {
      text[i] = ' ';
    }
  }
}

}  // namespace

KernelSource read_kernels(std::string_view source) {
  KernelSource found{std::string(source), {}};
  Tokens tokens(source);
  std::string_view before, last, token;
  std::vector<bool> c_blocks;  // of each open brace: whether extern "C" is in front of it
  const auto place = [&](std::string_view of) { return static_cast<std::size_t>(of.data() - source.data()); };
  while (!(token = tokens.next()).empty()) {
    const bool is_c = before == "extern" && last == "\"C\"";
    if (token == "{") c_blocks.push_back(is_c);
    if (token == "}" && !c_blocks.empty()) c_blocks.pop_back();
    if (token == "ANYPLACE_EXPORT_KERNELS" && !tokens.in_directive()) {
      while (!(token = tokens.next()).empty() && token != ")") {
        if (is_word(token.front())) add(found.names, token);
      }
    }
    const bool in_c = std::find(c_blocks.begin(), c_blocks.end(), true) != c_blocks.end();
    if (token == "__global__" && (is_c || in_c)) {
      make_static(found.text, place(is_c ? before : token), place(token) + token.size());
      const bool is_macro = tokens.in_directive();
      const std::string_view name = is_macro ? std::string_view() : function_name(tokens);
      if (!name.empty()) add(found.names, name);
    }
    before = last;
    last = token;
  }
  return found;
}

}  // namespace anyplace::compilers
