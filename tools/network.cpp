// SPDX-License-Identifier: Apache-2.0
#include "tools/network.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "anyplace/backend/kit/recursive_doubling.h"
#include "json.h"
#include "number.h"
#include "text.h"
#include "tools/collective_plan.h"
#include "tools/network_profile.h"
#include "tools/network_run.h"

namespace anyplace::tool {
namespace {

/// Rates of collectives of more bytes than this mean nothing, and a double counts them exactly.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;

/// What is wrong with the command line or the profile.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Question {
  NetworkProfile profile;
  Ranks ranks;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::vector<const Algorithm*> algorithms;
  std::vector<std::uint64_t> sizes;
};

struct Estimate {
  const Algorithm* algorithm;
  NetworkResult result;
};

// ---- The question --------------------------------------------------------------------------------------------------

int count_of(const std::string& text, const char* option) {
  const std::optional<std::uint64_t> number = parse_number(text);
  if (!number || *number == 0 || *number > most_ranks) {
    throw Wrong(fmt::format("{} is {}; it takes a whole number, 1 to {}", option, in_quotes(text), most_ranks));
  }
  return static_cast<int>(*number);
}

Ranks ranks_of(const std::string& machines, const std::string& ranks, const NetworkProfile& profile) {
  const auto devices = static_cast<int>(profile.devices_per_machine);
  if (machines.empty() == ranks.empty()) throw Wrong("give either --machines or --ranks");
  Ranks found{1, devices};
  if (!machines.empty()) {
    found.machines = count_of(machines, "--machines");
  } else {
    const int all = count_of(ranks, "--ranks");
    if (all % devices != 0) {
      throw Wrong(
          fmt::format("{} ranks aren't whole machines: {} has {} devices in each, and --ranks is a multiple of that",
                      all, profile.name, devices));
    }
    found.machines = all / devices;
  }
  if (found.machines > most_ranks / devices) {
    throw Wrong(fmt::format("{} machines of {} devices are more than {} ranks, which is the most", found.machines,
                            devices, most_ranks));
  }
  if (found.count() == 1) throw Wrong("a rank that is alone has nothing to send; there have to be 2 at least");
  return found;
}

/// The command line's parser has looked whether the name is known.
CollectiveKind collective_of(const std::string& name) {
  const auto names = collective_names();
  return static_cast<CollectiveKind>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::vector<const Algorithm*> algorithms_named(CollectiveKind collective, const std::string& name) {
  std::vector<const Algorithm*> all = algorithms_of(collective);
  if (name.empty()) return all;
  std::vector<std::string> names;
  for (const Algorithm* const each : all) {
    if (name == each->name) return {each};
    names.emplace_back(each->name);
  }
  throw Wrong(fmt::format("{} has no algorithm {}; it has {}", collective_names()[static_cast<std::size_t>(collective)],
                          in_quotes(name), joined(names)));
}

std::vector<std::uint64_t> sizes_of(const std::string& list) {
  std::vector<std::uint64_t> sizes;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string text = list.substr(begin, end - begin);
    const std::optional<std::uint64_t> size = parse_size(text);
    if (!size || *size > most_bytes) {
      throw Wrong(fmt::format("--bytes has {}; a size is bytes, or a number with KiB, MiB, GiB or TiB, 1 to 1024TiB",
                              in_quotes(text)));
    }
    sizes.push_back(*size);
    begin = end + 1;
  }
  return sizes;
}

// ---- The answer ----------------------------------------------------------------------------------------------------

/// By what the bytes a second of an algorithm are multiplied, so that they can be compared with what a link has,
/// whatever the number of ranks. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(CollectiveKind collective, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case CollectiveKind::all_reduce:
      return 2 * others;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return 1;
    default:
      return others;
  }
}

double bus_rate(const Question& question, std::uint64_t bytes, const NetworkResult& result) {
  return static_cast<double>(bytes) / result.ns * 1e9 * bus_factor(question.collective, question.ranks.count());
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string rate_text(double bytes_per_second) {
  const double rate = bytes_per_second / 1e9;
  return rate < 100 ? fmt::format("{:.3g} GB/s", rate) : fmt::format("{:.0f} GB/s", rate);
}

std::string shares_text(const NetworkResult& result) {
  std::vector<std::string> parts;
  for (const TimeShare& share : result.shares) {
    const double percent = 100 * share.ns / result.ns;
    if (percent >= 0.5) parts.push_back(fmt::format("{} {:.0f} %", share.what, percent));
  }
  return joined(parts);
}

/// What anyplace would do with the communicator of an engine.
std::string choice_text(CollectiveKind collective, std::uint64_t bytes) {
  const bool is_small = collective == CollectiveKind::all_reduce && bytes <= backend::recursive_doubling_bytes;
  return is_small ? "recursive_doubling, by the engine mpi; the engines nccl and rccl leave it to NCCL and RCCL"
                  : "the library's own: the engines leave it to MPI, NCCL or RCCL";
}

std::vector<Estimate> estimates_of(const Question& question, std::uint64_t bytes) {
  std::vector<Estimate> estimates;
  for (const Algorithm* const each : question.algorithms) {
    estimates.push_back({each, run_network(question.profile, question.ranks, *each, bytes)});
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& a, const Estimate& b) { return a.result.ns < b.result.ns; });
  return estimates;
}

