// SPDX-License-Identifier: Apache-2.0
#include "top.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "error_text.h"
#include "number.h"
#include "terminal.h"
#include "text.h"
#include "top_output.h"
#include "top_sampler.h"
#include "top_screen.h"
#include "top_state.h"
#include "top_view.h"
#include "write_all.h"

namespace anyplace::tool {
namespace {

using TopClock = std::chrono::steady_clock;

constexpr double least_interval = 0.1;  ///< in seconds
constexpr double most_interval = 3600;
/// The time from the very first sample to the second, so that figures that need two samples are there at once.
constexpr std::chrono::milliseconds first_window{100};

enum class Format { table, json, csv };

struct TopPlan {
  std::chrono::milliseconds interval{1000};
  std::string every;  ///< for the title: "every 1 s"
  TopState state;
  Format format = Format::table;
  std::uint64_t count = 0;  ///< how many snapshots; 0: until it is stopped
};

/// Standard output, which may be closed by its reader.
class TopOutput {
 public:
  /// Writes the text. False if nothing more can be written.
  bool put(const std::string& text) {
    if (write_all(STDOUT_FILENO, text)) return true;
    failed_ = errno;
    return false;
  }
  /// The final Answer. A reader that closed the pipe has read all that it wanted, so that is no error.
  Answer end() const {
    if (failed_ == 0 || failed_ == EPIPE) return {};
    return {"", std::string("anyplace: can't write to standard output: ") + std::strerror(failed_) + "\n", exit_failed};
  }

