// SPDX-License-Identifier: Apache-2.0
#include "kernel_source.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {
namespace {

/// Bytes of UTF-8 are a part of words.
bool is_word(char c) {
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

/// Reads what is behind `extern`, to the semicolon. Returns what declares the same dynamic shared memory on the host
/// and as SPIR-V, where no variable can be that: "ANYPLACE_DYNAMIC_SHARED(float, own);" for `__shared__ float own[];`.
/// Empty if it is another declaration.
std::string dynamic_shared(Tokens& tokens) {
  std::vector<std::string_view> words;
  bool is_shared = false;
  for (std::string_view token; (token = tokens.next()) != ";";) {
    if (token.empty() || token == "{" || token == "(" || token == "=" || token == ",") return "";
    const bool is_attribute = token == "__align__" || token == "alignas" || token == "__attribute__";
    if (is_attribute && tokens.next() != "(") return "";
    for (int depth = is_attribute ? 1 : 0; depth > 0; depth += token == "(" ? 1 : token == ")" ? -1 : 0) {
      if ((token = tokens.next()).empty()) return "";
    }
    is_shared = is_shared || token == "__shared__";
    if (!is_attribute && token != "__shared__") words.push_back(token);
  }
  const std::size_t count = words.size();
  if (!is_shared || count < 4 || words[count - 2] != "[" || words[count - 1] != "]") return "";
  std::string type;
  for (std::size_t i = 0; i + 3 < count; ++i) {
    if (words[i] == "[") return "";
    if (!type.empty() && is_word(type.back()) && is_word(words[i].front())) type += ' ';
    type += words[i];
  }
  return "ANYPLACE_DYNAMIC_SHARED(" + type + ", " + std::string(words[count - 3]) + ");";
}

std::string macro_of(const std::string& kernel) { return "ANYPLACE_SOURCE_HAS_" + kernel; }

void add(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

/// The names in the parentheses behind ANYPLACE_EXPORT_KERNELS.
std::vector<std::string> exported_names(Tokens& tokens) {
  std::vector<std::string> names;
  for (std::string_view token; !(token = tokens.next()).empty() && token != ")";) {
    if (is_word(token.front())) names.emplace_back(token);
  }
  return names;
}

}  // namespace

KernelSource read_kernels(std::string_view source, std::string_view name_in_messages) {
  Copy copy(source, name_in_messages);
  std::vector<std::string> names;
  bool has_kernel = false;
  Tokens tokens(source);
  std::string_view before, last, token;
  std::vector<bool> c_blocks;  // of each open brace: whether extern "C" is in front of it
  const auto place = [&](std::string_view of) { return static_cast<std::size_t>(of.data() - source.data()); };
  const auto found = [&](const std::string& name) {
    copy.define(macro_of(name));
    add(names, name);
  };
  while (!(token = tokens.next()).empty()) {
    const bool is_c = before == "extern" && last == "\"C\"";
    if (token == "{") c_blocks.push_back(is_c);
    if (token == "}" && !c_blocks.empty()) c_blocks.pop_back();
    if (token == "extern") {
      Tokens ahead = tokens;
      if (const std::string declared = dynamic_shared(ahead); !declared.empty()) {
        copy.advance(place(token));
        tokens = ahead;
        copy.substitute(tokens.place(), declared);
        token = {};
      }
    }
    if (last == "#" && token == "line" && tokens.in_directive()) {
      const std::string_view number = tokens.next();
      Tokens ahead = tokens;
      const std::string_view file = ahead.next();
      copy.advance(place(token));
      copy.renumber(number, ahead.in_directive() ? file : std::string_view());
    }
    if (token == "ANYPLACE_EXPORT_KERNELS" && !tokens.in_directive()) {
      copy.advance(place(token));
      for (const std::string& name : exported_names(tokens)) found(name);
      has_kernel = true;
    }
    const bool in_c = std::find(c_blocks.begin(), c_blocks.end(), true) != c_blocks.end();
    if (token == "__global__" && (is_c || in_c)) {
      has_kernel = true;
      const std::size_t end = place(token) + token.size();
      copy.advance(place(is_c ? before : token));
      if (!tokens.in_directive()) {  // not of a macro
        Tokens ahead = tokens;
        if (const std::string_view name = function_name(ahead); !name.empty()) found(std::string(name));
      }
      copy.replace(end, "__kernel__");
    }
    before = last;
    last = token;
  }
  copy.advance(source.size());
  std::string exports;
  for (const std::string& name : names) {
    exports += "#ifdef " + macro_of(name) + "\nANYPLACE_EXPORT_KERNEL(" + name + ")\n#endif\n";
  }
  return {std::move(copy.text), std::move(exports), has_kernel};
}

void warn_without_kernel(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  if (request.expression_count != 0) return;
  if (read_kernels({request.source, request.source_bytes}, request.name).has_kernel) return;
  const std::string text = std::string(request.name) +
                           ": warning: there is no kernel in it that can be launched: it begins with extern \"C\" "
                           "__global__, or is named by a name expression\n";
  sink.log(sink.context, text.data(), text.size());
}

std::string unit_with_exports(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const KernelSource kernels = read_kernels({request.source, request.source_bytes}, request.name);
  std::string unit = "#include <anyplace/device_code.h>\n#line 1 \"" + std::string(request.name) + "\"\n";
  if (!kernels.has_kernel) warn_without_kernel(request, sink);
  unit += kernels.text + "\n#line 1 \"exported kernels\"\n" + kernels.exports;
  std::size_t number = 0;
  for (const char* const expression : expressions_of(request)) {
    const std::string name = "anyplace_expression_" + std::to_string(number++);
    unit += "#line 1 \"the name expression " + in_literal(expression) + "\"\n";
    unit += "ANYPLACE_EXPORT_NAMED_KERNEL(" + name + ", \"" + name + "\", " + expression + ")\n";
    sink.lowered(sink.context, expression, name.c_str());
  }
  return unit;
}

}  // namespace anyplace::compilers
