// SPDX-License-Identifier: Apache-2.0
#include "strategy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

/// SplitMix64 (Steele et al., OOPSLA 2014): the same numbers for a seed on each machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number below `limit`, which isn't 0. Limits are small, so the remainder's bias is of no account.
  std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

 private:
  std::uint64_t state_;
};

class Eager final : public Strategy {
 public:
  std::size_t choose(std::span<const Option>, std::size_t plain) override { return plain; }
};

/// Takes the actors in turn, by their numbers.
class RoundRobin final : public Strategy {
 public:
  std::size_t choose(std::span<const Option> options, std::size_t) override {
    std::size_t lowest = 0;
    std::size_t next = options.size();
    for (std::size_t i = 0; i < options.size(); ++i) {
      const std::uint64_t actor = options[i].actor;
      if (actor < options[lowest].actor) lowest = i;
      if (last_ && actor > *last_ && (next == options.size() || actor < options[next].actor)) next = i;
    }
    const std::size_t taken = next < options.size() ? next : lowest;
    last_ = options[taken].actor;
    return taken;
  }

 private:
  std::optional<std::uint64_t> last_;
};

/// Takes threads, in turn, while one can go on, and then what one waits for.
class Lazy final : public Strategy {
 public:
  std::size_t choose(std::span<const Option> options, std::size_t plain) override {
    // Threads come before streams.
    const auto streams =
        std::find_if(options.begin(), options.end(), [](const Option& each) { return !each.is_thread; });
    if (streams != options.begin()) return threads_.choose({options.begin(), streams}, 0);
    const auto needed = std::find_if(options.begin(), options.end(), [](const Option& each) { return each.is_needed; });
    return needed != options.end() ? static_cast<std::size_t>(needed - options.begin()) : plain;
  }
  bool asks_for_needed() const noexcept override { return true; }

 private:
  RoundRobin threads_;
};

class RandomWalk final : public Strategy {
 public:
  explicit RandomWalk(std::uint64_t seed) noexcept : random_(seed) {}
  std::size_t choose(std::span<const Option> options, std::size_t) override { return random_.below(options.size()); }

 private:
  Random random_;
};

class Pct final : public Strategy {
 public:
  Pct(std::uint64_t seed, std::uint64_t depth, std::uint64_t choices) : random_(seed) {
    const std::uint64_t changes = std::min(depth - 1, choices);
    while (changes_.size() < changes) changes_.insert(random_.below(choices));
  }
  std::size_t choose(std::span<const Option> options, std::size_t) override {
    if (changes_.contains(choices_++)) priorities_[who(options[highest(options)])] = -++lowered_;
    return highest(options);
  }
  void forget(std::uint64_t actor) noexcept override {
    priorities_.erase(priorities_.lower_bound({actor, 0}), priorities_.upper_bound({actor, UINT64_MAX}));
  }

 private:
  using Who = std::pair<std::uint64_t, std::uint64_t>;  // an actor, and its branch

  static Who who(const Option& option) noexcept { return {option.actor, option.branch}; }
  std::size_t highest(std::span<const Option> options) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (priority(who(options[i])) > priority(who(options[found]))) found = i;
    }
    return found;
  }
  std::int64_t priority(const Who& one) {
    const auto known = priorities_.find(one);
    if (known != priorities_.end()) return known->second;
    return priorities_[one] = static_cast<std::int64_t>(random_.next() >> 1);
  }

  Random random_;
  std::set<std::uint64_t> changes_;  // At these choices the actor that would go on falls behind all others.
  std::map<Who, std::int64_t> priorities_;
  std::uint64_t choices_ = 0;
  std::int64_t lowered_ = 0;
};

/// Uniform Random Walk, and Selectively Uniform if `selects`.
class Uniform final : public Strategy {
 public:
  Uniform(std::uint64_t seed, std::uint64_t calls, bool selects)
      : random_(seed), calls_(calls), selected_(selects ? random_.next() : 0), selects_(selects) {}

  std::size_t choose(std::span<const Option> options, std::size_t) override {
    if (!selects_) return weighted(options);
    const auto is_enabled = [&](const Option& option) { return option.actor == intended_; };
    if (!intended_ || std::none_of(options.begin(), options.end(), is_enabled)) {
      intended_ = options[weighted(options)].actor;
    }
    // The order of the selected operations is that in which their actors are intended; others run at any time.
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (options[i].actor == intended_ || !is_selected(options[i])) candidates.push_back(i);
    }
    const std::size_t taken = candidates[random_.below(candidates.size())];
    if (is_selected(options[taken])) intended_.reset();
    return taken;
  }

 private:
  bool is_selected(const Option& option) const noexcept {
    return option.is_thread || (option.touched & selected_) != 0;
  }
  std::uint64_t weight(const Option& option) const noexcept {
    if (!option.is_thread) return std::max<std::uint64_t>(option.left, 1);
    return option.submitted < calls_ ? calls_ - option.submitted : 1;
  }
  std::size_t weighted(std::span<const Option> options) {
    std::uint64_t all = 0;
    for (const Option& option : options) all += weight(option);
    std::uint64_t drawn = random_.below(all);
    std::size_t i = 0;
    while (drawn >= weight(options[i])) drawn -= weight(options[i++]);
    return i;
  }

  Random random_;
  const std::uint64_t calls_;     // A host thread is taken to have so many Option::submitted before its next wait.
  const std::uint64_t selected_;  // It has a bit for each allocation that counts.
  const bool selects_;
  std::optional<std::uint64_t> intended_;  // This actor executes the next operation that counts.
};

