// SPDX-License-Identifier: Apache-2.0
//
// The stress program: rounds of random operations until the time is over or something is found. README.md has its use.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "child.h"
#include "generator.h"
#include "shrink.h"

namespace {

using namespace stress;

constexpr const char* usage_text =
    R"(usage: stress [--places PLACE,...] [--doubles] [--at-once N] [--seed N] [--seconds N] [--rounds N] [--operations N]
              [--threads N] [--length N] [--without KIND,...] [--limit SECONDS] [--shrink SECONDS] [--keep-going] [--save FOLDER]
       stress --round SEED | --replay FILE [--times N]   the same places and taste; --print shows it instead of running it

  --places      the devices of a round (cpu_sim:0,cpu_sim:1)
  --doubles     over the tests' doubles of the vendors' libraries
  --at-once     each round takes this many of the places, at random (all)
  --seed        of the rounds' seeds (random, and always printed)
  --seconds     ends after the round in which they are over; --rounds, --operations likewise (--seconds 60)
  --threads     host threads of a round at most (4); --length: operations of a round, about, at most (300)
  --without     kinds of operations that are left out (end_pool,call_throw)
  --limit       seconds after which a round hangs (60)
  --shrink      seconds for making what was found smaller (60); 0: not at all
  --keep-going  until the time is over, whatever is found
  --save        a folder for the rounds in which something was found, as FILE for --replay takes them

Exit status: 0 nothing was found, 1 something was, 2 the arguments make no sense or a place isn't there.
)";

struct Options {
  std::vector<std::string> places{"cpu_sim:0", "cpu_sim:1"};
  std::size_t at_once = 0;
  std::uint64_t seed = 0, rounds = 0, operations = 0, seconds = 0, shrink = 60, times = 1;
  std::optional<std::uint64_t> round;
  std::string replay, save;
  bool print = false, keep_going = false;
  Taste taste;
  Bed bed;
};

struct Bad : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

std::uint64_t number_of(const std::string& name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    throw Bad(name + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
              text + "'");
  }
  return number;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream all(text);
  for (std::string part; std::getline(all, part, ',');) parts.push_back(part);
  return parts;
}

bool take_flag(Options& options, const std::string& name) {
  if (name == "--doubles") {
    options.bed.doubles = true;
  } else if (name == "--print") {
    options.print = true;
  } else if (name == "--keep-going") {
    options.keep_going = true;
  } else {
    return false;
  }
  return true;
}

