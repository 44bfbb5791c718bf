// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline under the layer `validate`: nothing is reported of it as it is, and each mistake of --bug is, with the
// call that mends it, whether or not a pixel changed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace bug_test {

using namespace example_test;
using nlohmann::json;

namespace {

constexpr std::uint32_t tile = image_pipeline::tile_size;

/// A mistake, and what has to be in one of its reports.
struct Mistake {
  const char* bug;
  const char* kind;
  const char* first;
  const char* second;
  const char* mend;
};

constexpr Mistake mistakes[] = {
    {"missing-wait", "race", "copy_to_device", "kernel blur", "wait_event"},
    {"early-free", "use-after-free", "kernel blur", "free", "record_stream"},
    {"wrong-event", "race", "kernel blur", "copy_to_host", "wait_event"},
    {"pageable", "race", "host write", "copy_to_device", "HostBuffer"},
};

struct Checked {
  Run run;
  json reports;
};

/// Runs it under the layer. `over` is null for cpu_sim.
Checked validated(const Over* over, const Folder& folder, std::vector<std::string> arguments) {
  const std::string in = folder.write("in.png", encode(noise(3 * tile, tile + 9, Color::rgb)));
  const std::string report = folder.file("report.json");
  std::filesystem::remove(report);
  arguments.insert(arguments.end(), {"--in", in, "--out", folder.file("out.png"), "--streams", "2"});
  RunOptions options;
  if (over != nullptr) options.variables = variables_of(*over, folder);
  options.variables.insert({{"ANYPLACE_LAYERS", "validate"}, {"ANYPLACE_VALIDATE", "log report=" + report}});
  Checked checked{run_program(arguments, options), {}};
  INFO(checked.run.out << checked.run.err);
  REQUIRE(std::filesystem::exists(report));
  checked.reports = json::parse(read_file(report)).at("reports");
  return checked;
}

std::string text(const json& report, const char* side) {
  return report.at(side).is_null() ? "" : report.at(side).value("operation", "");
}

bool tells(const json& report, const Mistake& of) {
  return report.at("kind") == of.kind && text(report, "first") == of.first && text(report, "second") == of.second &&
         contains(report.at("mend"), of.mend);
}

void check_silent(const Over* over, const std::vector<std::string>& arguments) {
  const Folder folder;
  const Checked checked = validated(over, folder, arguments);
  INFO(checked.run.out << checked.run.err);
  CHECK(checked.run.status == 0);
  CHECK(checked.run.err.empty());
  CHECK(checked.reports.empty());
}

void check_mistakes(const Over* over, const std::string& place) {
  const Folder folder;
  for (const Mistake& mistake : mistakes) {
    INFO(place << ", " << mistake.bug);
    const Checked checked = validated(over, folder, {"--place", place, "--bug", mistake.bug});
    INFO(checked.run.out << checked.run.err << checked.reports.dump(1));
    // A wrong pixel is the program's own error, and luck.
    CHECK((checked.run.status == 0 || contains(checked.run.err, "the check failed")));
    CHECK(std::any_of(checked.reports.begin(), checked.reports.end(),
                      [&](const json& report) { return tells(report, mistake); }));
  }
}

void check_over(const char* backend) {
  const Over over{{backend}};
  if (!is_built(over)) return;
  const std::string place = std::string(backend) + ":0";
  check_silent(&over, {"--place", place});
  check_silent(&over, {"--places", place + "," + backend + ":1"});
  check_mistakes(&over, place);
}

}  // namespace

TEST_CASE("The picture's pipeline has no race") {
  check_silent(nullptr, {"--place", "cpu_sim:0"});
  check_silent(nullptr, {"--places", "cpu_sim:0,cpu_sim:1"});
}

TEST_CASE("The captured pipeline has no race") {
  check_silent(nullptr, {"--place", "cpu_sim:0", "--graph", "--frames", "3"});
}

TEST_CASE("Each mistake is reported with what mends it") { check_mistakes(nullptr, "cpu_sim:0"); }

TEST_CASE("Over the double of CUDA the mistakes are reported, and the pipeline isn't") { check_over("cuda"); }

TEST_CASE("Over the double of HIP the mistakes are reported, and the pipeline isn't") { check_over("hip"); }

TEST_CASE("Over the double of Level Zero the mistakes are reported, and the pipeline isn't") {
  check_over("levelzero");
}

TEST_CASE("A mistake that there isn't is refused with those that there are") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(8, 8, Color::grey)));
  const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--bug", "sing"});
  CHECK(run.status == 2);
  CHECK(contains(run.err, "missing-wait, early-free, wrong-event, pageable"));
  const Run both = run_program({"--in", in, "--out", folder.file("out.png"), "--bug", "pageable", "--graph"});
  CHECK(both.status == 2);
  CHECK(contains(both.err, "--graph"));
}

}  // namespace bug_test
