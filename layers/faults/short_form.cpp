// SPDX-License-Identifier: Apache-2.0
//
// The short form: rules with ';' between them, each an ENTRY or ENTRY=STATUS and then words, KEY=VALUE or a value that
// says by itself which key it belongs to.
#include <algorithm>
#include <array>
#include <utility>

#include "rule_text.h"

namespace anyplace::faults {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Values that stand without their key.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> bare_words{{
    {"before", "moment"},
    {"after", "moment"},
    {"in_stream", "moment"},
    {"each", "repeat"},
    {"once", "repeat"},
    {"sticky", "repeat"},
}};

void read_first(std::string_view word, std::size_t at, RuleSettings& rule) {
  const std::size_t equals = word.find('=');
  if (equals == 0) throw TextProblem{at, "no entry stands before the '='", "a rule begins with ENTRY or ENTRY=STATUS"};
  rule.settings.push_back({"entry", std::string(word.substr(0, equals)), at});
  if (equals == std::string_view::npos) return;
  rule.settings.push_back({"status", std::string(word.substr(equals + 1)), at + equals + 1});
}

void read_word(std::string_view word, std::size_t at, RuleSettings& rule) {
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view key = word.substr(0, equals);
    require_key(key, at);
    rule.settings.push_back({std::string(key), std::string(word.substr(equals + 1)), at + equals + 1});
    return;
  }
  for (const auto& [bare, key] : bare_words) {
    if (word != bare) continue;
    rule.settings.push_back({std::string(key), std::string(word), at});
    return;
  }
  throw TextProblem{at, "a rule has no word '" + std::string(word) + "'",
                    "words are KEY=VALUE, before, after, in_stream, each, once and sticky"};
}

}  // namespace

std::vector<RuleSettings> read_short_form(std::string_view text) {
  std::vector<RuleSettings> rules;
  bool is_begun = false;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ';') {
      is_begun = false;
      ++at;
      continue;
    }
    if (blanks.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \t\r\n;", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (is_begun) {
      read_word(word, at, rules.back());
    } else {
      rules.push_back({{}, at});
      read_first(word, at, rules.back());
      is_begun = true;
    }
    at = end;
  }
  return rules;
}

}  // namespace anyplace::faults
