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
using Catch::Contains;
using nlohmann::json;

namespace {

/// Traces twenty rounds of copy, kernel and copy, in turns on so many streams with their own memory, on a device whose
/// copies take 62.5 us and whose kernels take 200, in virtual time. Returns the file.
std::string traced_pipeline(const test::TempDir& folder, const std::string& name, std::size_t streams) {
  const std::string file = (folder.path() / name).string();
  const std::string profile = folder.write("profile.json", R"({
    "anyplace_device_profile": 1, "name": "mine", "description": "a laptop and one kernel", "base": "laptop",
    "sources": {"me": "my own"}, "kernels": {"*": {"launch_ns": 200000, "source": "me"}}})");
  const test::Ended ended = test::in_child([&] {
    test::set_env("ANYPLACE_LAYERS", "trace");
    test::set_env("ANYPLACE_TRACE", file);
    test::set_env("ANYPLACE_CPU_SIM_PROFILE", profile);
    const anyplace::Device device("cpu_sim:0");
    const anyplace::Kernel kernel(device, [](const anyplace::Block&) {});
    const anyplace::HostBuffer in(device, 1'000'000), out(device, 1'000'000);
    std::vector<anyplace::Stream> all;
    std::vector<anyplace::Buffer> memory;
    for (std::size_t i = 0; i < streams; ++i) {
      all.emplace_back(device);
      memory.emplace_back(all.back(), in.size_bytes());
    }
    for (std::size_t round = 0; round < 20; ++round) {
      const anyplace::Stream& stream = all[round % streams];
      stream.copy(memory[round % streams], in);
      stream.launch(kernel, {1, 1});
      stream.copy(out, memory[round % streams]);
    }
    device.synchronize();
    return 0;
  });
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  return file;
}

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

TEST_CASE("The summary of a run in virtual time has the overlap and the critical path") {
  constexpr std::uint64_t copy_ns = 62'500, kernel_ns = 200'000;
  // Before the first device was asked for, the host's time was real.
  const auto critical_of = [](const json& answer) {
    return answer.at("critical_ns").get<double>() - answer.at("critical").value("host", 0.0);
  };
  // A call takes a nanosecond.
  const auto is = [](std::uint64_t ns) { return Catch::WithinAbs(static_cast<double>(ns), 100); };
  const test::TempDir folder;
  const json serial = run_command({"trace-summary", traced_pipeline(folder, "serial", 1), "--json"}).json();
  const json& device = serial.at("devices").at("cpu_sim:0");
  CHECK_THAT(device.at("copies_ns").get<double>(), is(40 * copy_ns));
  CHECK_THAT(device.at("kernels_ns").get<double>(), is(20 * kernel_ns));
  CHECK(device.at("overlap_ns") == 0);
  CHECK_THAT(serial.at("critical").at("copy host to device").get<double>(), is(20 * copy_ns));
  CHECK_THAT(serial.at("critical").at("copy device to host").get<double>(), is(20 * copy_ns));
  CHECK_THAT(critical_of(serial), is(40 * copy_ns + 20 * kernel_ns));

  // With two buffers, only the first copy and the last one have no kernel beside them.
  const json buffered = run_command({"trace-summary", traced_pipeline(folder, "buffered", 2), "--json"}).json();
  CHECK_THAT(buffered.at("devices").at("cpu_sim:0").at("overlap_ns").get<double>(), is(38 * copy_ns));
  CHECK_THAT(critical_of(buffered), is(2 * copy_ns + 20 * kernel_ns));
}

TEST_CASE("A line of CI holds that copies overlap with kernels") {
  const test::TempDir folder;
  const std::string serial = traced_pipeline(folder, "serial", 1), buffered = traced_pipeline(folder, "buffered", 2);
  CHECK(run_command({"trace-summary", buffered, "--least-overlap", "80"}).status == 0);
  const Run lost = run_command({"trace-summary", serial, "--least-overlap", "80"});
  CHECK(lost.status == 1);
  CHECK_THAT(lost.err, Contains("cpu_sim:0: 0.0 % of the time of copies is under kernels, less than 80"));
  CHECK(run_command({"trace-summary", serial, "--least-overlap", "101"}).status == 2);
}

TEST_CASE("A profile is calibrated by a trace, has the figures that were measured, and is one that cpu_sim takes") {
  const test::TempDir folder;
  const std::string trace = traced_pipeline(folder, "serial", 1);
  const Run run = run_command({"profile", "--calibrate", trace, "--base", "laptop", "--name", "again"});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  const json profile = run.json();
  CHECK(profile.at("name") == "again");
  CHECK(profile.at("to_device_bytes_per_second").at("value") == 16'000'000'000);
  CHECK(profile.at("to_host_bytes_per_second").at("value") == 16'000'000'000);
  CHECK(profile.at("kernels").at("host kernel 1").at("launch_ns") == 200'000);
  const std::string file = folder.write("again.json", run.out);
  CHECK_THAT(run_command({"devices"}, {{"ANYPLACE_CPU_SIM_PROFILE", file}}).out, Contains("0 B / 7.5 GiB"));
  const std::string fills = traced(folder, "fills.pftrace", 0);
  CHECK_THAT(run_command({"profile", "--calibrate", fills, "--base", "laptop"}).err,
             Contains("no execution of a copy"));
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
