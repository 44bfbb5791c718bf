// SPDX-License-Identifier: Apache-2.0
//
// The form in JSON: {"rules": [{"entry": "memory_allocate", "status": "out_of_memory", "nth": 3}]}. The parser reports
// values as it comes to them, because a finished document wouldn't know where in the text a value was.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "rule_text.h"

namespace anyplace::faults {
namespace {

using Json = nlohmann::json;

class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(std::string_view text) : text_(text), stream_(std::string(text)) {}

  std::vector<RuleSettings> read() {
    Json::sax_parse(stream_, this);
    return std::move(rules_);
  }

  bool null() override { refuse(start(), "null is no value of a rule"); }
  bool boolean(bool) override { refuse(start(), "true and false are no values of a rule"); }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool binary(binary_t&) override { refuse(start(), "there is no binary value in JSON"); }

  bool string(string_t& value) override {
    const std::size_t at = start();
    if (level_ == 1 && key_ == "$schema") return go_on();
    require_rule(at);
    if (is_number_key(key_)) refuse(at, key_ + " is a number, without quotes");
    rules_.back().settings.push_back({key_, value, at + 1});
    return go_on();
  }

  bool key(string_t& value) override {
    const std::size_t at = start();
    if (level_ == 1 && value != "rules" && value != "$schema") refuse(at, "there is no key \"" + value + "\" here");
    if (level_ == 3) require_key(value, at);
    key_ = value;
    return go_on();
  }

  bool start_object(std::size_t) override {
    const std::size_t at = start();
    if (level_ != 0 && level_ != 2) refuse(at, "no object can be here");
    if (level_ == 2) rules_.push_back({{}, at});
    ++level_;
    return go_on();
  }
  bool end_object() override {
    --level_;
    return go_on();
  }
  bool start_array(std::size_t) override {
    if (level_ != 1 || key_ != "rules") refuse(start(), "no array can be here");
    ++level_;
    return go_on();
  }
  bool end_array() override {
    --level_;
    return go_on();
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    throw TextProblem{position == 0 ? 0 : position - 1,
                      std::string(colon == std::string_view::npos ? what : what.substr(colon + 2)), remedy};
  }

 private:
  static constexpr const char* remedy = "the text is {\"rules\": [{\"entry\": NAME, \"status\": NAME, ...}, ...]}";

  [[noreturn]] static void refuse(std::size_t at, std::string problem) {
    throw TextProblem{at, std::move(problem), remedy};
  }

  /// How many bytes the parser has read.
  std::size_t position() {
    return static_cast<std::size_t>(stream_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
  }
  /// Where the token begins that the parser has just read. Between two tokens there is nothing but these characters.
  std::size_t start() const { return std::min(text_.find_first_not_of(" \t\r\n,:", last_), text_.size()); }
  bool go_on() {
    last_ = position();
    return true;
  }

  void require_rule(std::size_t at) const {
    if (level_ != 3) refuse(at, "no such value can be here");
  }

  bool number() {
    const std::size_t at = start();
    require_rule(at);
    if (!is_number_key(key_)) refuse(at, key_ + " is a text in quotes");
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,]}", at), text_.size());
    rules_.back().settings.push_back({key_, std::string(text_.substr(at, end - at)), at});
    // The parser has read one character more, to see the number's end, and doesn't read it again.
    last_ = end;
    return true;
  }

  const std::string_view text_;
  std::istringstream stream_;
  std::size_t last_ = 0;  // the end of the token before
  int level_ = 0;         // 1 in the outermost object, 2 in the array, 3 in a rule
  std::string key_;
  std::vector<RuleSettings> rules_;
};

}  // namespace

std::vector<RuleSettings> read_json_form(std::string_view text) { return Reader(text).read(); }

}  // namespace anyplace::faults
