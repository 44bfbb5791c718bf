// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <array>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace stress {
namespace {

struct Member {
  std::string_view name;
  Number Operation::*number;
};

constexpr Member member_table[] = {
    {"stream", &Operation::stream},
    {"other", &Operation::other},
    {"event", &Operation::event},
    {"buffer", &Operation::buffer},
    {"from", &Operation::from},
    {"host", &Operation::host},
    {"pool", &Operation::pool},
    {"device", &Operation::device},
    {"module", &Operation::module},
    {"offset", &Operation::offset},
    {"from_offset", &Operation::from_offset},
    {"bytes", &Operation::bytes},
    {"pitch", &Operation::pitch},
    {"from_pitch", &Operation::from_pitch},
    {"rows", &Operation::rows},
    {"value", &Operation::value},
    {"option", &Operation::option},
};

struct KindEntry {
  const char* name;
  const char* members;
};

constexpr KindEntry kinds[] = {
#define STRESS_KIND(name, members) {#name, members},
    STRESS_KINDS(STRESS_KIND)
#undef STRESS_KIND
};

constexpr const char* endings[] = {"orderly", "busy", "abrupt"};

const Member& member_of(std::string_view name) {
  for (const Member& member : member_table) {
    if (member.name == name) return member;
  }
  throw std::invalid_argument("an operation has no '" + std::string(name) + "'");
}

template <class T>
T number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("'" + std::string(text) + "' is no number");
  }
  return number;
}

Operation parse_operation(const std::string& thread, std::istringstream& rest) {
  Operation operation;
  operation.thread = number_of<std::uint32_t>(thread);
  std::string word;
  rest >> word;
  operation.kind = kind_of(word);
  while (rest >> word) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos) throw std::invalid_argument("'" + word + "' is not member=number");
    operation.*member_of(word.substr(0, equal)).number = number_of<Number>(word.substr(equal + 1));
  }
  return operation;
}

void parse_line(Round& round, const std::string& line) {
  std::istringstream rest(line);
  std::string word, name, value;
  if (!(rest >> word) || word[0] == '#') return;
  if (word == "seed") {
    rest >> value;
    round.seed = number_of<std::uint64_t>(value);
  } else if (word == "places") {
    while (rest >> value) round.places.push_back(value);
  } else if (word == "threads") {
    rest >> value;
    round.threads = number_of<std::uint32_t>(value);
    if (round.threads < 1 || round.threads > 64) throw std::invalid_argument("threads: 1 to 64");
  } else if (word == "set") {
    rest >> name >> value;
    round.settings.emplace_back(name, value);
  } else if (word == "ending") {
    rest >> value;
    std::size_t ending = 0;
    while (ending < std::size(endings) && endings[ending] != value) ++ending;
    if (ending == std::size(endings)) throw std::invalid_argument("an ending is orderly, busy or abrupt");
    round.ending = static_cast<Ending>(ending);
  } else {
    round.operations.push_back(parse_operation(word, rest));
    if (round.operations.back().thread >= round.threads) throw std::invalid_argument("there is no such thread");
  }
}

}  // namespace

Kind kind_of(std::string_view name) {
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    if (kinds[kind].name == name) return static_cast<Kind>(kind);
  }
  throw std::invalid_argument("there is no operation '" + std::string(name) + "'");
}

const char* name_of(Kind kind) { return kinds[static_cast<std::size_t>(kind)].name; }

std::string to_text(const Operation& operation) {
  std::string text = std::to_string(operation.thread) + " " + name_of(operation.kind);
  std::istringstream members(kinds[static_cast<std::size_t>(operation.kind)].members);
  for (std::string name; members >> name;) {
    text += " " + name + "=" + std::to_string(operation.*member_of(name).number);
  }
  return text;
}

std::string to_text(const Round& round) {
  std::string text = "seed " + std::to_string(round.seed) + "\nplaces";
  for (const std::string& place : round.places) text += " " + place;
  text += "\nthreads " + std::to_string(round.threads) + "\n";
  for (const auto& [name, value] : round.settings) text += "set " + name + " " + value + "\n";
  text += std::string("ending ") + endings[static_cast<std::size_t>(round.ending)] + "\n";
  for (const Operation& operation : round.operations) text += to_text(operation) + "\n";
  return text;
}

Round parse_round(std::string_view text) {
  Round round;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      parse_line(round, line);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (round.places.empty()) throw std::invalid_argument("a round needs a line 'places PLACE...'");
  return round;
}

}  // namespace stress
