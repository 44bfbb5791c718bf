// SPDX-License-Identifier: Apache-2.0
//
// Rules as text. There are two forms, which are read into the same settings (short_form.cpp, json_form.cpp); what the
// settings mean, and which of them contradict each other, is decided here, once. docs/layers.md describes both.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rule.h"

namespace anyplace::faults {

/// What is wrong with a text, and where: `at` is an offset in bytes.
struct TextProblem {
  std::size_t at;
  std::string problem;
  std::string remedy;
};

/// A key and its value, and where the value begins in the text.
struct Setting {
  std::string key;
  std::string value;
  std::size_t at;
};
/// The settings of one rule, and where it begins.
struct RuleSettings {
  std::vector<Setting> settings;
  std::size_t at;
};

/// The keys of a rule. Those with a number are numbers in JSON, the others strings.
inline constexpr std::string_view rule_keys[] = {"entry",       "status", "place",  "stream", "stream_id", "nth",
                                                 "probability", "seed",   "moment", "repeat", "delay"};
bool is_number_key(std::string_view key) noexcept;
/// Throws TextProblem for a key that there isn't.
void require_key(std::string_view key, std::size_t at);

/// Throws TextProblem.
std::vector<RuleSettings> read_short_form(std::string_view text);
std::vector<RuleSettings> read_json_form(std::string_view text);

using Rules = std::vector<std::shared_ptr<Rule>>;

/// Reads rules in either form, or from the file that follows a '@'. `source` says where the text is from, for errors.
/// Throws backend::Failure, INVALID_ARGUMENT, with the position of what is wrong.
Rules read_rules(std::string_view text, const std::string& source);

}  // namespace anyplace::faults
