// SPDX-License-Identifier: Apache-2.0
// What `anyplace replay` takes beside a trace in a file: standard input, the lines of a logging_allocator, and memory
// snapshots; and what it says of those that are none.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "run_command.h"
#include "text_file.h"

namespace replay_input_test {

using namespace anyplace::test;
using nlohmann::json;

namespace {

const Variables roomy{{"ANYPLACE_CPU_SIM_MEMORY", "40GiB"}};

std::string data(const std::string& name) { return std::string(ANYPLACE_SOURCE_ROOT) + "/tests/cli/data/" + name; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

json replay(const std::string& path, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"replay", path, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Run run = run_command(arguments, roomy);
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  return run.json();
}

void check_refused(const std::string& text, const std::string& says, const std::vector<std::string>& more = {}) {
  const TextFile file(text, "trace");
  std::vector<std::string> arguments{"replay", file.path()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Run run = run_command(arguments, roomy);
  CAPTURE(says, run.err);
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("anyplace replay: " + file.path()));
  CHECK(contains(run.err, says));
}

/// The opcodes of a dict of one key, whose value the opcodes `value` make.
std::string pickled(const std::string& key, const std::string& value) {
  using namespace std::string_literals;
  return "\x80\x04}\x8c" + std::string(1, static_cast<char>(key.size())) + key + value + "s.";
}

/// A snapshot of one device with one event, whose fields the opcodes `items` set.
std::string one_event(const std::string& items) { return pickled("device_traces", "]]}(" + items + "uaa"); }

/// What is done to the allocator, whatever its kind of trace is: 5 events, 3000 bytes at most.
void work(const anyplace::Device& device, anyplace::Allocator& allocator) {
  const anyplace::Stream first(device), second(device);
  const std::uint64_t a = allocator.allocate(first, 1000);
  const std::uint64_t b = allocator.allocate(second, 2000);
  allocator.deallocate(first, a, 1000);
  const std::uint64_t c = allocator.allocate(first, 500);
  allocator.deallocate(second, b, 2000);
  allocator.deallocate(first, c, 500);
}

}  // namespace

TEST_CASE("A trace comes on standard input, plain or packed") {
  const json from_file = replay(data("small.csv"));
#ifdef ANYPLACE_TOOL_ZLIB
  const std::vector<std::string> names{"small.csv", "small.csv.gz"};
#else
  const std::vector<std::string> names{"small.csv"};
#endif
  for (const std::string& name : names) {
    CAPTURE(name);
    const Run run = run_with_input(read_file(data(name)), {"replay", "-", "--json"}, roomy);
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    for (const char* field : {"events", "streams", "peak_live_bytes", "peak_reserved_bytes"}) {
      CHECK(run.json().at(field) == from_file.at(field));
    }
  }
  const Run text = run_with_input(read_file(data("small.csv")), {"replay", "-"}, roomy);
  CHECK(text.out.starts_with("standard input on cpu_sim:0"));
}

TEST_CASE("What is wrong on standard input is said with its line") {
  const Run empty = run_with_input("", {"replay", "-"}, roomy);
  CHECK(empty.status == 2);
  CHECK(contains(empty.err, "anyplace replay: standard input is empty"));
  const Run bad = run_with_input("a,0,512\na,1\n", {"replay", "-"}, roomy);
  CHECK(bad.status == 2);
  CHECK(contains(bad.err, "standard input:2: 'a,1' is cut off"));
  const Run pickle = run_with_input("\x80\x04", {"replay", "-"}, roomy);
  CHECK(pickle.status == 2);
  CHECK(contains(pickle.err, "standard input is cut off"));
}

TEST_CASE("The lines of a logging_allocator are a trace") {
  const anyplace::Device device("cpu_sim:0");
  std::string lines;
  const auto logging = anyplace::logging_allocator(anyplace::caching_allocator(device), [&](std::string_view line) {
    lines += line;
    lines += '\n';
  });
  work(device, *logging);
  const anyplace::Stream stream(device);
  CHECK(logging->allocate(stream, 0) == 0);  // of no memory: no event
  logging->deallocate(stream, 0, 0);
  CHECK_THROWS_AS(logging->allocate(stream, std::uint64_t{1} << 60), anyplace::Error);  // "failed"
  const std::uint64_t address = logging->allocate(stream, 64);
  CHECK_THROWS_AS(logging->deallocate(stream, address, 65), anyplace::Error);  // "free", then "refused"
  CHECK_THROWS_AS(logging->deallocate(stream, address + 1, 64), anyplace::Error);
  logging->deallocate(stream, address, 64);

  CAPTURE(lines);
  const json shown = replay(TextFile(lines).path());
  CHECK(shown.at("events") == 8);
  CHECK(shown.at("streams") == 3);
  CHECK(shown.at("peak_live_bytes") == 3000);
  const Run piped = run_with_input(lines, {"replay", "-", "--json"}, roomy);
  CHECK(piped.json().at("events") == 8);
}

TEST_CASE("A line of a log that is wrong is refused with its number") {
  check_refused("allocate,7,1,0x1000\n", ":1: 'allocate,7,1,0x1000' is cut off; a line of a logging_allocator is");
  check_refused("allocate,7,1,0x1000,64,9\n", "has more than five fields");
  check_refused("allocate,7,1,0x1000,64\nlose,7,1,0x1000,64\n", ":2: 'lose,7,1,0x1000,64' begins with no known word");
  check_refused("allocate,7,1,4096,64\n", "the address '4096' doesn't begin with 0x");
  check_refused("allocate,7,1,0x,64\n", "the address '0x' is no number");
  check_refused("allocate,7,1,0x1000,-64\n", "the size '-64' is no number");
  check_refused("allocate,7,1,0x1000,18446744073709551616\n", "is no number from 0 to 2^64 - 1");
  check_refused("allocate,7,x,0x1000,64\n", "the stream 'x' is no number");
  check_refused("allocate,7,1,0x1000,64\nallocate,7,1,0x1000,64\n", ":2: allocates at 0x1000, which is still live");
  check_refused("allocate,7,1,0x1000,64\nfree,7,1,0x2000,64\nfree,7,1,0x1000,64\n",
                ":2: frees 0x2000, which isn't live");
  check_refused("allocate,7,1,0x1000,64\nfree,7,1,0x1000,65\n", ":2: frees 0x1000 with 65 bytes");
  check_refused("allocate,7,1,0x1000,64\nrefused,7,1,0x1000,64\n", ":2: says that a free of 0x1000 was refused");
  check_refused("allocate,7,1,0x1000,64\n\nfree,7,1,0x3000,64\n", ":3: frees 0x3000");
  check_refused("allocate,7,1,0x1000,18446744073709551615\nallocate,7,1,0x2000,1\n", "2^64 or more");
  check_refused("failed,7,1,0x0,64\n", "is empty");
  std::string streams;
  for (int i = 0; i < 1026; ++i)
    streams += "allocate,7," + std::to_string(i) + ",0x" + std::to_string(1000 + i) + ",1\n";
  check_refused(streams, ":1026: there are more than 1025 streams");
}

TEST_CASE("A snapshot that anyplace writes is a trace, and so is one of PyTorch") {
  const anyplace::Device device("cpu_sim:0");
  anyplace::record_memory_history(device, {});
  work(device, *anyplace::caching_allocator(device));
  const json own =
      replay(TextFile(anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle), "own.pickle").path());
  CHECK(own.at("events") == 6);
  CHECK(own.at("streams") == 2);
  CHECK(own.at("left_out") == 0);
  CHECK(own.at("peak_live_bytes") == 3000);