std::string heading(const Question& question) {
  const Ranks& ranks = question.ranks;
  return fmt::format("{} on {}: {} machine{} of {} device{}, {} ranks\n",
                     collective_names()[static_cast<std::size_t>(question.collective)], question.profile.name,
                     ranks.machines, ranks.machines == 1 ? "" : "s", ranks.devices, ranks.devices == 1 ? "" : "s",
                     ranks.count());
}

std::string text_of(const Question& question) {
  std::string text = heading(question);
  for (const std::uint64_t bytes : question.sizes) {
    std::vector<std::vector<std::string>> lines{{"ALGORITHM", "TIME", "BUS RATE", "WHERE THE TIME GOES"}};
    for (const Estimate& each : estimates_of(question, bytes)) {
      lines.push_back({each.algorithm->name, time_text(each.result.ns),
                       rate_text(bus_rate(question, bytes, each.result)), shares_text(each.result)});
    }
    text += "\n" + bytes_text(bytes) + "\n" + table(lines);
    text += "anyplace does: " + choice_text(question.collective, bytes) + "\n";
  }
  return text;
}

Json json_of(const Question& question) {
  Json json{{"profile", question.profile.name},
            {"description", question.profile.description},
            {"machines", question.ranks.machines},
            {"devices_per_machine", question.ranks.devices},
            {"ranks", question.ranks.count()},
            {"collective", collective_names()[static_cast<std::size_t>(question.collective)]},
            {"sizes", Json::array()}};
  for (const std::uint64_t bytes : question.sizes) {
    Json size{
        {"bytes", bytes}, {"anyplace_does", choice_text(question.collective, bytes)}, {"algorithms", Json::array()}};
    for (const Estimate& each : estimates_of(question, bytes)) {
      Json shares = Json::object(), links = Json::array();
      for (const TimeShare& share : each.result.shares) shares[share.what] = share.ns;
      for (const LinkUse& use : each.result.links) {
        links.push_back({{"kind", use.kind}, {"bytes", use.bytes}, {"busiest", use.busiest}});
      }
      size["algorithms"].push_back({{"name", each.algorithm->name},
                                    {"executed_by", text_or_null(each.algorithm->executed_by)},
                                    {"ns", each.result.ns},
                                    {"bus_bytes_per_second", bus_rate(question, bytes, each.result)},
                                    {"messages", each.result.messages},
                                    {"same_bits", each.result.same_bits},
                                    {"time", std::move(shares)},
                                    {"links", std::move(links)}});
    }
    json["sizes"].push_back(std::move(size));
  }
  return json;
}

}  // namespace

NetworkCommand::NetworkCommand(CLI::App& app)
    : command_(app.add_subcommand("network", "Computes what collectives would take on many machines")) {
  std::vector<std::string> networks;
  for (const NetworkText& known : network_texts()) networks.emplace_back(known.name);
  command_->add_option("--profile", profile_, "The network: " + joined(networks) + ", or a file (docs/network.md)")
      ->required();
  command_->add_option("--machines", machines_, "The number of machines");
  command_->add_option("--ranks", ranks_, "The number of devices of all machines, instead of --machines");
  const auto collectives = collective_names();
  command_->add_option("--collective", collective_, "The collective (default: all_reduce)")
      ->check(CLI::IsMember(std::vector<std::string>(collectives.begin(), collectives.end())));
  command_->add_option("--bytes", bytes_,
                       "Sizes of the larger buffer of a rank, with commas between (default: 8KiB,1MiB,1GiB)");
  command_->add_option("--algorithm", algorithm_, "One algorithm (default: all of the collective's)");
  command_->add_flag("--json", json_, "Write JSON");
}

bool NetworkCommand::chosen() const { return command_->parsed(); }

Answer NetworkCommand::run() const {
  try {
    Question question;
    question.profile = load_network_profile(profile_);
    question.ranks = ranks_of(machines_, ranks_, question.profile);
    question.collective = collective_of(collective_);
    question.algorithms = algorithms_named(question.collective, algorithm_);
    question.sizes = sizes_of(bytes_);
    return {json_ ? dump(json_of(question)) : text_of(question), "", exit_ok};
  } catch (const Wrong& error) {
    return {"", std::string("anyplace: ") + error.what() + "\n", exit_usage};
  } catch (const NetworkProfileError& error) {
    return {"", std::string("anyplace: ") + error.what() + "\n", exit_usage};
  }
}

}  // namespace anyplace::tool
