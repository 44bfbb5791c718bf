// SPDX-License-Identifier: Apache-2.0
// `anyplace replay`: what it shows of a trace, and what it says of a trace that is none.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_command.h"
#include "text_file.h"
#include "training_trace.h"

namespace replay_test {

using namespace anyplace::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page = 2 * 1024 * 1024;
const Variables roomy{{"ANYPLACE_CPU_SIM_MEMORY", "40GiB"}};

std::string data(const std::string& name) { return std::string(ANYPLACE_SOURCE_ROOT) + "/tests/cli/data/" + name; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json replay(std::vector<std::string> arguments, const Variables& variables = roomy) {
  arguments.insert(arguments.begin(), "replay");
  arguments.emplace_back("--json");
  const Run run = run_command(arguments, variables);
  CAPTURE(arguments, run.out, run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  return run.json();
}

void check_refused(const std::string& path, const std::string& says) {
  CAPTURE(path, says);
  const Run run = run_command({"replay", path, "--place", "cpu_sim:0"}, roomy);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("anyplace replay: " + path));
  CHECK(contains(run.err, says));
  const Run in_json = run_command({"replay", path, "--json"}, roomy);
  CHECK(in_json.status == 2);
  CHECK(in_json.json().at("error").at("code") == "bad_trace");
  CHECK(contains(in_json.json().at("error").at("text").get<std::string>(), says));
}

void check_text_refused(const std::string& text, const std::string& says) {
  const TextFile file(text);
  check_refused(file.path(), says);
}

}  // namespace

TEST_CASE("A replay shows the figures of the trace and of the allocator") {
  const json shown = replay({data("small.csv"), "--place", "cpu_sim:1"});
  CHECK(shown.at("place") == "cpu_sim:1");
  CHECK(shown.at("events") == 7);
  CHECK(shown.at("streams") == 2);
  CHECK(shown.at("peak_live_bytes") == 4196304);
  const auto reserved = shown.at("peak_reserved_bytes").get<std::uint64_t>();
  CHECK(reserved >= 4196304);
  CHECK(reserved % page == 0);
  CHECK(shown.at("ratio").get<double>() == Approx(static_cast<double>(reserved) / 4196304));
  CHECK(shown.at("ns_per_op").get<double>() > 0);
  CHECK(shown.at("device_allocations").get<std::uint64_t>() > 0);

  const Run text = run_command({"replay", data("small.csv"), "--place", "cpu_sim:1"}, roomy);
  CHECK(text.status == 0);
  for (const char* part :
       {"7 on 2 streams", "4.0 MiB (4196304 bytes)", "ratio", "ns per operation", "device allocations"}) {
    CAPTURE(part);
    CHECK(contains(text.out, part));
  }
}

TEST_CASE("A line may end in CR LF, the last in nothing, and an id may come again after its free") {
  const TextFile file("a,7,1000\r\nf,7,1000\r\na,7,2000\r\n\r\na,8,0\r\nf,8,0");
  const json shown = replay({file.path()});
  CHECK(shown.at("events") == 5);
  CHECK(shown.at("peak_live_bytes") == 2000);
}

TEST_CASE("A packed trace is replayed like the plain one") {
#ifdef ANYPLACE_TOOL_ZLIB
  const json plain = replay({data("small.csv")});
  const json packed = replay({data("small.csv.gz")});
  for (const char* field : {"events", "streams", "peak_live_bytes", "peak_reserved_bytes"}) {
    CHECK(plain.at(field) == packed.at(field));
  }
  // By its content, whatever it is called; and several packed files after each other are one.
  const std::string bytes = read_file(data("small.csv.gz"));
  CHECK(replay({TextFile(bytes, "trace").path()}).at("events") == 7);
  CHECK(replay({TextFile(bytes + read_file(data("more.csv.gz")), "two.gz").path()}).at("events") == 9);
#else
  check_refused(data("small.csv.gz"), "zlib1g-dev");
#endif
}

TEST_CASE("A packed trace that was cut off or damaged is refused") {
#ifdef ANYPLACE_TOOL_ZLIB
  const std::string bytes = read_file(data("small.csv.gz"));
  REQUIRE(bytes.size() > 30);
  for (const std::size_t kept :
       {bytes.size() - 1, bytes.size() - 8, bytes.size() / 2, std::size_t{10}, std::size_t{2}}) {
    CAPTURE(kept);
    const TextFile cut(bytes.substr(0, kept), "cut.csv.gz");
    check_refused(cut.path(), "ends in the middle of its gzip data");
  }
  std::string damaged = bytes;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 0xff);  // the checksum
  check_refused(TextFile(damaged, "bad.csv.gz").path(), "damaged gzip data");
  check_refused(TextFile(bytes + "more", "tail.csv.gz").path(), "damaged gzip data");
#endif
}

