// SPDX-License-Identifier: Apache-2.0
// `anyplace trace-summary`: what it says of a run, of two, and of files that are none.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "anyplace/anyplace.h"
#include "cli/run_command.h"
#include "support/environment.h"
#include "support/temp_dir.h"

namespace trace_summary_test {

using anyplace::test::Run;
using anyplace::test::run_command;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

/// Traces a program that fills and copies so often, and returns the file.
std::string traced(const test::TempDir& folder, const std::string& name, int rounds) {
  const std::string file = (folder.path() / name).string();
  const test::Ended ended = test::in_child([&] {
    test::set_env("ANYPLACE_LAYERS", "trace");
    test::set_env("ANYPLACE_TRACE", file);
    const anyplace::Device device("cpu_sim:0");
    const anyplace::Stream stream(device), other(device);
    const anyplace::Event event(device);
    const anyplace::Buffer data(stream, 1 << 20);
    std::vector<std::uint32_t> host(1 << 18);
    for (int i = 0; i < rounds; ++i) {
      stream.fill(data.as<std::uint32_t>(), 1u);
      stream.record_event(event);
      other.wait_event(event);
      other.copy(host, data);
      other.synchronize();
    }
    return 0;
  });
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  return file;
}

}  // namespace

TEST_CASE("The summary of a trace counts calls, operations, bytes and waits") {
  const test::TempDir folder;
  const std::string file = traced(folder, "run.pftrace", 10);
  const Run run = run_command({"trace-summary", file, "--json"});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  const json answer = run.json();
  CHECK(answer.at("submissions") == 20);
  CHECK(answer.at("executions") == 20);
  CHECK(answer.at("cut") == false);
  CHECK(answer.at("calls").at("memory_set").at("count") == 10);
  const json& device = answer.at("devices").at("cpu_sim:0");
  CHECK(device.at("operations").at("fill").at("bytes") == 10 * (1 << 20));
  CHECK(device.at("operations").at("copy device to host").at("count") == 10);
  CHECK(device.at("kernels_ns") == 0);
  CHECK(device.at("busy_ns").get<std::uint64_t>() >= device.at("copies_ns").get<std::uint64_t>());
  // The path goes from each copy to the fill that its stream had waited for, and from that to the host.
  for (const char* const name : {"fill", "copy device to host", "host"}) CHECK(answer.at("critical").contains(name));
  std::uint64_t critical = 0;
  for (const auto& part : answer.at("critical")) critical += part.get<std::uint64_t>();
  CHECK(critical == answer.at("critical_ns").get<std::uint64_t>());
  int waits = 0;
  for (const auto& [name, stall] : answer.at("stalls").items()) {
    if (name.find("stream_synchronize") == 0) waits += stall.at("count").get<int>();
  }
  CHECK(waits == 10);
  CHECK_THAT(run_command({"trace-summary", file}).out,
             Contains("20 submissions, 20 executions") && Contains("THE HOST WAITED IN") && Contains("memory_set"));
}

TEST_CASE("Two traces are compared") {
  const test::TempDir folder;
  const std::string file = traced(folder, "run.pftrace", 10), other = traced(folder, "other.pftrace", 4);
  const Run run = run_command({"trace-summary", file, "--compare", other, "--json"});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(run.json().at("difference").at("calls").at("memory_set").at("count") == 6);
  CHECK_THAT(run_command({"trace-summary", file, "--compare", other}).out,
             Contains("calls, memory_set, count") && Contains("+150 %"));
}

TEST_CASE("A trace that is cut is read as far as it is whole, and another file is refused") {
  const test::TempDir folder;
  const std::string bytes = test::read_file(traced(folder, "run.pftrace", 10));
  const std::string cut = folder.write("cut.pftrace", bytes.substr(0, bytes.size() - 3));
  CHECK(run_command({"trace-summary", cut, "--json"}).json().at("cut") == true);
  for (const std::string& text : {std::string(), std::string("no trace at all\n"), bytes.substr(0, 3)}) {
    const Run run = run_command({"trace-summary", folder.write("other", text)});
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("Perfetto's format"));
  }
  CHECK(run_command({"trace-summary", (folder.path() / "none").string()}).status == 2);
}

TEST_CASE("A trace with a field of another wire type is read as far as it is whole") {
  const test::TempDir folder;
  const std::string bytes = test::read_file(traced(folder, "run.pftrace", 10));
  const std::string packet_with_a_text_as_timestamp = {0x0a, 0x03, 0x42, 0x01, 0x01};
  const Run run =
      run_command({"trace-summary", folder.write("odd", bytes + packet_with_a_text_as_timestamp), "--json"});
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK(run.json().at("cut") == true);
  CHECK(run.json().at("submissions") == 20);
}

TEST_CASE("Bytes that are changed anywhere end no summary badly") {
  const test::TempDir folder;
  const std::string bytes = test::read_file(traced(folder, "run.pftrace", 2));
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 40) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const Run run = run_command({"trace-summary", folder.write("changed", changed), "--json"});
    INFO(at << run.err);
    CHECK((run.status == 0 || run.status == 2));
  }
}

}  // namespace trace_summary_test