  for (const char* protocol : {"2", "3", "4", "5"}) {
    CAPTURE(protocol);
    const json shown = replay(data("snapshot-protocol-") + protocol + ".pickle");
    CHECK(shown.at("events") == 6);
    CHECK(shown.at("streams") == 2);
    CHECK(shown.at("left_out") == 1);
    CHECK(shown.at("peak_live_bytes") == 20300700);
  }
  const std::string path = data("snapshot-protocol-4.pickle");
  CHECK(contains(run_command({"replay", path}, roomy).out, "1 frees of what was allocated before the history began"));
  CHECK(replay(path, {"--device", "1"}).at("events") == 6);
  CHECK(run_with_input(read_file(path), {"replay", "-", "--json"}, roomy).json().at("events") == 6);
}

TEST_CASE("A snapshot's device is chosen, and must have a history") {
  const std::string path = data("snapshot-protocol-4.pickle");
  for (const char* index : {"0", "2", "4294967295"}) {
    CAPTURE(index);
    const Run run = run_command({"replay", path, "--device", index}, roomy);
    CHECK(run.status == 2);
    CHECK(contains(run.err, std::string("has no history of device ") + index + "; it has that of 1"));
  }
  const std::string event =
      "}\x8c\x06"
      "action\x8c\x05"
      "allocs";
  check_refused(pickled("device_traces", "](](" + event + "e](" + event + "ee"), "--device says which to replay");
  check_refused("a,0,1\n", "is no memory snapshot", {"--device", "0"});
  CHECK(run_command({"replay", path, "--device", "x"}, roomy).status == 2);
  CHECK(run_command({"replay", "--synthetic", "1", "--device", "1"}, roomy).status == 2);
}

TEST_CASE("A pickle that is no snapshot with a history is refused with how one is made") {
  using namespace std::string_literals;
  check_refused("\x80\x04]."s, "is a pickle, but no memory snapshot");
  check_refused("\x80\x04N."s, "is a pickle, but no memory snapshot");
  check_refused(pickled("segments", "]"), "_record_memory_history()");
  check_refused(pickled("device_traces", "N"), "no dict with a list device_traces");
  check_refused(pickled("device_traces", "]Na"), "device_traces[0] is no list");
  check_refused(pickled("device_traces", "]"), "is a snapshot without a history");
  check_refused(pickled("device_traces", "]]a"), "_dump_snapshot");
  check_refused(pickled("device_traces", "]]Naa"), "device_traces[0][0] is no dict");
  const std::string alloc =
      "\x8c\x06"
      "action\x8c\x05"
      "alloc";
  const std::string address =
      "\x8c\x04"
      "addrK\x10";
  const std::string stream = "\x8c\x06streamK\x00"s;
  check_refused(one_event("\x8c\x04"
                          "addrK\x10"),
                "device_traces[0][0] has no action");
  check_refused(one_event("\x8c\x06"
                          "actionK\x01"),
                "has no action");
  check_refused(one_event(alloc), "device_traces[0][0] has no addr");
  check_refused(one_event(alloc + address), "has no size");
  check_refused(one_event(alloc + address + "\x8c\x04size\x8c\x01z"), "size is no number");
  check_refused(one_event(alloc + address + "\x8c\x04sizeJ\xff\xff\xff\xff" + stream), "size is no number");
  check_refused(one_event(alloc + address + "\x8c\x04sizeG\x00\x00\x00\x00\x00\x00\x00\x00"s), "size is no number");
  check_refused(one_event(alloc + address + "\x8c\x04sizeK\x01"), "has no stream");
  check_refused(one_event("\x8c\x06"
                          "action\x8c\x03oom"),
                "has no allocation in its history");
  check_refused("PK\x03\x04torch", "is a zip archive");
  check_refused(
      "\x80\x02"
      "cos\nsystem\n(U\x02lstR.",
      "has the opcode GLOBAL at offset 2, which isn't executed");
  const std::string whole = read_file(data("snapshot-protocol-4.pickle"));
  check_refused(whole.substr(0, whole.size() / 2), "is cut off");
}

}  // namespace replay_input_test