TEST_CASE("A file named .gz that isn't gzip is refused") {
  check_refused(TextFile("a,0,512\n", "plain.csv.gz").path(), "isn't gzip, though it is named .gz");
  check_refused(TextFile("", "empty.csv.gz").path(), "isn't gzip, though it is named .gz");
}

TEST_CASE("A line that is cut off is refused with its number") {
  check_text_refused("a,0,512\na,1\n", "trace.csv:2: 'a,1' is cut off; a line is a,ID,BYTES or f,ID,BYTES");
  check_text_refused("a,0,512\na\n", ":2: 'a' is cut off");
  check_text_refused("a,0,512\na,1,", ":2: the size '' isn't a number");
}

TEST_CASE("A line of another form is refused with what it looks like") {
  check_text_refused("action,id,bytes\n", ":1: 'action,id,bytes' doesn't begin with a, or f,");
  check_text_refused("a,1,2,3,4\n", ":1: 'a,1,2,3,4' has more than four fields");
  check_text_refused("a,0,512\n\x1b[31m\n", ":2: '\\x1b[31m'");
  check_text_refused(std::string(100'000, 'a'), ":1: a line has more than 4096 bytes");
  check_text_refused(std::string(100'000, '\0') + "\n", ":1: a line has more than 4096 bytes");
}

TEST_CASE("A number that is none, negative or 2^64 is refused") {
  check_text_refused("a,0,many\n", ":1: the size 'many' isn't a number from 0 on");
  check_text_refused("a,0,-512\n", ":1: the size '-512' isn't a number from 0 on");
  check_text_refused("a,0,5.5\n", ":1: the size '5.5' isn't a number from 0 on");
  check_text_refused("a,x,512\n", ":1: the id 'x' isn't a number from 0 on");
  check_text_refused("a,0,18446744073709551616\n", ":1: the size '18446744073709551616' is too large");
  check_text_refused("a,0,18446744073709551615\na,1,1\n", ":2: the bytes that are live come to 2^64 or more");
}

TEST_CASE("A free of an unknown id, an id allocated twice and a free of another size are refused") {
  check_text_refused("a,0,512\nf,9,512\n", ":2: frees id 9, which isn't live");
  check_text_refused("a,0,512\nf,0,512\nf,0,512\n", ":3: frees id 0, which isn't live");
  check_text_refused("a,0,512\na,0,512\n", ":2: allocates id 0, which is still live");
  check_text_refused("a,0,512\nf,0,511\n", ":2: frees id 0 with 511 bytes; it was allocated with 512");
}

TEST_CASE("A stream that is out of range or not the allocation's is refused") {
  check_text_refused("a,0,512,1025\n", ":1: the stream 1025 is out of range; it is 0 to 1024");
  check_text_refused("a,0,512,-1\n", ":1: the stream '-1' isn't a number");
  check_text_refused("a,0,512,3\nf,0,512,4\n", ":2: frees id 0 on stream 4; it is of stream 3");
  const TextFile last("a,0,512,1024\nf,0,512\n");
  CHECK(replay({last.path()}).at("streams") == 1025);
}

TEST_CASE("A file that is missing, a directory or empty is refused") {
  check_refused("/nonexistent/trace.csv", "can't be opened: No such file or directory");
  check_refused(fs::temp_directory_path().string(), "is a directory; name a file");
  check_text_refused("", "is empty; a line is a,ID,BYTES or f,ID,BYTES");
  check_text_refused("\n\n", "is empty; a line is");
}

TEST_CASE("A wrong command line of replay exits 2 and says what would be right") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{}, "a TRACE or --synthetic SEED is missing"},
      {{data("small.csv"), "--synthetic", "1"}, "--synthetic"},
      {{"--synthetic", "x"}, "'x' is no number from 0 to 2^64 - 1"},
      {{"--synthetic", "18446744073709551616"}, "is no number from 0 to 2^64 - 1"},
      {{data("small.csv"), "--operations", "5"}, "--operations requires --synthetic"},
      {{data("small.csv"), "--fill", "50"}, "--fill requires --synthetic"},
      {{"--synthetic", "1", "--fill", "0"}, "--fill"},
      {{"--synthetic", "1", "--fill", "100"}, "--fill"},
      {{data("small.csv"), "--segments", "huge"}, "vmm"},
      {{data("small.csv"), "--limit", "5XB"}, "bytes, or a number with KiB, MiB, GiB or TiB"},
      {{data("small.csv"), "--limit", "0"}, "is no size"},
      {{data("small.csv"), "--limit", "17179869184GiB"}, "is no size"},
      {{data("small.csv"), "--repeat", "0"}, "--repeat"},
      {{data("small.csv"), "--place", "CPU:0"}, "CPU:0"},
      {{data("small.csv"), "another.csv"}, "usage: anyplace replay TRACE"},
  };
  for (auto [arguments, right] : wrong) {
    arguments.insert(arguments.begin(), "replay");
    CAPTURE(arguments);
    const Run run = run_command(arguments, roomy);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, right));
  }
}