class Choices final : public Strategy {
 public:
  /// An actor and how much it has done name an option in every schedule of a program.
  using Name = std::pair<std::uint64_t, std::uint64_t>;
  struct Deviation {
    Name plain, taken;
    std::string line;
  };
  struct File {
    std::vector<std::size_t> options;   // They are taken at the first choices.
    std::vector<Deviation> deviations;  // They are in the order in which they come up.
  };

  explicit Choices(File file) noexcept : file_(std::move(file)) {}
  std::size_t choose(std::span<const Option> options, std::size_t plain) override {
    if (next_ < file_.options.size()) return file_.options[next_++];
    for (auto each = file_.deviations.begin(); each != file_.deviations.end(); ++each) {
      if (each->plain != name_of(options[plain])) continue;
      const auto is_taken = [&](const Option& option) { return name_of(option) == each->taken; };
      const auto taken = std::find_if(options.begin(), options.end(), is_taken);
      if (taken == options.end()) continue;
      file_.deviations.erase(each);
      return static_cast<std::size_t>(taken - options.begin());
    }
    return plain;
  }
  std::string unmet() const override { return file_.deviations.empty() ? "" : file_.deviations.front().line; }

 private:
  static Name name_of(const Option& option) noexcept { return {option.actor, option.done}; }

  File file_;
  std::size_t next_ = 0;
};

// ---- Parsing -------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& text) {
  bad_argument(
      "ANYPLACE_CPU_SIM_STRATEGY is " + in_quotes(text) +
      "\nallowed is random, pct:D, pct:D:K, urw, urw:K, surw, surw:K, round_robin, lazy, eager or choices:FILE, "
      "with D and K from 1 to 1000000000");
}

/// Parses a number from 1 to a billion. Returns nothing for any other text.
std::optional<std::uint64_t> parse_count(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > 1'000'000'000) return {};
  return number;
}

/// Parses t0.7, the thread 0 after 7 calls, s4.1, the operation of stream 4 that comes after another one, or c0.7.1,
/// the second way in which the call 7 of thread 0 can be done.
std::optional<Choices::Name> parse_name(std::string_view text) noexcept {
  if (text.empty()) return {};
  std::uint64_t numbers[3] = {};
  std::size_t count = 0;
  for (const char* at = text.data() + 1; count < 3; ++count, ++at) {
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc() || (next != end && *next != '.')) return {};
    at = next;
    if (at == end) break;
  }
  const std::size_t wanted = text[0] == 'c' ? 2 : 1;
  if (count != wanted) return {};
  if (text[0] == 't') return Choices::Name(actor_of_thread(numbers[0]), numbers[1]);
  if (text[0] == 's') return Choices::Name(actor_of_stream(numbers[0]), numbers[1]);
  if (text[0] == 'c') return Choices::Name(actor_of_way(numbers[0], numbers[2]), numbers[1]);
  return {};
}

/// Adds a line to the file. Returns false if it isn't one.
bool parse_choice(const std::string& line, Choices::File& file) {
  const std::size_t blank = line.find(' ');
  if (blank != std::string::npos) {
    const auto plain = parse_name(std::string_view(line).substr(0, blank));
    const auto taken = parse_name(std::string_view(line).substr(blank + 1));
    if (plain && taken) file.deviations.push_back({*plain, *taken, line});
    return plain && taken;
  }
  std::size_t option = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), option);
  file.options.push_back(option);
  return error == std::errc() && end == line.data() + line.size();
}

Choices::File read_choices(const std::string& path) {
  std::ifstream file(path);
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    bad_argument("the choices of ANYPLACE_CPU_SIM_STRATEGY can't be read: " + in_quotes(path) + " is a folder");
  }
  if (!file) {
    bad_argument("the choices of ANYPLACE_CPU_SIM_STRATEGY can't be read: " + in_quotes(path) + ": " +
                 std::strerror(errno));
  }
  Choices::File choices;
  std::size_t number = 1;
  for (std::string line; std::getline(file, line); ++number) {
    if (parse_choice(line, choices)) continue;
    bad_argument("line " + std::to_string(number) + " of " + in_quotes(path) +
                 ", the choices of ANYPLACE_CPU_SIM_STRATEGY, is " + in_quotes(line) +
                 "\neach line is one decimal number, the option at that choice, or a deviation as 's4.1 t0.7'");
  }
  return choices;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const std::string& text, std::uint64_t seed) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  const std::string rest = colon < text.size() ? text.substr(colon + 1) : std::string();
  if (name == "choices" && !rest.empty()) return std::make_unique<Choices>(read_choices(rest));
  const bool alone = colon == text.size();
  if (alone && name == "random") return std::make_unique<RandomWalk>(seed);
  if (alone && name == "round_robin") return std::make_unique<RoundRobin>();
  if (alone && name == "lazy") return std::make_unique<Lazy>();
  if (alone && name == "eager") return std::make_unique<Eager>();
  if (name == "urw" || name == "surw") {
    const auto calls = alone ? std::optional<std::uint64_t>(20) : parse_count(rest);
    if (calls) return std::make_unique<Uniform>(seed, *calls, name == "surw");
  }
  if (name == "pct") {
    const std::size_t second = std::min(rest.find(':'), rest.size());
    const auto depth = parse_count(std::string_view(rest).substr(0, second));
    const auto choices = second == rest.size() ? std::optional<std::uint64_t>(100)
                                               : parse_count(std::string_view(rest).substr(second + 1));
    if (depth && choices) return std::make_unique<Pct>(seed, *depth, *choices);
  }
  refuse(text);
}

}  // namespace anyplace::cpu_sim
