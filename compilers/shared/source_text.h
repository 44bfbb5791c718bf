// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ as text: cut into tokens, and copied with changes that keep the number of every line. What the host and
// SPIR-V have instead of `extern __shared__`.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace anyplace::compilers {

/// Bytes of UTF-8 are a part of words.
inline bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

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
      if (std::isspace(static_cast<unsigned char>(c)) != 0 || begins("\\\n")) {
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
  /// Where the last token ends.
  std::size_t place() const noexcept { return at_; }
  /// Whether the last token is in a line of the preprocessor.
  bool in_directive() const noexcept { return in_directive_; }

 private:
  bool begins(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  std::string_view token() {
    const std::size_t begin = at_;
    if (is_word(text_[at_])) {
      const bool is_number = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
      while (at_ < text_.size() && (is_word(text_[at_]) || (is_number && text_[at_] == '\''))) ++at_;  // 1'000
      const std::string_view word = text_.substr(begin, at_ - begin);
      const bool is_raw = word == "R" || word == "u8R" || word == "LR" || word == "uR" || word == "UR";
      if (is_raw && begins("\"")) skip_raw();
      return text_.substr(begin, at_ - begin);
    }
    if (text_[at_] == '"' || text_[at_] == '\'') {
      const char quote = text_[at_++];
      // The line's end closes what isn't closed, as in "#error it isn't there".
      while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
      if (at_ < text_.size() && text_[at_] == quote) ++at_;
      at_ = std::min(at_, text_.size());
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

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_line_begin_ = true;
  bool in_directive_ = false;
};

/// Copies the source, with changes in it, and knows the line that a message about a place names.
class Copy {
 public:
  Copy(std::string_view source, std::string_view name) : source_(source), file_("\"" + std::string(name) + "\"") {}

  /// Writes all that is in front of the place.
  void advance(std::size_t to) {
    const std::string_view piece = source_.substr(at_, to - at_);
    line_ += std::count(piece.begin(), piece.end(), '\n');
    text += piece;
    at_ = to;
  }
  /// Where the copy is, as messages begin with it: name:line.
  std::string place() const { return file_.substr(1, file_.size() - 2) + ":" + std::to_string(line_); }
  /// A #line of the source, at which the copy is: its next line has the number, and the file unless that is empty.
  void renumber(std::string_view number, std::string_view file) {
    line_ = std::strtol(std::string(number).c_str(), nullptr, 10) - 1;
    if (file.starts_with('"')) file_ = file;
  }
  /// Defines a macro in front of the place, so that what depends on it is there if the place is.
  void define(const std::string& macro) {
    const std::size_t line_begin = source_.rfind('\n', at_ == 0 ? 0 : at_ - 1);
    const std::size_t column = at_ - (line_begin == source_.npos || at_ == 0 ? 0 : line_begin + 1);
    text += "\n#define " + macro + " 1\n#line " + std::to_string(line_) + " " + file_ + "\n" + std::string(column, ' ');
  }
  /// Writes `word` at the end of what goes to `end`, which is at least as long, and blanks in place of the rest, whose
  /// lines it keeps.
  void replace(std::size_t end, std::string_view word) {
    const std::string_view piece = source_.substr(at_, end - at_ - word.size());
    line_ += std::count(piece.begin(), piece.end(), '\n');
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const bool joins_lines = piece.substr(i).starts_with("\\\n");
      text += piece[i] == '\n' || joins_lines ? piece[i] : ' ';
    }
    text += word;
    at_ = end;
  }

  /// Writes `text` in place of what goes to `end`, and keeps the lines of that.
  void substitute(std::size_t end, std::string_view with) {
    const std::string_view piece = source_.substr(at_, end - at_);
    line_ += std::count(piece.begin(), piece.end(), '\n');
    text += with;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (piece[i] == '\n') text += i > 0 && piece[i - 1] == '\\' ? "\\\n" : "\n";
    }
    at_ = end;
  }

  std::string text;

 private:
  const std::string_view source_;
  std::string file_;  ///< as a literal
  std::size_t at_ = 0;
  std::ptrdiff_t line_ = 1;
};

/// The dynamic shared memory that a source declares, and what the host and SPIR-V have in its place, where no variable
/// can be that: ANYPLACE_DYNAMIC_SHARED(float, own); for `extern __shared__ float own[];`. `tokens` have just given the
/// token that a call is about.
class SharedDeclarations {
 public:
  /// At `extern`: copies what it begins, and passes it over. Returns false, and does nothing, if that declares no
  /// dynamic shared memory.
  bool replace(Tokens& tokens, Copy& copy);
  /// At `extern`: remembers the name. Returns false if it declares no dynamic shared memory.
  bool note(Tokens tokens);
  /// At any other token. A declaration outside of functions is an object, not a pointer, which no reinterpret_cast
  /// takes: so reinterpret_cast<int*>(own) becomes reinterpret_cast<int*>(+own).
  void convert(const Tokens& tokens, std::string_view token, Copy& copy);

 private:
  std::set<std::string, std::less<>> names_;
  std::string_view before_, last_;
};

}  // namespace anyplace::compilers