TEST_CASE("A replay's allocator is configured by ANYPLACE_ALLOCATOR, and what is wrong there exits 2") {
  const auto run_with = [](const char* value) {
    return run_command({"replay", data("small.csv"), "--json"}, {{"ANYPLACE_ALLOCATOR", value}});
  };
  CHECK(run_with("segments:classic").json().at("segments") == "classic");
  CHECK(run_with("limit_mb:4").status == 1);
  const Run run = run_with("segmnets:classic");
  CHECK(run.status == 2);
  CHECK(contains(run.out, "max_split_size_mb"));
}

TEST_CASE("A replay on a place that isn't there exits 1") {
  for (const char* option : {"--repeat=1", "--find-limit"}) {
    const Run run = run_command({"replay", data("small.csv"), "--place", "cpu_sim:77", option}, roomy);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "cpu_sim:1"));
  }
}

TEST_CASE("A device that is too small for the trace is out of memory, with the figures") {
  const TextFile file("a,0,50000000\na,1,50000000\nf,0,50000000\n");
  const Variables tight{{"ANYPLACE_CPU_SIM_MEMORY", "64MiB"}};
  for (const char* option : {"--repeat=1", "--find-limit"}) {
    CAPTURE(option);
    const Run text = run_command({"replay", file.path(), option}, tight);
    CHECK(text.status == 1);
    CHECK(text.out.empty());
    CHECK(contains(text.err, "out_of_memory"));
    CHECK(contains(text.err, "requested 50000000, free "));
    CHECK(contains(text.err, "stopped at event 2 of 3, with 47.7 MiB (50000000 bytes) live"));
    const Run run = run_command({"replay", file.path(), option, "--json"}, tight);
    CHECK(run.status == 1);
    CHECK(run.json().at("error").at("code") == "out_of_memory");
    CHECK(run.json().at("error").at("memory").at("requested") == 50000000);
    CHECK(run.json().at("live_bytes") == 50000000);
  }
  const Run limited = run_command({"replay", file.path(), "--limit", "64MiB", "--json"}, roomy);
  CHECK(limited.status == 1);
  CHECK(limited.json().at("error").at("memory").at("limit") == 67108864);
}