 private:
  int failed_ = 0;
};

Answer top_usage(const std::string& problem) {
  return {"", "anyplace top: " + problem + "\n`anyplace top --help` says more\n", exit_usage};
}

/// The seconds of --interval; nothing for a text that is no such number.
std::optional<double> parse_interval(const std::string& text) {
  double seconds = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  // A NaN compares as false, and so is refused below.
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seconds >= least_interval && seconds <= most_interval ? std::optional(seconds) : std::nullopt;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t from = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', from)) {
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::string table_text(const TopSnapshot& snapshot, TopState& state, const std::string& every) {
  constexpr std::size_t columns_of_a_pipe = 120;
  const std::size_t columns = columns_of(STDOUT_FILENO);
  std::string text;
  for (const Line& line : top_lines(snapshot, state, {columns == 0 ? columns_of_a_pipe : columns, 0, every})) {
    if (!colour_wanted(STDOUT_FILENO)) {
      text += plain_text(line) + "\n";
      continue;
    }
    for (const Span& span : line) text += span.paint ? painted(*span.paint, span.text) : span.text;
    text += "\n";
  }
  return text;
}

std::string formatted(const TopSnapshot& snapshot, TopPlan& plan, bool first) {
  switch (plan.format) {
    case Format::json:
      return top_json(snapshot);
    case Format::csv:
      return (first ? top_csv_heading() : "") + top_csv(snapshot);
    case Format::table:
      break;
  }
  return (first ? "" : "\n") + table_text(snapshot, plan.state, plan.count == 1 ? "" : plan.every);
}

/// Writes a snapshot each interval, until there were as many as asked for or nobody reads them.
Answer repeat(TopSampler& sampler, TopPlan plan) {
  // JSON and CSV are for programs, which need no notes.
  if (plan.format == Format::table) write_all(STDERR_FILENO, sampler.notes());
  TopOutput output;
  sampler.sample();
  TopClock::time_point next = TopClock::now() + first_window;
  for (std::uint64_t done = 0; plan.count == 0 || done < plan.count; ++done) {
    std::this_thread::sleep_until(next);
    if (!output.put(formatted(sampler.sample(), plan, done == 0))) break;
    next = std::max(next + plan.interval, TopClock::now());
  }
  return output.end();
}

/// Shows the full screen until q is pressed.
Answer show(TopSampler& sampler, TopPlan plan, std::unique_ptr<TopScreen> screen) {
  TopSnapshot snapshot = sampler.sample();
  TopClock::time_point next = TopClock::now() + first_window;
  for (bool drawn = false;;) {
    if (!drawn) screen->draw(top_lines(snapshot, plan.state, {screen->columns(), screen->rows(), plan.every}));
    drawn = true;
    const TopScreen::Waited waited = screen->wait(next);
    KeyResult result = KeyResult::changed;
    if (waited.event == TopScreen::Event::ended) break;
    if (waited.event == TopScreen::Event::none) result = KeyResult::sample;
    if (waited.event == TopScreen::Event::key) result = press(plan.state, waited.key);
    if (result == KeyResult::quit) break;
    if (result == KeyResult::sample) {
      snapshot = sampler.sample();
      next = TopClock::now() + plan.interval;
    }
    drawn = result == KeyResult::ignored;
  }
  const int signal_number = screen->signal();
  screen.reset();
  // The terminal is restored, so the signal may now end the program as usual.
  if (signal_number != 0) raise(signal_number);
  return {};
}

Answer watch(TopSampler& sampler, TopPlan plan) {
  const bool on_terminal = isatty(STDOUT_FILENO) != 0;
  if (plan.format != Format::table || plan.count != 0) return repeat(sampler, std::move(plan));
  if (!on_terminal) {
    plan.count = 1;
    return repeat(sampler, std::move(plan));
  }
  std::string why = "standard input is no terminal, so that top has no keys and prints its table again and again";
  if (isatty(STDIN_FILENO) != 0) {
    if (auto screen = TopScreen::open(why)) return show(sampler, std::move(plan), std::move(screen));
  }
  write_all(STDERR_FILENO, "anyplace top: " + printable(why) + "\n");
  return repeat(sampler, std::move(plan));
}

}  // namespace

TopCommand::TopCommand(CLI::App& app)
    : command_(app.add_subcommand("top",
                                  "Shows again and again how busy, full and hot the devices are, and who uses them")) {
  std::vector<std::string> keys;
  for (const SortKey key : all_sort_keys()) keys.emplace_back(to_string(key));
  command_->add_option("--interval", interval_, "Seconds from one sample to the next, 0.1 to 3600 (default 1)");
  command_->add_option("--place", places_, "Places, or backends for all their devices, with commas between them");
  command_->add_option("--sort", sort_, "The order of devices and processes (default place)")
      ->check(CLI::IsMember(keys));
  CLI::Option* const once = command_->add_flag("--once", once_, "Sample once, and end");
  count_option_ = command_->add_option("--count", count_, "Sample this many times, and end")->excludes(once);
  command_->add_flag("--json", json_, "Write JSON, an object a line");
  command_->add_flag("--csv", csv_, "Write CSV, a line for each device");
}

bool TopCommand::chosen() const { return command_->parsed(); }

Answer TopCommand::run(std::chrono::milliseconds probe_timeout, bool output_closed) const {
  TopPlan plan;
  if (json_ && csv_) return top_usage("--json and --csv are two forms of one output: give one of them");
  if (command_->get_option("--interval")->count() > 0) {
    const std::optional<double> seconds = parse_interval(interval_);
    if (!seconds) {
      return top_usage("--interval is " + in_quotes(interval_) + "; it takes a number of seconds, 0.1 to 3600");
    }
    plan.interval = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000));
    plan.every = "every " + interval_ + " s";
  } else {
    plan.every = "every 1 s";
  }
  if (count_option_->count() > 0) {
    const std::optional<std::uint64_t> count = parse_number(count_);
    if (!count || *count == 0) {
      return top_usage("--count is " + in_quotes(count_) + "; it takes a number from 1 on, of 64 bits");
    }
    plan.count = *count;
  }
  if (command_->get_option("--place")->count() > 0 && places_.empty()) {
    return top_usage(
        "--place is ''; it takes places with commas between them, like cpu_sim:0; without it, all devices "
        "are shown");
  }
  if (!sort_.empty()) plan.state.sort = sort_key(sort_).value_or(SortKey::place);
  plan.format = json_ ? Format::json : csv_ ? Format::csv : Format::table;
  if (once_) plan.count = 1;
  if (output_closed) {
    return {"", std::string("anyplace: can't write to standard output: ") + std::strerror(EBADF) + "\n", exit_failed};
  }
  try {
    TopSampler sampler(parts_of(places_), probe_timeout);
    if (sampler.empty()) {
      return {"", sampler.notes() + "no device of any backend\n", exit_failed};
    }
    return watch(sampler, std::move(plan));
  } catch (const Error& error) {
    const int status = error.code() == ErrorCode::invalid_argument ? exit_usage : exit_failed;
    return {"", error_text("anyplace top", error), status};
  }
}

}  // namespace anyplace::tool
