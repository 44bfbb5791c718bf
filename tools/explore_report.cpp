// SPDX-License-Identifier: Apache-2.0
#include "explore_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "interruption.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

constexpr std::size_t shown_deviations = 10;

std::string counted(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// What a strategy of random choices may have missed. A class of schedules is what leads to one outcome.
struct Bound {
  double class_probability = 0;  ///< one that a run meets with this probability was met, with 95 % certainty
  double depth_probability = 0;  ///< of PCT: what a run finds a bug of the depth with, at least; 0 for others
  double missed = 0;             ///< and with what all runs have missed it, at most
  bool is_short = false;         ///< a run had more choices than those among which PCT makes its changes
};

Bound bound_of(const Exploration& exploration) {
  Bound bound;
  const auto runs = static_cast<double>(exploration.search.runs);
  if (runs == 0) return bound;
  bound.class_probability = 1 - std::pow(0.05, 1 / runs);
  const std::uint64_t depth = depth_of(exploration.strategy);
  const std::uint64_t known = choices_of(exploration.strategy);
  bound.is_short = depth > 1 && known < exploration.search.longest;
  if (depth != 0 && exploration.search.longest != 0 && !bound.is_short) {
    const auto steps = static_cast<double>(std::max(known, exploration.search.longest));
    const auto actors = static_cast<double>(std::max<std::uint64_t>(exploration.actors, 1));
    bound.depth_probability = 1 / (actors * std::pow(steps, static_cast<double>(depth - 1)));
    bound.missed = std::pow(1 - bound.depth_probability, runs);
  }
  return bound;
}

std::string bound_text(const Exploration& exploration) {
  if (exploration.strategy == "exhaustive" || !is_sampling(exploration.strategy)) return "";
  const Bound bound = bound_of(exploration);
  if (exploration.search.runs == 0) return "";
  std::string text = fmt::format("what has a probability of {:.2g} % or more in a run was met, with 95 % certainty",
                                 std::min(100 * bound.class_probability, 100.0));
  if (const std::uint64_t depth = depth_of(exploration.strategy); depth != 0 && bound.depth_probability != 0) {
    text += fmt::format(
        "; a bug of depth {} is met by a run with {:.2g} % at least ({} threads and streams, {} choices), and was "
        "missed "
        "with {:.2g} % at most",
        depth, 100 * bound.depth_probability, exploration.actors,
        std::max(choices_of(exploration.strategy), exploration.search.longest), 100 * bound.missed);
  }
  if (bound.is_short) {
    text += fmt::format(
        "; of a bug of depth {} no more is known: a run had {} choices, and {} changes its mind among the first {} "
        "alone",
        depth_of(exploration.strategy), exploration.search.longest, exploration.strategy,
        choices_of(exploration.strategy));
  }
  return text;
}

std::string searched_text(const Exploration& exploration) {
  const SearchResult& search = exploration.search;
  if (search.runs == 0) return "the plain schedule fails, and no other was tried";
  if (exploration.strategy != "exhaustive") {
    return fmt::format("{} of {}, {} from {} on, {} in {:.1f} s", counted(search.runs, "run"), exploration.strategy,
                       "seeds", exploration.first_seed, counted(search.schedules.size(), "distinct schedule"),
                       exploration.seconds);
  }
  return fmt::format("{}, {} that count once ({} only exchanged independent operations), {} in {:.1f} s",
                     counted(search.runs, "run"), counted(search.classes, "schedule"), search.redundant,
                     search.is_complete ? "which are all there are" : "which aren't all there are",
                     exploration.seconds);
}

std::string failure_text(const ExploredFailure& failure) {
  const RunFailure& what = failure.found.first.failure;
  std::string text = "\n" + painted(Paint::bad, what.kind) + " in " + counted(failure.found.count, "run") +
                     ", first in run " + std::to_string(failure.found.run);
  if (!failure.by_seed.empty()) text += " (seed " + std::to_string(failure.found.first.schedule.seed) + ")";
  text += ": " + printable(what.message) + "\n";
  text += field("replay", failure.replay);
  if (!failure.by_seed.empty()) text += field("by seed", failure.by_seed);
  const ShrunkFailure& shrunk = failure.shrunk;
  if (failure.found.first.is_job()) {
    text += field("not shrunk", "a job of ranks is run again by its seed");
  } else if (!shrunk.is_tried) {
    // Nothing is known of its deviations.
  } else if (!shrunk.is_replayed) {
    text += field("not shrunk", "the same choices didn't lead there again: something else decides, too");
  } else if (shrunk.deviations.empty()) {
    const bool is_of_seed = failure.found.run != 0;  // the plain schedule of the first seed was good
    text += field("deviations",
                  is_of_seed ? "none: the plain schedule fails with that seed" : "none: the plain schedule fails");
  } else {
    text += field("deviations", fmt::format("{} of {}, after {}", shrunk.deviations.size(), shrunk.before,
                                            counted(shrunk.runs, "run")));
    for (std::size_t i = 0; i < std::min(shrunk.deviations.size(), shown_deviations); ++i) {
      const Deviation& deviation = shrunk.deviations[i];
      text += fmt::format("    at choice {}: {}, instead of {}\n", deviation.choice, printable(deviation.what),
                          printable(deviation.instead));
    }
    if (shrunk.deviations.size() > shown_deviations) {
      text += fmt::format("    and {} more\n", shrunk.deviations.size() - shown_deviations);
    }
  }
  return text + field("output", failure.folder);
}

Json failure_json(const ExploredFailure& failure) {
  const ShrunkFailure& shrunk = failure.shrunk;
  Json deviations = Json::array();
  for (const Deviation& deviation : shrunk.deviations) {
    deviations.push_back({{"choice", deviation.choice},
                          {"line", deviation.line},
                          {"what", deviation.what},
                          {"instead_of", deviation.instead}});
  }
  const bool has_seed = !failure.by_seed.empty();
  return {{"kind", failure.found.first.failure.kind},
          {"message", failure.found.first.failure.message},
          {"key", failure.found.first.failure.key},
          {"runs", failure.found.count},
          {"first_run", failure.found.run},
          {"seed", has_seed ? Json(failure.found.first.schedule.seed) : Json()},
          {"plain", failure.is_plain},
          {"replayed", shrunk.is_replayed},
          {"deviations", std::move(deviations)},
          {"deviations_before", shrunk.before},
          {"shrink_runs", shrunk.runs},
          {"replay", failure.replay},
          {"by_seed", text_or_null(failure.by_seed)},
          {"output", failure.folder}};
}

}  // namespace

