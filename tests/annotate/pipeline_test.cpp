// SPDX-License-Identifier: Apache-2.0
// image_pipeline --annotate under tools of all kinds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "example/png_files.h"
#include "tools.h"

namespace pipeline_test {

using namespace annotate_test;
using Calls = std::vector<std::string>;

namespace {

Ended run_pipeline(const Tools& tools, std::vector<std::string> options) {
  // Six tiles.
  const std::string picture =
      tools.folder.write("in.png", example_test::encode(example_test::noise(600, 300, example_test::Color::grey)));
  const std::vector<std::string> words{IMAGE_PIPELINE, "--in",     picture, "--out", tools.folder.file("out.png"),
                                       "--place",      "cpu_sim:0"};
  options.insert(options.begin(), words.begin(), words.end());
  Variables variables = tools.all();
  variables["ANYPLACE_ANNOTATE"] = "nvtx,roctx,itt";
  variables["LD_LIBRARY_PATH"] = ROCTX_FOLDER;
  return test::Process(options, variables).end();
}

/// What each thread did in its order, with names: "push frame", "pop", "mark blurred".
std::map<std::string, Calls> by_thread(const std::vector<Recorded>& record) {
  std::map<std::string, Calls> threads;
  for (const Recorded& one : record) {
    if (one.what == "metadata") continue;
    threads[one.thread].push_back(one.what + (one.name == "-" ? "" : " " + one.name));
  }
  return threads;
}

/// The paths of all ranges, "frame/tile/blur", in order; they must be nested, and closed.
Calls paths(const Calls& calls) {
  Calls open, all;
  for (const std::string& call : calls) {
    if (call.rfind("push ", 0) == 0) {
      open.push_back(call.substr(5));
      std::string path;
      for (const std::string& name : open) path += (path.empty() ? "" : "/") + name;
      all.push_back(path);
    } else if (call == "pop") {
      REQUIRE_FALSE(open.empty());
      open.pop_back();
    }
  }
  CHECK(open.empty());
  return all;
}

/// The thread with ranges, of which there is one.
Calls ranges_of(const std::vector<Recorded>& record) {
  Calls found;
  for (const auto& [thread, calls] : by_thread(record)) {
    if (std::find(calls.begin(), calls.end(), "pop") == calls.end()) continue;
    CHECK(found.empty());
    found = paths(calls);
  }
  return found;
}

std::ptrdiff_t count(const Calls& calls, const std::string& call) {
  return std::count(calls.begin(), calls.end(), call);
}

}  // namespace

TEST_CASE("Tools of all kinds see the same nested ranges of image_pipeline, and the marks of its streams") {
  const Tools tools;
  const Ended ended = run_pipeline(tools, {"--annotate", "--streams", "2"});
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  CHECK(ended.out.find("annotations go to nvtx, roctx, itt\n") != std::string::npos);
  const Calls ranges = ranges_of(tools.nvtx());
  const std::ptrdiff_t tiles = count(ranges, "frame/tile");
  CHECK(count(ranges, "frame") == 1);
  CHECK(tiles == 6);
  for (const char* const stage : {"pack", "upload", "blur", "download"}) {
    CHECK(count(ranges, std::string("frame/tile/") + stage) == tiles);
  }
  CHECK(count(ranges, "frame/collect") == tiles);
  CHECK(ranges_of(tools.roctx()) == ranges);
  CHECK(ranges_of(tools.itt()) == ranges);
  CHECK(by_thread(tools.nvtx()) == by_thread(tools.roctx()));
  CHECK(by_thread(tools.nvtx()) == by_thread(tools.itt()));
  for (const char* const mark : {"mark uploaded", "mark blurred", "mark downloaded"}) {
    CHECK(count(calls_of(tools.nvtx()), mark) == tiles);
  }
}

TEST_CASE("Marks of image_pipeline's graphs are heard at each launch") {
  const Tools tools;
  const Ended ended = run_pipeline(tools, {"--annotate", "--graph", "--frames", "2"});
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  const Calls ranges = ranges_of(tools.nvtx());
  const std::ptrdiff_t tiles = count(ranges, "capture/tile");
  CHECK(tiles == 6);
  CHECK(count(ranges, "frame/captured") == 2);
  CHECK(count(ranges, "frame/submitted/tile/blur") == 2 * tiles);
  CHECK(count(calls_of(tools.nvtx()), "mark blurred") == 4 * tiles);
  CHECK(ranges_of(tools.itt()) == ranges);
}

TEST_CASE("Without --annotate image_pipeline tells tools nothing") {
  const Tools tools;
  const Ended ended = run_pipeline(tools, {});
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  CHECK(tools.nvtx().empty());
  CHECK(tools.roctx().empty());
  CHECK(tools.itt().empty());
}

}  // namespace pipeline_test
