// SPDX-License-Identifier: Apache-2.0
// `anyplace timeline`: what is in the page of a traced run, what is refused, and that a browser draws it.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "anyplace/anyplace.h"
#include "run_command.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace timeline_test {

using namespace anyplace::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// A name that would end the element in which the data are, if it were there as it is.
constexpr const char* bad_name = "</script><script>document.title='broken'</script><!--";

/// Traces fills and copies of two streams within ranges, one of which has the name.
std::string traced(const test::TempDir& folder, int rounds, const std::string& name = "round") {
  const std::string file = folder.file("run.pftrace");
  const test::Ended ended = test::in_child([&] {
    test::set_env("ANYPLACE_LAYERS", "trace");
    test::set_env("ANYPLACE_TRACE", file);
    const anyplace::Device device("cpu_sim:0");
    const anyplace::Stream stream(device), other(device);
    const anyplace::Event event(device);
    const anyplace::Buffer data(stream, 1 << 20);
    std::vector<std::uint32_t> host(1 << 18);
    for (int i = 0; i < rounds; ++i) {
      const anyplace::annotate::Range range(name, {.color = 0xff336699, .payload = i});
      stream.fill(data.as<std::uint32_t>(), 1u);
      stream.record_event(event);
      other.wait_event(event);
      other.copy(host, data);
      other.mark("copied");
      other.synchronize();
    }
    return 0;
  });
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  return file;
}

std::string page_of(const test::TempDir& folder, const std::string& trace) {
  const std::string page = folder.file("page.html");
  const Run run = run_command({"timeline", trace, "-o", page});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  return page;
}

/// The data in the page, which end where a browser would end their element.
json data_in(const std::string& page) {
  const std::string text = test::read_file(page);
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t at = text.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  return json::parse(text.substr(from, text.find("</script", from) - from));
}

/// How many slices of a kind there are in the groups of a kind, and how long they are.
struct Counted {
  std::uint64_t count = 0, total_ns = 0, bytes = 0, stalls = 0;
};
Counted counted(const json& data, const std::string& group_kind, const std::string& name) {
  Counted all;
  for (const json& group : data.at("groups")) {
    if (group.at("kind") != group_kind) continue;
    for (const json& lane : group.at("lanes")) {
      for (const json& row : lane.at("rows")) {
        std::uint64_t at = 0, end = 0;
        for (std::size_t i = 0; i < row.at("b").size(); ++i) {
          at += row["b"][i].get<std::uint64_t>();
          CHECK(at >= end);  // no two slices of a row overlap
          end = at + row["d"][i].get<std::uint64_t>();
          if (data["names"][row["n"][i].get<std::size_t>()] != name) continue;
          ++all.count;
          all.total_ns += row["d"][i].get<std::uint64_t>();
          if (row.contains("y")) all.bytes += row["y"][i].get<std::uint64_t>();
          if (row.contains("h") && row["h"][i] != 0) ++all.stalls;
        }
      }
    }
  }
  return all;
}

/// The page as a browser has it when its script has run.
std::string drawn_page(const test::TempDir& folder, const std::string& page) {
  const test::Ended ended =
      test::Process({ANYPLACE_CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
                     "--user-data-dir=" + folder.file("profile"), "--dump-dom", "file://" + page})
          .end();
  INFO(ended.out);
  CHECK(ended.status == 0);
  return ended.out;
}

}  // namespace

TEST_CASE("The page has the figures of trace-summary, and slices that come to the same") {
  const test::TempDir folder;
  const std::string file = traced(folder, 10);
  const json summary = run_command({"trace-summary", file, "--json"}).json();
  const json data = data_in(page_of(folder, file));
  CHECK(data.at("summary") == summary);
  CHECK(data.at("title") == "run.pftrace");
  for (const auto& [name, operation] : summary.at("devices").at("cpu_sim:0").at("operations").items()) {
    INFO(name);
    const Counted slices = counted(data, "device", name);
    CHECK(slices.count == operation.at("count"));
    CHECK(slices.total_ns == operation.at("total_ns"));
    CHECK(slices.bytes == operation.at("bytes"));
  }
  for (const auto& [name, call] : summary.at("calls").items()) {
    INFO(name);
    CHECK(counted(data, "host", name).count == call.at("count"));
    CHECK(counted(data, "host", name).total_ns == call.at("total_ns"));
  }
  std::uint64_t stalls = 0, in_page = 0;
  for (const auto& [name, stall] : summary.at("stalls").items()) stalls += stall.at("count").get<std::uint64_t>();
  for (const auto& [name, call] : summary.at("calls").items()) in_page += counted(data, "host", name).stalls;
  CHECK(stalls >= 10);
  CHECK(in_page == stalls);
}

TEST_CASE("Ranges and marks are in the summary and in the page") {
  const test::TempDir folder;
  const std::string file = traced(folder, 10);
  const json summary = run_command({"trace-summary", file, "--json"}).json();
  const json& range = summary.at("ranges").at("round");
  CHECK(range.at("count") == 10);
  CHECK(range.at("submissions") == 30);  // fill, copy, and the mark's host function
  std::uint64_t on_device = 0;
  for (const auto& operation : summary.at("devices").at("cpu_sim:0").at("operations")) {
    on_device += operation.at("total_ns").get<std::uint64_t>();
  }
  CHECK(range.at("device_ns") == on_device);
  CHECK(summary.at("marks") == json{{"copied", 10}});
  CHECK_FALSE(summary.at("calls").contains("round"));
  CHECK_THAT(run_command({"trace-summary", file}).out, Contains("RANGE") && Contains("MARK") && Contains("copied"));
  const json data = data_in(page_of(folder, file));
  CHECK(counted(data, "host", "round").count == 10);
  CHECK(counted(data, "host", "round").total_ns == range.at("total_ns"));
  std::size_t marks = 0;
  for (const json& group : data.at("groups")) {
    for (const json& lane : group.at("lanes")) {
      if (lane.contains("marks")) marks += lane["marks"]["t"].size();
    }
  }
  CHECK(marks == 10);
}

