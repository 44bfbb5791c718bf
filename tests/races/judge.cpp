// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/environment.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace races {
namespace {

using nlohmann::json;

/// The libraries that take the place of vendors' ones; "" is what isn't built.
constexpr std::string_view cuda_double = RACES_CUDA_DOUBLE, hip_double = RACES_HIP_DOUBLE,
                           levelzero_double = RACES_LEVELZERO_DOUBLE, nccl_double = RACES_NCCL_DOUBLE;

std::string backend_of(const std::string& place) { return place.substr(0, place.find(':')); }

std::string_view double_of(const std::string& backend) {
  if (backend == "cuda") return cuda_double;
  if (backend == "hip") return hip_double;
  return backend == "levelzero" ? levelzero_double : "";
}

/// What is loaded already is what the backend finds when it looks for the vendor's library.
void load_double(const std::string& place) {
  const std::string library(double_of(backend_of(place)));
  if (library.empty()) return;
  test::set_env("HIP_DOUBLE_ARCH", "gfx000");
  test::set_env("LEVELZERO_DOUBLE_SPIRV", "255.0");
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) throw std::runtime_error(::dlerror());
  const std::string nccl(nccl_double);
  if (backend_of(place) != "cuda" || nccl.empty()) return;
  if (::dlopen(nccl.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) throw std::runtime_error(::dlerror());
}

int run(const Program& program, bool right, const std::string& place, const std::string& report) {
  test::set_env("ANYPLACE_LAYERS", "validate");
  test::set_env("ANYPLACE_VALIDATE", "log leaks=off report=" + report);
  load_double(place);
  Bed bed(place);
  program.run(bed, right);
  bed.gate.open();
  bed.device.synchronize();
  return 0;
}

using Names = std::map<std::string, std::string>;

/// What the program said its streams are called, by their numbers.
Names names_of(const std::string& said) {
  Names names;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("stream ")) continue;
    const std::size_t blank = line.find(' ', 7);
    names[line.substr(blank + 1)] = line.substr(7, blank - 7);
  }
  return names;
}

std::string access_of(const json& access, const Names& names) {
  if (access.is_null()) return "nothing";
  std::string text = access.at("operation");
  constexpr std::string_view of_graph = " of a graph";
  if (text.ends_with(of_graph)) text.resize(text.size() - of_graph.size());
  const std::uint64_t stream = access.at("stream_id");
  if (stream == 0) return text;
  const auto name = names.find(std::to_string(stream));
  return text + "@" + (name == names.end() ? access.at("stream").get<std::string>() : name->second);
}

std::vector<std::string> reports_of(const std::string& file, const Names& names) {
  const json all = json::parse(file);
  if (all.at("version") != 1) throw std::runtime_error("the report's version isn't 1");
  std::vector<std::string> reports;
  for (const json& one : all.at("reports")) {
    reports.push_back(one.at("kind").get<std::string>() + ": " + access_of(one.at("first"), names) + ", " +
                      access_of(one.at("second"), names));
  }
  std::sort(reports.begin(), reports.end());
  return reports;
}

Judgement judge_once(const Program& program, bool right, const std::string& place) {
  const test::TempDir folder;
  const std::string report = folder.file("report.json");
  const test::Ended ended = test::in_child([&] { return run(program, right, place, report); });
  Judgement judgement{"", {}, ended.out, ended.out.find("left out: ") != std::string::npos};
  if (ended.status != 0) {
    judgement.wrong = "ended with status " + std::to_string(ended.status);
    return judgement;
  }
  try {
    judgement.reports = reports_of(test::read_file(report), names_of(ended.out));
  } catch (const std::exception& exception) {
    judgement.wrong = std::string("no report: ") + exception.what();
    return judgement;
  }
  if (judgement.is_left_out) return judgement;
  const Expected& of = program.expected;
  const std::string expected = std::string(of.kind) + ": " + of.first + ", " + of.second;
  if (right && !judgement.reports.empty()) judgement.wrong = "invented";
  if (!right && judgement.reports.empty()) judgement.wrong = "missed " + expected;
  if (!right && !judgement.reports.empty() && judgement.reports != std::vector<std::string>{expected}) {
    judgement.wrong = "another report than " + expected;
  }
  return judgement;
}

}  // namespace

std::string cannot_run(const Program& program, const std::string& place) {
  const std::string backend = backend_of(place);
  const bool vendors = backend != "cpu_sim";
  if (vendors && double_of(backend).empty()) return "the double of " + backend + " isn't built";
  if (program.needs == Needs::other_backend && !vendors) return "it needs a backend beside cpu_sim";
  if (program.needs == Needs::sharing && vendors) return "its other process has cpu_sim alone";
  return "";
}

Judgement judge(const Program& program, bool right, const std::string& place) {
  const Judgement first = judge_once(program, right, place);
  if (!first.wrong.empty() || first.is_left_out) return first;
  Judgement second = judge_once(program, right, place);
  if (second.wrong.empty() && second.reports != first.reports) second.wrong = "another report the second time";
  return second;
}

void judge_both(const Topic& topic, const Program& program, const std::string& place, Summary& summary) {
  const std::string why = cannot_run(program, place);
  if (!why.empty()) {
    ++summary.skipped;
    return;
  }
  ++summary.pairs;
  for (const bool right : {false, true}) {
    const Judgement judgement = judge(program, right, place);
    if (judgement.is_left_out) {
      --summary.pairs;
      ++summary.skipped;
      return;
    }
    if (judgement.wrong.empty()) continue;
    ++(judgement.wrong == "invented"           ? summary.invented
       : judgement.wrong.starts_with("missed") ? summary.missed
                                               : summary.other);
    summary.text += place + ", " + topic.name + ", " + (right ? "right" : "wrong") + " form of \"" + program.name +
                    "\": " + judgement.wrong + "\n";
    for (const std::string& report : judgement.reports) summary.text += "  reported " + report + "\n";
    std::istringstream lines(judgement.said);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("stream ")) summary.text += "  | " + line + "\n";
    }
  }
}

}  // namespace races
