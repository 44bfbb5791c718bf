// SPDX-License-Identifier: Apache-2.0
#include "sweep_runs.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace anyplace::tool {
namespace {

/// Adds what the processes of the run reported: each hit, and each backend of each process, in a line of JSON.
void read_report(const std::string& path, SweepRun& run) {
  std::ifstream report(path);
  for (std::string line; std::getline(report, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;
    if (json.contains("hit")) {
      if (run.hit.empty()) run.hit = json.at("hit");
      continue;
    }
    if (json.at("rules").empty()) continue;
    const auto& rule = json.at("rules").front();
    run.is_reported = true;
    run.uses = std::max(run.uses, rule.at("uses").get<std::uint64_t>());
    run.hits += rule.at("hits").get<std::uint64_t>();
    for (const auto& [kind, count] : json.at("live").items()) run.live[kind] += count.get<std::uint64_t>();
  }
}

}  // namespace

void make_runs(const SweepProgram& program, const std::function<std::uint64_t()>& next,
               const std::function<std::string(std::uint64_t)>& rules, unsigned jobs, std::chrono::milliseconds limit,
               const std::function<void(const SweepRun&)>& done) {
  RunPool pool(program.words, program.folder, jobs, limit);
  const auto report_of = [&](std::uint64_t number) { return run_folder(program.folder, number) + "/report"; };
  std::uint64_t number = next();
  while (number != 0 || !pool.is_empty()) {
    while (number != 0 && pool.has_room()) {
      pool.start(number, {{"ANYPLACE_LAYERS", program.layers},
                          {"ANYPLACE_FAULTS", rules(number)},
                          {"ANYPLACE_FAULTS_REPORT", report_of(number)}});
      number = next();
    }
    SweepRun run;
    static_cast<ProgramRun&>(run) = pool.wait();
    run.rules = rules(run.number);
    read_report(report_of(run.number), run);
    done(run);
  }
}

}  // namespace anyplace::tool
