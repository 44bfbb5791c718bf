// SPDX-License-Identifier: Apache-2.0
// The layer `validate`: its settings and commands, what happens to a report, and the files.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "support/errors.h"
#include "support/host_gate.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"
#include "validate_support.h"

namespace validate_reports_test {

using namespace anyplace;
using Catch::Contains;
using nlohmann::json;
using test::kinds;
using test::Kinds;
using test::Validated;

namespace {

/// Two fills without an order.
void race(Validated& v) {
  const Buffer x = v.shared();
  v.a.memset8(x, 1);
  v.b.memset8(x, 2);
}

/// A program with a race, which ends as `end` says.
template <class End>
test::Ended program(const std::string& settings, End&& end) {
  return test::Process([&] {
           Validated v(settings);
           race(v);
           v.device.synchronize();
           end();
         })
      .end();
}

json file(const test::TempDir& folder, const char* name) { return json::parse(test::read_file(folder.path() / name)); }

}  // namespace

TEST_CASE("a setting that is none is refused with its position") {
  const auto refusal = [](const std::string& settings) {
    const auto use = [&] {
      test::set_env("ANYPLACE_LAYERS", "validate");
      test::set_env("ANYPLACE_VALIDATE", settings);
      try {
        const Device device("cpu_sim:0");
        return 0;
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.code() == ErrorCode::invalid_argument ? 1 : 2;
      }
    };
    const test::Ended ended = test::in_child(use);
    CHECK(ended.status == 1);
    return ended.out;
  };
  const auto [settings, part] = GENERATE(table<std::string, std::string>({
      {"log sing", "column 5: 'sing' is no setting"},
      {"log,throw", "column 5: 'throw' is a second mode"},
      {"report=", "column 8: report has no value"},
      {"leaks=maybe", "column 7: 'maybe' is no value of leaks"},
      {"volume=11", "column 1: 'volume' is no setting"},
      {"suppress=/no/such/file", "'/no/such/file' can't be read"},
  }));
  CHECK_THAT(refusal(settings), Contains(part) && Contains("docs/layers.md"));
}

TEST_CASE("a command that is none, or has a bad argument, is refused") {
  Validated v;
  const auto refusal = [](const char* command, const char* argument = "") {
    return std::string(test::required_error(ErrorCode::invalid_argument, [&] {
                         static_cast<void>(layer_command("validate", command, argument));
                       }).what());
  };
  CHECK_THAT(refusal("sing"), Contains("there is no command sing") && Contains("reports"));
  CHECK_THAT(refusal("flush", "twice"), Contains("takes no argument"));
  CHECK_THAT(refusal("mode", "shy"), Contains("'shy' is no mode") && Contains("throw"));
  CHECK_THAT(refusal("mode shy"), Contains("'shy' is no mode"));
}

TEST_CASE("calls from several lines of a function, again and again, are reported with their own lines") {
  Validated v;
  const Buffer x = v.shared();
  for (int i = 0; i < 5; ++i) {
    v.a.memset8(x, 1);
    v.b.memset8(x, 2);
    v.b.memset8(x, 3);  // is ordered behind the line before, and races with the first one's next time
  }
  const json all = test::reports();
  REQUIRE(all.size() == 2);
  const auto line = [&](std::size_t report, const char* side) { return all[report].at(side).at("site").at(0); };
  CHECK(all[0].at("count") == 5);
  CHECK(all[1].at("count") == 4);
  CHECK(line(1, "second") == line(0, "first"));
  CHECK(line(0, "second") != line(0, "first"));
  CHECK(line(1, "first") != line(0, "second"));
}

TEST_CASE("a report names both accesses, their bytes, their sites and the call that orders them") {
  Validated v;
  race(v);
  const json all = test::reports();
  REQUIRE(all.size() == 1);
  const json& report = all[0];
  CHECK(report.at("kind") == "race");
  CHECK(report.at("place") == "cpu_sim:0");
  CHECK(report.at("bytes") == Validated::bytes);
  CHECK_THAT(report.at("mend").get<std::string>(), Contains("wait_event"));
  for (const char* const which : {"first", "second"}) {
    const json& access = report.at(which);
    CHECK(access.at("operation") == "fill");
    CHECK(access.at("access") == "write");
    CHECK(access.at("thread") == "main");
    CHECK(access.at("range").at("bytes") == Validated::bytes);
    CHECK_THAT(access.at("range").at("name").get<std::string>(), Contains("Buffer"));
    CHECK_THAT(access.at("site").at(0).get<std::string>(), Contains("race"));
  }
  CHECK(report.at("first").at("stream_id") == v.a.id());
  CHECK(report.at("second").at("stream_id") == v.b.id());
  CHECK_THAT(report.at("key").get<std::string>(), Contains("race:fill@") && !Contains("0x"));
}

TEST_CASE("what happens again is counted, and cleared reports are gone") {
  Validated v;
  for (int i = 0; i < 3; ++i) race(v);
  REQUIRE(test::reports().size() == 1);
  CHECK(test::reports()[0].at("count") == 3);
  layer_command("validate", "clear");
  CHECK(kinds().empty());
}

TEST_CASE("in the mode throw the call that completes a race fails, and isn't made") {
  Validated v("throw leaks=off");
  const Buffer x = v.shared();
  v.a.memset8(x, 1);
  v.a.synchronize();
  v.a.memset8(x, 1);
  const Error error = test::required_error(ErrorCode::invalid_argument, [&] { v.b.memset8(x, 2); });
  CHECK_THAT(error.what(), Contains("race") && Contains("wait_event") && Contains("docs/layers.md"));
  v.a.synchronize();
  v.b.synchronize();
  std::byte byte{};
  v.b.copy(HostSpan(&byte, 1), x.sub(0, 1));
  v.b.synchronize();
  CHECK(byte == std::byte{1});
  SECTION("so does a declaration of the host's") {
    v.a.memset8(x, 1);
    test::required_error(ErrorCode::invalid_argument, [&] { host_read(x); });
  }
  SECTION("after a change of the mode it doesn't") {
    layer_command("validate", "mode log");
    v.a.memset8(x, 1);
    v.b.memset8(x, 2);
    CHECK(kinds().size() == 2);
  }
}

TEST_CASE("in the mode abort the process ends at the report, and the file has it") {
  const test::TempDir folder;
  const test::Ended ended = program("abort report=" + (folder.path() / "r.json").string(), [] { std::exit(0); });
  CHECK(ended.signal == SIGABRT);
  CHECK_THAT(ended.out, Contains("race on cpu_sim:0"));
  CHECK(file(folder, "r.json").at("reports").size() == 1);
}

TEST_CASE("a process that is killed leaves the reports that it made") {
  const test::TempDir folder;
  const test::Ended ended =
      program("report=" + (folder.path() / "r.json").string(), [] { static_cast<void>(std::raise(SIGKILL)); });
  CHECK(ended.signal == SIGKILL);
  CHECK(file(folder, "r.json").at("reports").size() == 1);
}

TEST_CASE("the files are JSON and SARIF, also without a report") {
  const test::TempDir folder;
  const std::string settings =
      "leaks=off,report=" + (folder.path() / "r.json").string() + ",sarif=" + (folder.path() / "r.sarif").string();
  const bool races = GENERATE(true, false);
  const test::Ended ended = races ? program(settings, [] { std::exit(0); }) : test::Process([&] {
                                                                                Validated v(settings);
                                                                                v.device.synchronize();
                                                                                std::exit(0);
                                                                              }).end();
  REQUIRE(ended.status == 0);
  const std::size_t count = races ? 1 : 0;
  CHECK(file(folder, "r.json").at("version") == 1);
  CHECK(file(folder, "r.json").at("reports").size() == count);
  const json sarif = file(folder, "r.sarif");
  CHECK(sarif.at("version") == "2.1.0");
  const json& run = sarif.at("runs").at(0);
  CHECK(run.at("tool").at("driver").at("rules").size() == count);
  REQUIRE(run.at("results").size() == count);
  if (!races) return;
  const json& result = run.at("results").at(0);
  CHECK(result.at("ruleId") == "race");
  CHECK(result.at("message").at("text").is_string());
  CHECK(result.at("locations").at(0).at("logicalLocations").at(0).at("kind") == "function");
  CHECK(result.at("relatedLocations").size() == 1);
}

TEST_CASE("%p in a path is the process's number") {
  const test::TempDir folder;
  test::Process child([&] {
    Validated v("leaks=off report=" + (folder.path() / "r.%p.json").string());
    race(v);
    std::exit(0);
  });
  const std::string name = "r." + std::to_string(child.pid()) + ".json";
  REQUIRE(child.end().status == 0);
  CHECK(file(folder, name.c_str()).at("reports").size() == 1);
}

TEST_CASE("a file that can't be written is warned of once, and the program goes on") {
  const test::Ended ended = program("report=/no/such/folder/r.json", [] { std::exit(0); });
  CHECK(ended.status == 0);
  const std::string warning = "/no/such/folder/r.json can't be written";
  const std::size_t first = ended.out.find(warning);
  REQUIRE(first != std::string::npos);
  CHECK(ended.out.find(warning, first + 1) == std::string::npos);
}

TEST_CASE("a suppressed report isn't made, and a key that fits none is named at the end") {
  const test::TempDir folder;
  const auto suppress = [&](const std::string& keys) {
    test::write_file(folder.path() / "keys", keys);
    return program("leaks=off suppress=" + (folder.path() / "keys").string(), [] { std::exit(0); });
  };
  const test::Ended by_pattern = suppress("# a comment\nrace:fill@*:fill@*  # known\nleak:no such thing\n");
  CHECK(by_pattern.status == 0);
  CHECK_THAT(by_pattern.out, !Contains("race on cpu_sim:0"));
  CHECK_THAT(by_pattern.out, Contains("the key 'leak:no such thing'"));
  CHECK_THAT(by_pattern.out, !Contains("the key 'race:"));
  const test::Ended unknown = suppress("race:copy@*\n");
  CHECK_THAT(unknown.out, Contains("race on cpu_sim:0") && Contains("the key 'race:copy@*'"));
}

TEST_CASE("a forked child writes nothing, and its parent's file stays") {
  const test::TempDir folder;
  const std::string path = (folder.path() / "r.json").string();
  const test::Ended ended = program("leaks=off report=" + path, [] {
    const test::Ended child = test::in_child([] { return 0; });
    std::exit(child.status);
  });
  CHECK(ended.status == 0);
  CHECK(file(folder, "r.json").at("reports").size() == 1);
}

TEST_CASE("a program that is executed has reports of its own") {
  const test::TempDir folder;
  const test::Ended ended =
      program("leaks=off report=" + (folder.path() / "r.%p.json").string(), [] { test::execute({"/bin/true"}, {}); });
  CHECK(ended.status == 0);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    CHECK(json::parse(test::read_file(entry.path())).at("reports").size() == 1);
  }
  CHECK(files == 1);
}

TEST_CASE("where device memory is protected, an access of the host's is compared with the device's work") {
  const test::TempDir folder;
  const auto access = [&] {
    test::set_env("ANYPLACE_CPU_SIM_PROTECT", "1");
    Validated v("log leaks=off report=" + folder.file("report.json"));
    const Buffer x = v.shared();
    test::HostGate gate;
    gate.block(v.a);
    gate.wait_until_reached();
    v.a.memset8(x, 1);
    static_cast<void>(*reinterpret_cast<const volatile unsigned char*>(x.address() + 16));
    return 0;
  };
  const test::Ended ended = test::in_child(access);
  INFO(ended.out);
  CHECK((test::sanitized ? ended.status != 0 : ended.signal == SIGSEGV));
  CHECK_THAT(ended.out, Contains("SIGSEGV: the host ") && Contains("validate: race on cpu_sim:0: 1 bytes"));
  const json report = file(folder, "report.json").at("reports").at(0);
  CHECK(report.at("first").at("operation") == "fill");
  CHECK_THAT(report.at("second").at("operation").get<std::string>(), Contains("host "));
}

}  // namespace validate_reports_test
