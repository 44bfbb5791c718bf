// SPDX-License-Identifier: Apache-2.0
#include "source_text.h"

#include <vector>

namespace anyplace::compilers {
namespace {

struct Declaration {
  std::string type, name;  ///< empty if it isn't one of dynamic shared memory
};

/// Reads what is behind `extern`, to the semicolon.
Declaration dynamic_shared(Tokens& tokens) {
  std::vector<std::string_view> words;
  bool is_shared = false;
  for (std::string_view token; (token = tokens.next()) != ";";) {
    if (token.empty() || token == "{" || token == "(" || token == "=" || token == ",") return {};
    const bool is_attribute = token == "__align__" || token == "alignas" || token == "__attribute__";
    if (is_attribute && tokens.next() != "(") return {};
    for (int depth = is_attribute ? 1 : 0; depth > 0; depth += token == "(" ? 1 : token == ")" ? -1 : 0) {
      if ((token = tokens.next()).empty()) return {};
    }
    is_shared = is_shared || token == "__shared__";
    if (!is_attribute && token != "__shared__") words.push_back(token);
  }
  const std::size_t count = words.size();
  if (!is_shared || count < 4 || words[count - 2] != "[" || words[count - 1] != "]") return {};
  std::string type;
  for (std::size_t i = 0; i + 3 < count; ++i) {
    if (words[i] == "[") return {};
    if (!type.empty() && is_word(type.back()) && is_word(words[i].front())) type += ' ';
    type += words[i];
  }
  return {type, std::string(words[count - 3])};
}

}  // namespace

bool SharedDeclarations::replace(Tokens& tokens, Copy& copy) {
  constexpr std::string_view word = "extern";
  Tokens ahead = tokens;
  const Declaration declared = dynamic_shared(ahead);
  if (declared.name.empty()) return false;
  copy.advance(tokens.place() - word.size());
  tokens = ahead;
  copy.substitute(tokens.place(), "ANYPLACE_DYNAMIC_SHARED(" + declared.type + ", " + declared.name + ");");
  names_.insert(declared.name);
  return true;
}

bool SharedDeclarations::note(Tokens tokens) {
  const Declaration declared = dynamic_shared(tokens);
  if (!declared.name.empty()) names_.insert(declared.name);
  return !declared.name.empty();
}

void SharedDeclarations::convert(const Tokens& tokens, std::string_view token, Copy& copy) {
  if (before_ == ">" && last_ == "(" && names_.count(token) != 0) {
    Tokens ahead = tokens;
    if (ahead.next() == ")") {
      copy.advance(tokens.place() - token.size());
      copy.text += '+';
    }
  }
  before_ = last_;
  last_ = token;
}

}  // namespace anyplace::compilers
