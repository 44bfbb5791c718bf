// SPDX-License-Identifier: Apache-2.0
//
// Is the conformance suite worth its name? Runs it on every mutation of cpu_sim, each of which must fail the case that
// it names (those that are no mistake must fail none), and whole on the forwarder without one, which must fail none.
// Prints a table, its last line "convicted N / M mutants"; the last line goes to a file too. A turn (support/turn.h)
// tries every fourth mutation, and its last line adds "(turn K of 4, A in all)".
//
//   test_mutants PLUGIN RESULT_FILE [MUTATION]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../cli/run_command.h"
#include "mutation.h"
#include "support/turn.h"

namespace {

using namespace anyplace::mutants;
using anyplace::test::Run;

/// The turn that runs the whole suite on the forwarder: a run of the suite like those that take turns in
/// tests/conformance.
constexpr unsigned turn_of_forwarder = 3;

/// How often a mutation may get by the case that has to convict it, and one more.
constexpr int rounds = 10;

struct Verdict {
  bool convicted = false;
  std::string by;  ///< the case, or what came instead
  std::string why;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Run conform(const std::string& plugin, const std::string& mutation, std::vector<std::string> more) {
  std::vector<std::string> arguments{"conformance", "--place", "mutant:0", "--plugin", plugin, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  anyplace::test::Variables variables;
  if (!mutation.empty()) variables.emplace("ANYPLACE_TEST_MUTANT", mutation);
  return anyplace::test::run_command(arguments, variables);
}

std::string title(const nlohmann::json& one) {
  return one.at("group").get<std::string>() + ": " + one.at("name").get<std::string>();
}

/// The first case that failed.
Verdict verdict_of(const Run& run) {
  if (run.status != 1)
    return {false, "no case: exit status " + std::to_string(run.status), first_line(run.err + run.out)};
  const nlohmann::json report = run.json();
  for (const auto& one : report.at("list")) {
    if (one.at("result") == "failed") return {true, title(one), first_line(one.at("reason").get<std::string>())};
  }
  return {false, "no case", ""};
}

Verdict try_mutation(const std::string& plugin, const Mutation& mutation) {
  const std::string wanted = mutation.convicted_by;
  const std::string refused = "refused: ";
  if (wanted.starts_with(refused)) {
    const Run run = conform(plugin, mutation.name, {"--filter", "devices.properties"});
    const std::string text = wanted.substr(refused.size());
    if (run.status != 2) return {false, "not refused: exit status " + std::to_string(run.status), ""};
    const std::string why = run.json().at("error").at("text").get<std::string>();
    return {anyplace::test::contains(why, text), "refused", "... " + why.substr(std::min(why.find(text), why.size()))};
  }
  const std::string innocent = "innocent: ";
  if (wanted.starts_with(innocent)) {
    const Run run =
        conform(plugin, mutation.name, {"--filter", wanted.substr(innocent.size()), "--jobs", "2", "--timeout", "120"});
    if (run.status == 0 && run.json().at("passed").get<int>() > 0) return {true, "nothing, as is right", ""};
    const Verdict verdict = verdict_of(run);
    return {false, "wrongly " + verdict.by, verdict.why};
  }
  // The filter lets nothing but that case run. A hang is a conviction too, and has to be found out soon. On a machine
  // that is busy a case may look away in the moment that matters: it convicts sooner or later.
  Verdict verdict;
  for (int round = 1; round <= rounds && !verdict.convicted; ++round) {
    verdict = verdict_of(
        conform(plugin, mutation.name, {"--filter", wanted, "--timeout", "3", "--seed", std::to_string(round)}));
    verdict.convicted = verdict.convicted && anyplace::test::contains(verdict.by, wanted);
    if (round > 1) verdict.by += " (in round " + std::to_string(round) + ")";
  }
  return verdict;
}

unsigned at_a_time() { return std::clamp(2 * std::thread::hardware_concurrency(), 2u, 16u); }

/// All verdicts, of several at a time: most of the time goes into waiting for hangs.
std::vector<Verdict> try_all(const std::string& plugin, const std::vector<Mutation>& mutations) {
  std::vector<Verdict> verdicts(mutations.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < at_a_time(); ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < mutations.size(); mine = next++) {
        try {
          verdicts[mine] = try_mutation(plugin, mutations[mine]);
        } catch (const std::exception& error) {
          verdicts[mine] = {false, "no verdict", error.what()};
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return verdicts;
}

/// Whether the suite finds nothing where nothing is wrong.
bool forwarder_passes(const std::string& plugin) {
  const Run run = conform(plugin, "", {"--jobs", "2", "--timeout", "120"});
  if (run.status == 0) {
    std::printf("without a mutation: %d cases passed\n", run.json().at("passed").get<int>());
    return true;
  }
  const Verdict verdict = verdict_of(run);
  std::printf("without a mutation: CONVICTED by %s: %s\n", verdict.by.c_str(), verdict.why.c_str());
  return false;
}

/// Those of this turn, or the one that is named.
std::vector<Mutation> mutations_of(const test::Turn& turn, const char* name) {
  std::vector<Mutation> mutations;
  const std::vector<Mutation> all = all_mutations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (name != nullptr ? std::string(name) == all[i].name : turn.takes(i)) mutations.push_back(all[i]);
  }
  return mutations;
}

/// Prints what became of each, and counts the convicted.
std::size_t print_verdicts(const std::vector<Mutation>& mutations, const std::vector<Verdict>& verdicts) {
  std::size_t convicted = 0;
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const Verdict& verdict = verdicts[i];
    convicted += verdict.convicted;
    std::printf("%s %s: %s\n    by %s\n    %s\n", verdict.convicted ? "convicted" : "SURVIVED ", mutations[i].name,
                mutations[i].what, verdict.by.c_str(), verdict.why.substr(0, 160).c_str());
    if (!verdict.convicted) std::printf("    and not by %s\n", mutations[i].convicted_by);
  }
  return convicted;
}

int try_turn(const std::string& plugin, const char* result_file, const char* name) {
  const test::Turn turn = test::turn();
  const std::vector<Mutation> mutations = mutations_of(turn, name);
  std::printf("%s: %zu of %zu mutants\n", turn.text().c_str(), mutations.size(), all_mutations().size());
  std::remove(result_file);  // what an earlier run found is not this one's result
  const bool innocent_passes = !(turn.is_all() || turn.index == turn_of_forwarder) || forwarder_passes(plugin);
  const std::size_t convicted = print_verdicts(mutations, try_all(plugin, mutations));
  std::string line = "convicted " + std::to_string(convicted) + " / " + std::to_string(mutations.size()) + " mutants";
  if (!turn.is_all()) line += " (" + turn.text() + ", " + std::to_string(all_mutations().size()) + " in all)";
  std::printf("%s\n", line.c_str());
  std::ofstream(result_file) << line << '\n';
  return innocent_passes && !mutations.empty() && convicted == mutations.size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fputs("usage: test_mutants PLUGIN RESULT_FILE [MUTATION]\n", stderr);
    return 2;
  }
  return try_turn(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
} catch (const std::exception& exception) {
  std::fprintf(stderr, "test_mutants: %s\n", exception.what());
  return 2;
}
