// SPDX-License-Identifier: Apache-2.0
// What snapshots are written with, on trees and snapshots made by hand; and that the checker finds what is wrong.
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "allocator/made_snapshot.h"
#include "allocator/snapshot_check.h"
#include "memory/figures/json_writer.h"
#include "memory/figures/pickle.h"
#include "memory/figures/snapshot.h"

namespace snapshot_test {

using namespace anyplace::detail;
using namespace snapshot_check;
using anyplace::SnapshotFormat;

namespace {

using Tree = std::function<void(TreeWriter&)>;

template <class Writer>
std::string written(const Tree& tree) {
  Writer writer;
  tree(writer);
  return writer.take();
}

/// Whether Python reads the same tree from the pickle as from the JSON, by both of its unpicklers.
Result compare(const Tree& tree) {
  const test::TempDir folder;
  folder.write("tree.pickle", written<PickleWriter>(tree));
  folder.write("tree.json", written<JsonWriter>(tree));
  const std::filesystem::path script = folder.write("compare.py", R"(
import io, json, pickle, sys
data = open(sys.argv[1] + "/tree.pickle", "rb").read()
expected = json.load(open(sys.argv[1] + "/tree.json", encoding="utf-8"))
for reader in (pickle.Unpickler, pickle._Unpickler):
    got = reader(io.BytesIO(data)).load()
    assert got == expected, (got, expected)
)");
  return run_python("'" + script.string() + "' '" + folder.path().string() + "'");
}

Result check_made(const Snapshot& snapshot, const std::string& options = "--from-start") {
  return check(write_snapshot({snapshot}, SnapshotFormat::pickle), write_snapshot({snapshot}, SnapshotFormat::json),
               options);
}

}  // namespace

TEST_CASE("integers of every size are the same in pickle and JSON") {
  const std::vector<std::uint64_t> edges = {0,
                                            1,
                                            127,
                                            128,
                                            255,
                                            256,
                                            32767,
                                            32768,
                                            65535,
                                            65536,
                                            0x7fff'ffff,
                                            0x8000'0000,
                                            0xffff'ffff,
                                            0x1'0000'0000,
                                            (1ull << 39) - 1,
                                            1ull << 39,
                                            (1ull << 53) + 1,
                                            (1ull << 63) - 1,
                                            1ull << 63,
                                            (1ull << 63) + 512,
                                            UINT64_MAX};
  const Tree tree = [&](TreeWriter& to) {
    to.begin_list();
    for (const std::uint64_t edge : edges) {
      to.unsigned_number(edge);
      to.number(static_cast<std::int64_t>(edge));
      to.number(-static_cast<std::int64_t>(edge >> 1) - 1);
    }
    to.end_list();
  };
  const nlohmann::json json = nlohmann::json::parse(written<JsonWriter>(tree));
  REQUIRE(json.size() == 3 * edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    CHECK(json[3 * i].get<std::uint64_t>() == edges[i]);
    CHECK(json[3 * i + 1].get<std::int64_t>() == static_cast<std::int64_t>(edges[i]));
  }
  if (!has_python()) return say_skipped();
  const Result result = compare(tree);
  CHECK(result.output.empty());
  CHECK(result.status == 0);
}

TEST_CASE("texts of every kind are the same in pickle and JSON") {
  const std::vector<std::string> texts = {"",
                                          "plain",
                                          "quote \" backslash \\ slash /",
                                          "line\nbreak\ttab \x01\x1f\x7f",
                                          "Grüße ✓ 🙂",
                                          std::string(255, 'a'),
                                          std::string(256, 'b'),
                                          std::string(70'000, 'c'),
                                          std::string("nul\0in it", 9)};
  const Tree tree = [&](TreeWriter& to) {
    to.begin_dict();
    for (const std::string& text : texts) to.text_entry("key " + text, text);
    to.truth_entry("yes", true);
    to.truth_entry("no", false);
    to.end_dict();
  };
  const nlohmann::json json = nlohmann::json::parse(written<JsonWriter>(tree));
  for (const std::string& text : texts) CHECK(json.at("key " + text) == text);
  if (!has_python()) return say_skipped();
  const Result result = compare(tree);
  CHECK(result.output.empty());
  CHECK(result.status == 0);
}

TEST_CASE("many texts, long lists, deep and empty containers are the same in pickle and JSON") {
  // More texts than one byte counts, used twice; more items than are appended at once; several frames.
  const Tree tree = [](TreeWriter& to) {
    to.begin_dict();
    for (const char* name : {"first", "second"}) {
      to.key(name);
      to.begin_list();
      for (int i = 0; i < 5000; ++i) {
        to.begin_dict();
        to.text_entry("text", "text " + std::to_string(i % 700));
        to.empty_list_entry("empty");
        to.end_dict();
      }
      to.end_list();
    }
    to.key("many keys");
    to.begin_dict();
    for (int i = 0; i < 2500; ++i) to.number_entry(std::to_string(i), i);
    to.end_dict();
    to.key("deep");
    for (int i = 0; i < 40; ++i) to.begin_list();
    to.begin_dict();
    to.end_dict();
    for (int i = 0; i < 40; ++i) to.end_list();
    to.end_dict();
  };
  const nlohmann::json json = nlohmann::json::parse(written<JsonWriter>(tree));
  CHECK(json.at("first").size() == 5000);
  CHECK(json.at("first") == json.at("second"));
  if (!has_python()) return say_skipped();
  const Result result = compare(tree);
  CHECK(result.output.empty());
  CHECK(result.status == 0);
}

TEST_CASE("a snapshot has what the memory viewer reads") {
  const nlohmann::json json = nlohmann::json::parse(write_snapshot({made_snapshot()}, SnapshotFormat::json));
  REQUIRE(json.at("segments").size() == 3);
  const nlohmann::json& small = json["segments"][0];
  CHECK(small.at("device") == 2);
  CHECK(small.at("address").get<std::uint64_t>() == high_address);
  CHECK(small.at("total_size") == 2 * mib);
  CHECK(small.at("allocated_size") == 512);
  CHECK(small.at("active_size") == 1024);
  CHECK(small.at("requested_size") == 400);
  CHECK(small.at("stream") == 0);
  CHECK(small.at("segment_type") == "small");
  CHECK(small.at("segment_pool_id") == nlohmann::json({0, 0}));
  CHECK(small.at("is_expandable") == false);
  REQUIRE(small.at("blocks").size() == 3);
  CHECK(small["blocks"][0].at("state") == "active_allocated");
  CHECK(small["blocks"][1].at("state") == "active_pending_free");
  CHECK(small["blocks"][2].at("state") == "inactive");
  CHECK(small["blocks"][1].at("address").get<std::uint64_t>() == high_address + 512);
  CHECK(json["segments"][1].at("segment_type") == "large");
  CHECK(json["segments"][1].at("segment_pool_id") == nlohmann::json({0, 3}));
  CHECK(json["segments"][1].at("is_expandable") == true);
  CHECK(json.at("allocator_settings").at("expandable_segments") == true);
  CHECK(json.at("allocator_settings").at("ANYPLACE_ALLOCATOR") == "caching:true,history:true");
  CHECK(json.at("anyplace")[0].at("memory_stats").size() == 122);
}

TEST_CASE("a device's history is at its number, behind the others' empty ones") {
  const nlohmann::json json = nlohmann::json::parse(write_snapshot({made_snapshot()}, SnapshotFormat::json));
  REQUIRE(json.at("device_traces").size() == 3);
  CHECK(json["device_traces"][0].empty());
  CHECK(json["device_traces"][1].empty());
  const nlohmann::json& history = json["device_traces"][2];
  REQUIRE(history.size() == 17);
  CHECK(history[0].at("action") == "segment_alloc");
  CHECK(history[0].at("addr").get<std::uint64_t>() == high_address);
  CHECK(history[0].at("time_us").get<std::uint64_t>() > 0);
  CHECK(history[7].at("stream") == stream);
}

TEST_CASE("an oom entry says what the device had free, or -1 where it doesn't tell") {
  const nlohmann::json json = nlohmann::json::parse(write_snapshot({made_snapshot()}, SnapshotFormat::json));
  const nlohmann::json& history = json["device_traces"][2];
  CHECK(history[10].at("device_free") == -1);
  CHECK(history[11].at("device_free") == 12'345);
  CHECK_FALSE(history[11].contains("addr"));
}

TEST_CASE("a snapshot of no devices is a snapshot") {
  if (!has_python()) return say_skipped();
  const Result result =
      check(write_snapshot({}, SnapshotFormat::pickle), write_snapshot({}, SnapshotFormat::json), "--from-start");
  CHECK(result.output == "{\"segments\": 0, \"blocks\": 0, \"events\": {}}\n");
  CHECK(result.status == 0);
}

TEST_CASE("a history leads from the segments back to nothing") {
  if (!has_python()) return say_skipped();
  const Result result = check_made(made_snapshot());
  INFO(result.output);
  CHECK(result.status == 0);
}

TEST_CASE("a history whose beginning was dropped is still right") {
  if (!has_python()) return say_skipped();
  Snapshot snapshot = made_snapshot();
  while (!snapshot.history.empty()) {
    snapshot.history.erase(snapshot.history.begin());
    const Result result = check_made(snapshot, "");
    INFO(snapshot.history.size() << " entries left: " << result.output);
    CHECK(result.status == 0);
  }
}

TEST_CASE("the checker finds what a viewer would trip over") {
  using Fault = std::pair<const char*, std::function<void(Snapshot&)>>;
  const auto entry = [](Snapshot& of, std::size_t index) -> TraceEntry& { return of.history[index]; };
  const auto drop = [](Snapshot& of, std::ptrdiff_t index) { of.history.erase(of.history.begin() + index); };
  const std::vector<Fault> faults = {
      {"blocks that don't fill their segment", [](Snapshot& of) { of.segments[0].blocks.pop_back(), set_stats(of); }},
      {"a block that overlaps the next", [](Snapshot& of) { of.segments[0].blocks[0].bytes = 1024, set_stats(of); }},
      {"more requested than there is", [](Snapshot& of) { of.segments[0].blocks[0].requested = 513, set_stats(of); }},
      {"statistics of another moment", [](Snapshot& of) { of.stats.add(StatKind::active, true, 1); }},
      {"segments that overlap", [](Snapshot& of) { of.segments.push_back(of.segments[1]), set_stats(of); }},
      {"an alloc of nothing that is there", [=](Snapshot& of) { entry(of, 1).address += 64 * kib; }},
      {"an alloc of another size", [=](Snapshot& of) { entry(of, 1).bytes = 101; }},
      {"an alloc that is missing", [=](Snapshot& of) { drop(of, 2); }},
      {"a free_completed that is missing", [=](Snapshot& of) { drop(of, 4); }},
      {"a free_requested that is missing", [=](Snapshot& of) { drop(of, 3); }},
      {"a pending free that nobody asked for", [=](Snapshot& of) { drop(of, 13); }},
      {"a free after its pages went", [=](Snapshot& of) { std::swap(of.history[14], of.history[15]); }},
      {"an alloc before its segment", [=](Snapshot& of) { std::swap(of.history[0], of.history[1]); }},
      {"pages that are mapped twice", [=](Snapshot& of) { entry(of, 15).address += 2 * mib; }},
      {"pages of another stream", [=](Snapshot& of) { entry(of, 6).stream = 5; }},
      {"a segment of another size", [=](Snapshot& of) { entry(of, 0).bytes = 4 * mib; }},
      {"a segment whose alloc is missing", [=](Snapshot& of) { drop(of, 0); }},
  };
  if (!has_python()) return say_skipped();
  for (const auto& [name, make] : faults) {
    Snapshot snapshot = made_snapshot();
    make(snapshot);
    const Result result = check_made(snapshot);
    INFO(name << ": " << result.output);
    CHECK(result.status == 1);
    CHECK_THAT(result.output, Catch::StartsWith("contradiction: "));
  }
}

TEST_CASE("the checker refuses a pickle that looks up a class") {
  if (!has_python()) return say_skipped();
  const Result result = check("\x80\x04\x8c\x02os\x8c\x06system\x93.", "");
  INFO(result.output);
  CHECK(result.status != 0);
}

}  // namespace snapshot_test