TEST_CASE("A size that no device has is out of memory") {
  const Run run = run_command({"replay", TextFile("a,0,9223372036854775808\n").path(), "--json"}, roomy);
  CHECK(run.status == 1);
  const std::string code = run.json().at("error").at("code");
  CHECK((code == "out_of_memory" || code == "invalid_argument"));
}

TEST_CASE("A training trace fits tightly, completes just over its live bytes, and calls no vendor once it repeats") {
  const TextFile file(training_trace({}));
  const json shown = replay({file.path(), "--find-limit", "--repeat", "3"});
  CHECK(shown.at("segments") == "vmm");
  CHECK(shown.at("ratio").get<double>() <= 1.015);
  CHECK(shown.at("last_vendor_calls_per_1000") == 0);
  const auto limit = shown.at("limit_bytes").get<std::uint64_t>();
  // The aim for traces of real runs is 1.005. This one is smaller, and more of its blocks lie between holes.
  CHECK(shown.at("limit_ratio").get<double>() <= 1.01);
  CHECK(limit >= shown.at("peak_live_bytes").get<std::uint64_t>());
  CHECK(limit % page == 0);

  // It is the smallest: there it completes, and a page below it doesn't.
  const auto under = [&](std::uint64_t bytes) {
    return run_command({"replay", file.path(), "--limit", std::to_string(bytes)}, roomy).status;
  };
  CHECK(under(limit) == 0);
  CHECK(under(limit - page) == 1);
}

TEST_CASE("A training trace on several streams and in classic segments completes") {
  const TextFile file(training_trace({.layers = 12, .streams = 4}));
  for (const char* segments : {"vmm", "classic"}) {
    CAPTURE(segments);
    const json shown = replay({file.path(), "--segments", segments, "--repeat", "3"});
    CHECK(shown.at("segments") == segments);
    CHECK(shown.at("streams") == 4);
    CHECK(shown.at("ratio").get<double>() >= 1);
    CHECK(shown.at("last_vendor_calls_per_1000") == 0);
  }
}

TEST_CASE("A synthetic trace is the same for the same seed, and keeps the device at 80 %") {
  const std::vector<std::string> arguments{"--synthetic", "7", "--operations", "20000", "--limit", "4GiB"};
  const json shown = replay(arguments);
  CHECK(shown.at("events") == 20000);
  CHECK(shown.at("streams") == 8);
  const auto live = shown.at("peak_live_bytes").get<double>();
  CHECK(live <= 0.8 * 4294967296.0);
  CHECK(live >= 0.79 * 4294967296.0);
  CHECK(shown.at("ratio").get<double>() <= 1.10);
  const json& failure = shown.at("fill_at_failure");
  CHECK((failure.is_null() || failure.get<double>() >= 0.9));
  CHECK(replay(arguments).at("peak_live_bytes") == shown.at("peak_live_bytes"));
  CHECK(replay({"--synthetic", "8", "--operations", "20000", "--limit", "4GiB"}).at("peak_live_bytes") !=
        shown.at("peak_live_bytes"));
}

TEST_CASE("A synthetic trace fills as much of the device as it is told, which segments of fixed size can hold") {
  const json shown =
      replay({"--synthetic", "1", "--operations", "20000", "--limit", "4GiB", "--fill", "50", "--segments", "classic"});
  const auto live = shown.at("peak_live_bytes").get<double>();
  CHECK(live <= 0.5 * 4294967296.0);
  CHECK(live >= 0.49 * 4294967296.0);
  const Run run = run_command({"replay", "--synthetic", "1", "--limit", "500MiB", "--fill", "50"}, roomy);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "needs 512.0 MiB"));
}

TEST_CASE("A device too small for a synthetic trace is out of memory") {
  const Run run = run_command({"replay", "--synthetic", "1", "--limit", "100MiB"}, roomy);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "needs 320.0 MiB"));
}

}  // namespace replay_test