TEST_CASE("A name that looks like the end of a script is text in the page") {
  const test::TempDir folder;
  const std::string page = page_of(folder, traced(folder, 2, bad_name));
  CHECK_FALSE(contains(test::read_file(page), "document.title='broken'</script>"));
  CHECK(counted(data_in(page), "host", bad_name).count == 2);
}

TEST_CASE("The page is one file, which asks for nothing from a network") {
  const test::TempDir folder;
  const std::string text = test::read_file(page_of(folder, traced(folder, 2)));
  for (const char* const part : {"http:", "https:", "src=", "href=", "@import", "fetch(", "url("}) {
    INFO(part);
    CHECK_FALSE(contains(text, part));
  }
}

TEST_CASE("Without an output the page is named after the trace, and a page that is there is overwritten") {
  const test::TempDir folder;
  const std::string file = traced(folder, 2);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const Run run = run_command({"timeline", file});
  const std::string page = folder.write("page.html", "something else");
  const Run again = run_command({"timeline", file, "--output", page});
  std::filesystem::current_path(before);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("run.html: ") && Contains(" slices"));
  CHECK(again.status == 0);
  CHECK(data_in(page) == data_in(folder.file("run.html")));
}

TEST_CASE("A trace that is cut is shown as far as it is whole, with a note") {
  const test::TempDir folder;
  const std::string bytes = test::read_file(traced(folder, 10));
  const Run run = run_command(
      {"timeline", folder.write("cut.pftrace", bytes.substr(0, bytes.size() - 3)), "-o", folder.file("page.html")});
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains("cut in the middle of a packet"));
  CHECK(data_in(folder.file("page.html")).at("summary").at("cut") == true);
}

TEST_CASE("A file that is no trace, or has nothing in it, makes no page") {
  const test::TempDir folder;
  const std::string page = folder.file("page.html");
  const std::string empty_trace("\x0a\x02\x50\x01", 4);  // a packet with a sequence's number and nothing else
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "it has no packet of Perfetto's format"},
      {"no trace at all\n", "Perfetto's format"},
      {empty_trace, "it has no slice: the run made no call to a backend while it was traced; see docs/layers.md"}};
  for (const auto& [bytes, right] : wrong) {
    const Run run = run_command({"timeline", folder.write("other", bytes), "-o", page});
    INFO(run.err);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("other: ") && Contains(right));
    CHECK_FALSE(std::filesystem::exists(page));
  }
  const Run none = run_command({"timeline", folder.file("none"), "-o", page});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, Contains("none"));
  CHECK(run_command({"timeline", folder.path().string(), "-o", page}).status == 2);
}

TEST_CASE("An output that can't be written, or that is the trace, is refused") {
  const test::TempDir folder;
  const std::string file = traced(folder, 2);
  const Run no_folder = run_command({"timeline", file, "-o", folder.file("none/page.html")});
  CHECK(no_folder.status == 1);
  CHECK_THAT(no_folder.err, Contains("can't write ") && Contains("none/page.html: No such file or directory"));
  const Run full = run_command({"timeline", file, "-o", "/dev/full"});
  CHECK(full.status == 1);
  CHECK_THAT(full.err, Contains("can't write /dev/full: No space left on device"));
  const std::string bytes = test::read_file(file);
  const Run itself = run_command({"timeline", file, "-o", file});
  CHECK(itself.status == 2);
  CHECK_THAT(itself.err, Contains("is the trace itself; name another file"));
  CHECK(test::read_file(file) == bytes);
  const Run output = run_command({"timeline", file, "-o", "-"});
  CHECK(output.status == 2);
  CHECK_THAT(output.err, Contains("the page goes to a file"));
  const Run nothing = run_command({"timeline"});
  CHECK(nothing.status == 2);
  CHECK_THAT(nothing.err, Contains("usage: anyplace timeline FILE [--output FILE]"));
}

TEST_CASE("A browser draws the page without an error, whatever names are in it") {
  if (std::string(ANYPLACE_CHROMIUM).empty()) {
    std::puts("ANYPLACE_TEST_SKIPPED: there is no browser (Debian: apt-get install chromium)");
    return;
  }
  const test::TempDir folder;
  const std::string page = page_of(folder, traced(folder, 10, bad_name));
  const std::string all = drawn_page(folder, page);
  const std::string root = all.substr(0, all.find("<head>"));
  INFO(root);
  CHECK(contains(root, "data-errors=\"0\""));
  const std::string drawn = "data-drawn=\"";
  REQUIRE(contains(root, drawn));
  CHECK(std::stoul(root.substr(root.find(drawn) + drawn.size())) > 20);
  CHECK(contains(all, "run.pftrace - anyplace timeline"));
  CHECK(contains(all, "This run"));
  // An operation that is asked for is described beside the lanes.
  const std::string one = drawn_page(folder, page + "#operation=1");
  CHECK(contains(one.substr(0, one.find("<head>")), "data-errors=\"0\""));
  CHECK_THAT(one, Contains("submitted by") && Contains("waited for it"));
}

}  // namespace timeline_test
