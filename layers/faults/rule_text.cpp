// SPDX-License-Identifier: Apache-2.0
#include "rule_text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <utility>

namespace anyplace::faults {
namespace {

using backend::Failure;

constexpr std::size_t file_limit = std::size_t{1} << 20;  // bytes of a file of rules
constexpr std::size_t rule_limit = 1000;
constexpr std::uint64_t delay_limit = std::uint64_t{3600} * 1'000'000'000;

[[noreturn]] void refuse(const Setting& setting, std::string problem, std::string remedy = "") {
  throw TextProblem{setting.at, std::move(problem), std::move(remedy)};
}

std::string quote(std::string_view text) { return "\"" + std::string(text.substr(0, 60)) + "\""; }

/// Whether the name fits a pattern in which '*' stands for any characters.
bool fits_pattern(std::string_view pattern, std::string_view name) noexcept {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') {
    return !name.empty() && pattern.front() == name.front() && fits_pattern(pattern.substr(1), name.substr(1));
  }
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped) {
    if (fits_pattern(pattern.substr(1), name.substr(skipped))) return true;
  }
  return false;
}

/// Names that begin with the same word as a text that is no entry's.
std::string near_entries(std::string_view text) {
  const std::string_view word = text.substr(0, text.find('_'));
  std::string names;
  for (std::size_t i = 0; i < ANYPLACE_ENTRY_COUNT; ++i) {
    const std::string_view name = entry_at(i).name;
    if (!word.empty() && name.starts_with(word)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names.empty() ? "entries are those of anyplace/backend/abi.h, like memory_allocate, or memory_* for several"
                       : "entries that begin so are " + names;
}

template <class Number>
Number parse_number(const Setting& setting, Number least, Number most, const char* what) {
  Number value{};
  const char* const end = setting.value.data() + setting.value.size();
  const auto [rest, error] = std::from_chars(setting.value.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= least) || !(value <= most)) {
    refuse(setting, setting.key + " is " + quote(setting.value), std::string("it has to be ") + what);
  }
  return value;
}
std::uint64_t parse_count(const Setting& setting, std::uint64_t least, const char* what) {
  return parse_number<std::uint64_t>(setting, least, UINT64_MAX, what);
}

anyplace_status parse_status(const Setting& setting) {
  std::string names;
#define FAULTS_STATUS(upper, lower, number, text)               \
  if (number != ANYPLACE_STATUS_OK) {                           \
    if (setting.value == #lower) return number;                 \
    names += (names.empty() ? "" : ", ") + std::string(#lower); \
  }
  ANYPLACE_STATUS_LIST(FAULTS_STATUS)
#undef FAULTS_STATUS
  if (setting.value == "ok") refuse(setting, "ok is no failure", "leave the status out of a rule that only delays");
  refuse(setting, "there is no status " + quote(setting.value), "statuses are " + names);
}

void parse_place(const Setting& setting, Rule& rule) {
  constexpr const char* remedy = "a place is the name of a backend, or NAME:INDEX, like cuda:1";
  const std::size_t colon = setting.value.find(':');
  rule.backend = setting.value.substr(0, colon);
  const bool is_name = !rule.backend.empty() && std::all_of(rule.backend.begin(), rule.backend.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name) refuse(setting, "the place is " + quote(setting.value), remedy);
  if (colon == std::string::npos) return;
  const Setting index{"the index", setting.value.substr(colon + 1), setting.at + colon + 1};
  rule.device = parse_number<std::int32_t>(index, 0, ANYPLACE_MAX_DEVICES - 1, "a device's number");
}

std::uint64_t parse_delay(const Setting& setting) {
  constexpr const char* remedy = "a delay is a whole number with ns, us, ms or s, like 5ms, of an hour at most";
  const std::size_t digits = std::min(setting.value.find_first_not_of("0123456789"), setting.value.size());
  const std::string_view unit = std::string_view(setting.value).substr(digits);
  const std::uint64_t factor = unit == "ns"   ? 1
                               : unit == "us" ? 1'000
                               : unit == "ms" ? 1'000'000
                               : unit == "s"  ? 1'000'000'000
                                              : 0;
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(setting.value.data(), setting.value.data() + digits, value);
  if (factor == 0 || error != std::errc() || value == 0 || value > delay_limit / factor) {
    refuse(setting, "the delay is " + quote(setting.value), remedy);
  }
  return value * factor;
}

template <class Word>
Word parse_word(const Setting& setting, std::initializer_list<std::pair<const char*, Word>> words) {
  std::string names;
  for (const auto& [name, word] : words) {
    if (setting.value == name) return word;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  refuse(setting, setting.key + " is " + quote(setting.value), "it is one of " + names);
}

/// The rule with one more setting. The entries come last, because it depends on the others which ones a rule is for.
void apply(const Setting& setting, Rule& rule) {
  const std::string& key = setting.key;
  if (key == "status") {
    rule.status = parse_status(setting);
  } else if (key == "place") {
    parse_place(setting, rule);
  } else if (key == "stream") {
    rule.stream = parse_count(setting, 0, "a stream's number on its device");
  } else if (key == "stream_id") {
    rule.stream_id = parse_count(setting, 1, "what StreamView::id() gives");
  } else if (key == "nth") {
    rule.nth = parse_count(setting, 1, "a whole number from 1");
  } else if (key == "probability") {
    rule.probability = parse_number<double>(setting, 0.0, 1.0, "a number from 0 to 1");
  } else if (key == "seed") {
    rule.seed = parse_count(setting, 0, "a whole number from 0");
  } else if (key == "delay") {
    rule.delay_ns = parse_delay(setting);
  } else if (key == "moment") {
    rule.moment = parse_word<Moment>(
        setting, {{"before", Moment::before}, {"after", Moment::after}, {"in_stream", Moment::in_stream}});
  } else if (key == "repeat") {
    rule.repeat =
        parse_word<Repeat>(setting, {{"each", Repeat::each}, {"once", Repeat::once}, {"sticky", Repeat::sticky}});
  }
}

/// The settings of a rule by their keys.
class Given {
 public:
  explicit Given(const RuleSettings& rule) : rule_(rule) {
    for (const Setting& setting : rule.settings) {
      if (find(setting.key) != &setting) refuse(setting, setting.key + " is there already", "each key stands once");
    }
  }
  const Setting* find(std::string_view key) const {
    const auto found = std::find_if(rule_.settings.begin(), rule_.settings.end(),
                                    [&](const Setting& setting) { return setting.key == key; });
    return found == rule_.settings.end() ? nullptr : &*found;
  }
  /// Refuses the rule at the later one of two settings that exclude each other.
  [[noreturn]] void refuse_both(const Setting& one, const Setting& other, const std::string& why) const {
    const Setting& later = one.at < other.at ? other : one;
    refuse(later, later.key + " contradicts " + (&later == &one ? other : one).key, why);
  }
  const RuleSettings& rule() const { return rule_; }

 private:
  const RuleSettings& rule_;
};

void check_contradictions(const Given& given, const Rule& rule) {
  const Setting* const nth = given.find("nth");
  const Setting* const probability = given.find("probability");
  const Setting* const repeat = given.find("repeat");
  const Setting* const seed = given.find("seed");
  const Setting* const stream = given.find("stream");
  const Setting* const stream_id = given.find("stream_id");
  const Setting* const moment = given.find("moment");
  if (nth != nullptr && probability != nullptr) {
    given.refuse_both(*nth, *probability, "a rule hits one use by its number, or each with a probability");
  }
  if (nth != nullptr && repeat != nullptr && rule.repeat == Repeat::each) {
    given.refuse_both(*nth, *repeat, "nth names one use; sticky hits the later ones, too");
  }
  if (seed != nullptr && probability == nullptr) {
    refuse(*seed, "seed is there without probability", "without a probability nothing is drawn");
  }
  if (stream != nullptr && stream_id != nullptr) given.refuse_both(*stream, *stream_id, "one of them names the stream");
  const bool has_status = rule.status != ANYPLACE_STATUS_OK;
  if (moment != nullptr && rule.moment == Moment::in_stream && !has_status) {
    refuse(*moment, "in_stream is there without a status", "the stream gets the status as a fault");
  }
  if (!has_status && rule.delay_ns == 0) {
    throw TextProblem{given.rule().at, "the rule does nothing", "give it a status, a delay or both"};
  }
}

/// The entries of the rule. One that is named by itself has to suit the rule's other settings; of a pattern's those are
/// left out which don't.
EntrySet entries_of(const Setting& setting, const Rule& rule) {
  EntrySet entries;
  std::string unsuited;
  for (std::size_t i = 0; i < ANYPLACE_ENTRY_COUNT; ++i) {
    const Entry& entry = entry_at(i);
    if (!fits_pattern(setting.value, entry.name)) continue;
    const bool fails = rule.status != ANYPLACE_STATUS_OK;
    const char* const problem =
        !entry.is_seen ? "is called before layers are put on"
        : (rule.stream || rule.stream_id || rule.moment == Moment::in_stream) && !entry.takes_stream ? "takes no stream"
        : fails && rule.moment == Moment::before && !entry.fails_before ? "can only fail after its effect"
        : fails && rule.moment == Moment::after && !entry.fails_after   ? "can only fail before its effect"
                                                                        : nullptr;
    if (problem == nullptr) {
      entries.set(i);
    } else {
      unsuited = std::string(entry.name) + " " + problem;
    }
  }
  if (entries.none() && !unsuited.empty()) refuse(setting, unsuited, "docs/layers.md says which entries suit a rule");
  if (entries.none()) refuse(setting, "no entry is called " + quote(setting.value), near_entries(setting.value));
  return entries;
}

/// The short form of a rule, whichever form it was written in.
std::string text_of(const Given& given) {
  std::string text = given.find("entry")->value;
  if (const Setting* const status = given.find("status")) text += "=" + status->value;
  for (const Setting& setting : given.rule().settings) {
    if (setting.key == "entry" || setting.key == "status") continue;
    const bool is_bare = setting.key == "moment" || setting.key == "repeat";
    text += " " + (is_bare ? std::string() : setting.key + "=") + setting.value;
  }
  return text;
}

/// Returns the seed of a rule that names none. In cpu_sim's deterministic mode that mode's seed decides, so that
/// `anyplace explore` tries other failures in each run. Its complement is taken, because the strategy draws from the
/// seed itself, and the text is in it, so that two rules don't hit the same uses.
std::uint64_t unnamed_seed(std::string_view text) {
  const auto variable = [](const char* name) {
    const char* const value = ::secure_getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  if (variable("ANYPLACE_CPU_SIM_MODE") != "deterministic" && variable("ANYPLACE_CPU_SIM_PROFILE").empty()) return 0;
  std::uint64_t seed = 0;  // cpu_sim refuses what is no number.
  const std::string_view digits = variable("ANYPLACE_CPU_SIM_SEED");
  std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same on each machine
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return ~seed ^ hash;
}

std::shared_ptr<Rule> make_rule(const RuleSettings& settings) {
  const Given given(settings);
  auto rule = std::make_shared<Rule>();
  if (given.find("nth") != nullptr) rule->repeat = Repeat::once;
  for (const Setting& setting : settings.settings) apply(setting, *rule);
  const Setting* const entry = given.find("entry");
  if (entry == nullptr) throw TextProblem{settings.at, "the rule has no entry", "give it one, or * for all"};
  check_contradictions(given, *rule);
  rule->entries = entries_of(*entry, *rule);
  rule->text = text_of(given);
  if (given.find("seed") == nullptr) rule->seed = unnamed_seed(rule->text);
  return rule;
}

/// Whether each use of `rule` is a use of `earlier`, too.
bool is_within(const Rule& rule, const Rule& earlier) {
  if ((rule.entries & ~earlier.entries).any()) return false;
  if (!earlier.backend.empty() && earlier.backend != rule.backend) return false;
  if (earlier.device >= 0 && earlier.device != rule.device) return false;
  if (earlier.stream && earlier.stream != rule.stream) return false;
  return !earlier.stream_id || earlier.stream_id == rule.stream_id;
}

/// Refuses a rule that never decides anything, because an earlier one fails all of its uses.
void check_reach(const Rules& rules, const RuleSettings& settings) {
  const Rule& rule = *rules.back();
  if (rule.delay_ns != 0) return;
  for (std::size_t i = 0; i + 1 < rules.size(); ++i) {
    const Rule& earlier = *rules[i];
    if (earlier.status == ANYPLACE_STATUS_OK || !earlier.always_hits() || !is_within(rule, earlier)) continue;
    throw TextProblem{settings.at,
                      "the rule never decides, because rule " + std::to_string(i + 1) + " fails each of its uses",
                      "put it before rule " + std::to_string(i + 1) + ", or leave it out"};
  }
}

/// "line 2, column 7", or "column 7" in a text of one line. Columns count bytes from 1.
std::string position_text(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_end = before.rfind('\n');
  const std::size_t column = at - (line_end == std::string_view::npos ? 0 : line_end + 1) + 1;
  if (text.find('\n') == std::string_view::npos) return "column " + std::to_string(column);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string read_file(const std::string& path, const std::string& source) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(file_limit + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) {
    const std::string why = errno == 0 ? "it can't be read" : std::strerror(errno);
    throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, source + " names the file " + path + ": " + why +
                                                        "\nafter the '@' stands the path of a file with rules");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > file_limit) {
    throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, path + " has more than a mebibyte");
  }
  return text;
}

}  // namespace

bool is_number_key(std::string_view key) noexcept {
  return key == "stream" || key == "stream_id" || key == "nth" || key == "probability" || key == "seed";
}

void require_key(std::string_view key, std::size_t at) {
  std::string keys;
  for (const std::string_view known : rule_keys) {
    if (known == key) return;
    keys += (keys.empty() ? "" : ", ") + std::string(known);
  }
  throw TextProblem{at, "a rule has no key " + quote(key), "keys are " + keys};
}

Rules read_rules(std::string_view text, const std::string& source) {
  if (text.starts_with('@')) {
    const std::string path(text.substr(1));
    const std::string content = read_file(path, source);
    if (content.starts_with('@')) {
      throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, path + " begins with '@'\nrules stand in the file itself");
    }
    return read_rules(content, path);
  }
  Rules rules;
  try {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string_view::npos && text[first] == '{';
    for (const RuleSettings& settings : is_json ? read_json_form(text) : read_short_form(text)) {
      if (rules.size() == rule_limit) throw TextProblem{settings.at, "there are more than 1000 rules", ""};
      rules.push_back(make_rule(settings));
      check_reach(rules, settings);
    }
  } catch (const TextProblem& problem) {
    std::string what = source + ", " + position_text(text, problem.at) + ": " + problem.problem;
    if (!problem.remedy.empty()) what += "\n" + problem.remedy;
    throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, what);
  }
  return rules;
}

}  // namespace anyplace::faults