std::uint64_t depth_of(const std::string& strategy) {
  if (!strategy.starts_with("pct:")) return 0;
  std::uint64_t depth = 0;
  std::from_chars(strategy.data() + 4, strategy.data() + strategy.size(), depth);
  return depth;
}

std::uint64_t choices_of(const std::string& strategy) {
  const std::size_t colon = strategy.rfind(':');
  std::uint64_t choices = 0;
  if (depth_of(strategy) != 0 && colon > 4) {
    std::from_chars(strategy.data() + colon + 1, strategy.data() + strategy.size(), choices);
  }
  return choices;
}

bool is_sampling(const std::string& strategy) {
  const std::string_view name = std::string_view(strategy).substr(0, strategy.find(':'));
  return name == "random" || name == "pct" || name == "urw" || name == "surw";
}

std::string exploration_text(const Exploration& exploration) {
  std::string text = searched_text(exploration) + "\n";
  if (exploration.interrupted != 0) {
    text += field("interrupted", "by " + signal_text(exploration.interrupted) + "; this is what was found until then");
  }
  if (exploration.failures.empty()) {
    text += painted(Paint::good, "no failure") + "\n";
  } else {
    text += painted(Paint::bad, counted(exploration.failures.size(), "failure")) + "\n";
  }
  if (const std::string bound = bound_text(exploration); !bound.empty()) text += field("missed", bound);
  if (!exploration.difference.empty()) {
    text += field("caution", "this program isn't deterministic: " + printable(exploration.difference));
  }
  if (!exploration.not_compared.empty()) {
    text += field("not compared", joined({exploration.not_compared.begin(), exploration.not_compared.end()}) +
                                      ": two runs of the plain schedule already write something else");
  }
  for (const std::string& what : exploration.search.uncontrolled) text += field("uncontrolled", printable(what));
  for (const ExploredFailure& failure : exploration.failures) text += failure_text(failure);
  return text;
}

Json exploration_json(const Exploration& exploration) {
  const SearchResult& search = exploration.search;
  Json failures = Json::array();
  for (const ExploredFailure& failure : exploration.failures) failures.push_back(failure_json(failure));
  Json bound, exhaustive;
  if (exploration.strategy == "exhaustive") {
    exhaustive = {{"complete", search.is_complete}, {"schedules", search.classes}, {"redundant", search.redundant}};
  } else if (is_sampling(exploration.strategy)) {
    const Bound figures = bound_of(exploration);
    bound = {{"probability_95", figures.class_probability},
             {"depth_probability", figures.depth_probability == 0 ? Json() : Json(figures.depth_probability)},
             {"depth_missed", figures.depth_probability == 0 ? Json() : Json(figures.missed)}};
  }
  return {{"strategy", exploration.strategy},
          {"seed", exploration.first_seed},
          {"runs", search.runs},
          {"total_runs", exploration.total_runs},
          {"schedules", search.schedules.size()},
          {"choices", search.longest},
          {"actors", exploration.actors == 0 ? Json() : Json(exploration.actors)},
          {"seconds", exploration.seconds},
          {"exhaustive", std::move(exhaustive)},
          {"bound", std::move(bound)},
          {"difference", text_or_null(exploration.difference)},
          {"uncontrolled", search.uncontrolled},
          {"not_compared", exploration.not_compared},
          {"interrupted", exploration.interrupted == 0 ? Json() : Json(signal_text(exploration.interrupted))},
          {"failures", std::move(failures)}};
}

}  // namespace anyplace::tool