void take_option(Options& options, const std::string& name, const std::string& value) {
  constexpr std::uint64_t most = UINT64_MAX;
  if (name == "--places") {
    options.places = split(value);
    if (options.places.empty() || options.places.size() > 8) throw Bad("--places takes 1 to 8 places");
  } else if (name == "--at-once") {
    options.at_once = number_of(name, value, 1, 8);
  } else if (name == "--seed") {
    options.seed = number_of(name, value, 0, most);
  } else if (name == "--seconds") {
    options.seconds = number_of(name, value, 1, 1'000'000);
  } else if (name == "--rounds") {
    options.rounds = number_of(name, value, 1, most);
  } else if (name == "--operations") {
    options.operations = number_of(name, value, 1, most);
  } else if (name == "--threads") {
    options.taste.most_threads = static_cast<std::uint32_t>(number_of(name, value, 1, 16));
  } else if (name == "--length") {
    options.taste.most_operations = number_of(name, value, 50, 5000);
  } else if (name == "--without") {
    for (const std::string& kind : split(value)) options.taste.without.insert(kind_of(kind));
  } else if (name == "--limit") {
    options.bed.limit = std::chrono::seconds(number_of(name, value, 1, 100'000));
  } else if (name == "--shrink") {
    options.shrink = number_of(name, value, 0, 100'000);
  } else if (name == "--times") {
    options.times = number_of(name, value, 1, 1'000'000);
  } else if (name == "--round") {
    options.round = number_of(name, value, 0, most);
  } else if (name == "--replay") {
    options.replay = value;
  } else if (name == "--save") {
    options.save = value;
  } else {
    throw Bad("there is no option " + name);
  }
}

Options parse(int count, char** arguments) {
  Options options;
  options.seed = (std::uint64_t{std::random_device()()} << 32) | std::random_device()();
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (take_flag(options, name)) continue;
    if (i + 1 == count) throw Bad(name + " needs a value, or is no option");
    take_option(options, name, arguments[++i]);
  }
  if (options.seconds == 0 && options.rounds == 0 && options.operations == 0) options.seconds = 60;
  if (options.at_once == 0 || options.at_once > options.places.size()) options.at_once = options.places.size();
  return options;
}

/// A folder for this run, which goes with it.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "anyplace-stress-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("there is no folder for reports");
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Session {
 public:
  explicit Session(const Options& options) : options_(options) {
    const std::vector<Traits> all = ask_in_child(options.places, options.bed);
    for (std::size_t i = 0; i < options.places.size(); ++i) traits_[options.places[i]] = all[i];
  }

  int run_rounds() {
    Random seeds(options_.seed);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options_.seconds);
    while ((options_.seconds == 0 || std::chrono::steady_clock::now() < end) &&
           (options_.rounds == 0 || rounds_ < options_.rounds) &&
           (options_.operations == 0 || operations_ < options_.operations)) {
      if (!run_round(make(seeds.next())) && !options_.keep_going) break;
    }
    return tell();
  }

  int run_one(const Round& round) {
    if (options_.print) {
      std::cout << to_text(plan(round, traits_of(round)).round);
      return 0;
    }
    for (std::uint64_t time = 0; time < options_.times; ++time) {
      if (!run_round(round) && !options_.keep_going) break;
    }
    return tell();
  }

  /// The round of a seed: which of the places it takes is in it, too.
  Round make(std::uint64_t seed) const {
    std::vector<std::string> places = options_.places;
    Random random(seed ^ 0x706c61636573u);
    while (places.size() > options_.at_once) {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(random.below(places.size())));
    }
    return make_round(seed, places, traits_of(places), options_.taste);
  }

 private:
  std::vector<Traits> traits_of(const std::vector<std::string>& places) const {
    std::vector<Traits> traits;
    for (const std::string& place : places) {
      const auto found = traits_.find(place);
      if (found == traits_.end()) throw Bad("the round uses " + place + ", which --places doesn't name");
      traits.push_back(found->second);
    }
    return traits;
  }
  std::vector<Traits> traits_of(const Round& round) const { return traits_of(round.places); }

  /// False: something was found.
  bool run_round(const Round& round) {
    const std::vector<Traits> traits = traits_of(round);
    const Plan whole = plan(round, traits);
    const Outcome outcome = run_in_child(whole, traits, options_.bed);
    ++rounds_;
    operations_ += whole.round.operations.size();
    checks_ += whole.checks;
    if (outcome.finding.empty()) return true;
    ++findings_;
    tell_finding(whole.round, outcome);
    return false;
  }

  void tell_finding(const Round& round, const Outcome& outcome) {
    std::cout << "\nfound: " << outcome.finding << ", in round " << round.seed << " of seed " << options_.seed << ", "
              << round.operations.size() << " operations\n"
              << outcome.text << std::flush;
    save(round, "whole");
    if (options_.shrink == 0) return;
    const std::vector<Traits> traits = traits_of(round);
    const Shrunk shrunk = shrink(
        round, outcome, traits, [&](const Plan& plan) { return run_in_child(plan, traits, options_.bed); },
        std::chrono::steady_clock::now() + std::chrono::seconds(options_.shrink));
    std::cout << "again in " << shrunk.again << " of " << shrunk.tried << " runs; " << shrunk.runs << " runs later "
              << shrunk.round.operations.size() << " operations are left:\n"
              << to_text(shrunk.round) << "and they end in: " << shrunk.outcome.finding << "\n"
              << shrunk.outcome.text << std::flush;
    save(shrunk.round, "shrunk");
  }

  void save(const Round& round, const char* what) const {
    if (options_.save.empty()) return;
    std::filesystem::create_directories(options_.save);
    const std::string path = options_.save + "/" + std::to_string(round.seed) + "." + what;
    std::ofstream(path) << to_text(round);
    std::cout << "saved: " << path << "\n";
  }

  int tell() const {
    std::cout << "seed " << options_.seed << ": " << rounds_ << " rounds, " << operations_ << " operations, " << checks_
              << " checks, " << findings_ << " findings\n";
    return findings_ == 0 ? 0 : 1;
  }

  const Options& options_;
  std::map<std::string, Traits> traits_;
  std::uint64_t rounds_ = 0, operations_ = 0, checks_ = 0, findings_ = 0;
};

int run(Options& options) {
  const Scratch scratch;
  options.bed.folder = scratch.path();
  std::cout << "seed " << options.seed << std::endl;
  Round replayed;
  if (!options.replay.empty()) {
    std::ifstream file(options.replay);
    if (!file) throw Bad(options.replay + " can't be read");
    replayed = parse_round(std::string(std::istreambuf_iterator<char>(file), {}));
    options.places = replayed.places;
  }
  Session session(options);
  if (!options.replay.empty()) return session.run_one(replayed);
  if (options.round) return session.run_one(session.make(*options.round));
  return session.run_rounds();
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    if (std::string(arguments[i]) == "--help") return std::fputs(usage_text, stdout) < 0 ? 2 : 0;
  }
  try {
    Options options = parse(count, arguments);
    return run(options);
  } catch (const Bad& bad) {
    std::cerr << "stress: " << bad.what() << "\n" << usage_text;
  } catch (const std::exception& exception) {
    std::cerr << "stress: " << exception.what() << "\n";
  }
  return 2;
}
