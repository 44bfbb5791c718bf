// SPDX-License-Identifier: Apache-2.0
// What the tools of each kind hear.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tools.h"

namespace tools_test {

using namespace annotate_test;
using Calls = std::vector<std::string>;

namespace {

void require_quiet(const Ended& ended) {
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  REQUIRE(ended.out.empty());
}

/// The only call with that name.
Recorded named(const std::vector<Recorded>& record, const std::string& name) {
  std::vector<Recorded> found;
  for (const Recorded& one : record) {
    if (one.name == name) found.push_back(one);
  }
  INFO(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

void check_threads(const std::vector<Recorded>& record) {
  CHECK(named(record, "inner").thread != named(record, "frame").thread);
  CHECK(named(record, "tile").thread == named(record, "frame").thread);
  CHECK(named(record, "loader").thread == named(record, "inner").thread);
  CHECK(named(record, "reached").thread != named(record, "frame").thread);
}

}  // namespace

TEST_CASE("A tool of NVTX hears all that annotations have") {
  const Tools tools;
  require_quiet(run_peer("tour", tools.with({{"NVTX_INJECTION64_PATH", NVTX_TOOL}})));
  const std::vector<Recorded> heard = tools.nvtx();
  const std::string loader = named(heard, "inner").thread;
  CHECK(calls_of(heard) == Calls{"push frame", "push tile", "mark pixel", "mark plain", "start 1001 load",
                                 "thread " + loader + " loader", "end 1001", "push inner", "pop", "pop", "pop",
                                 "mark reached"});
  check_threads(heard);
  CHECK(named(heard, "frame") == Recorded{"push", named(heard, "frame").thread, "-", "-", "ff112233", "-", "frame"});
  const Recorded tile = named(heard, "tile");
  CHECK(tile.domain == "loader");
  CHECK(tile.category == "copies");
  CHECK(tile.payload == "i64:7");
  const Recorded pixel = named(heard, "pixel");
  CHECK(pixel.domain == "before");
  CHECK(pixel.category == "early");
  CHECK(pixel.payload == "f64:0.500000");
  CHECK(named(heard, "load").payload == "u64:9");
  CHECK(named(heard, "plain").category == "-");
}

TEST_CASE("A tool of NVTX that takes plain calls alone hears names") {
  const Tools tools;
  require_quiet(
      run_peer("tour", tools.with({{"NVTX_INJECTION64_PATH", NVTX_TOOL}, {"ANNOTATE_TEST_MODE", "fills_plain"}})));
  CHECK(calls_of(tools.nvtx()) == Calls{"push A frame", "push A tile", "mark A pixel", "mark A plain", "push A inner",
                                        "pop", "pop", "pop", "mark A reached"});
}

TEST_CASE("A tool of NVTX that is linked with the program hears") {
  const Tools tools;
  require_quiet(test::Process({ANNOTATE_PEER_LINKED, "tour"}, tools.none()).end());
  CHECK(tools.nvtx().size() == 12);
}

TEST_CASE("ROCTX hears names, where its library is loaded") {
  const Tools tools;
  require_quiet(run_peer("tour", tools.with({{"ANNOTATE_TEST_LOAD", ROCTX_TOOL}})));
  const std::vector<Recorded> heard = tools.roctx();
  CHECK(calls_of(heard) == Calls{"push frame", "push tile", "mark pixel", "mark plain", "start 2001 load",
                                 "thread loader", "end 2001", "push inner", "pop", "pop", "pop", "mark reached"});
  check_threads(heard);
}

TEST_CASE("ROCTX's library is opened where ANYPLACE_ANNOTATE names it, and not without") {
  const Tools tools;
  const Variables found = {{"LD_LIBRARY_PATH", ROCTX_FOLDER}};
  require_quiet(run_peer("tour", tools.with(found)));
  CHECK(tools.roctx().empty());
  require_quiet(run_peer("tour", tools.with({{"LD_LIBRARY_PATH", ROCTX_FOLDER}, {"ANYPLACE_ANNOTATE", "roctx"}})));
  CHECK(tools.roctx().size() == 12);
}

TEST_CASE("A collector for ITT hears tasks, markers and metadata") {
  for (const char* const collector : {ITT_TOOL, ITT_TOOL_BEFORE_3}) {
    CAPTURE(collector);
    const Tools tools;
    require_quiet(run_peer("tour", tools.with({{"INTEL_LIBITTNOTIFY64", collector}})));
    const std::vector<Recorded> heard = tools.itt();
    CHECK(calls_of(heard) == Calls{"push frame", "metadata color", "push tile", "metadata category", "metadata payload",
                                   "mark pixel", "metadata category", "metadata payload", "mark plain", "start 1 load",
                                   "metadata payload", "thread loader", "end 1", "push inner", "pop", "pop", "pop",
                                   "mark reached"});
    check_threads(heard);
    CHECK(named(heard, "frame").domain == "anyplace");
    CHECK(named(heard, "tile").domain == "loader");
    CHECK(named(heard, "pixel").domain == "before");
    CHECK(heard[1].color == "ff112233");
    CHECK(heard[3].category == "copies");
    CHECK(heard[4].payload == "i64:7");
    CHECK(heard[6].category == "early");
    CHECK(heard[7].payload == "f64:0.500000");
    CHECK(heard[10].payload == "u64:9");
  }
}

TEST_CASE("Tools of all kinds hear the same at once") {
  const Tools tools;
  require_quiet(run_peer("tour", tools.all()));
  const auto simple = [](std::vector<Recorded> record) {
    record.erase(
        std::remove_if(record.begin(), record.end(), [](const Recorded& one) { return one.what == "metadata"; }),
        record.end());
    std::vector<std::string> calls;
    // Each kind has numbers of its own for started ranges.
    for (const Recorded& one : record)
      calls.push_back(one.what.substr(0, one.what.find(' ')) + " " + one.thread + " " + one.name);
    return calls;
  };
  CHECK(simple(tools.nvtx()).size() == 12);
  CHECK(simple(tools.nvtx()) == simple(tools.roctx()));
  CHECK(simple(tools.nvtx()) == simple(tools.itt()));
}

TEST_CASE("ANYPLACE_ANNOTATE says which tools are looked for") {
  const auto heard_with = [](const char* value) {
    const Tools tools;
    Variables variables = tools.all();
    variables["ANYPLACE_ANNOTATE"] = value;
    require_quiet(run_peer("tour", variables));
    return std::string(tools.nvtx().empty() ? "" : "nvtx ") + (tools.roctx().empty() ? "" : "roctx ") +
           (tools.itt().empty() ? "" : "itt ");
  };
  CHECK(heard_with("") == "nvtx roctx itt ");
  CHECK(heard_with("auto") == "nvtx roctx itt ");
  CHECK(heard_with("off").empty());
  CHECK(heard_with("itt") == "itt ");
  CHECK(heard_with("roctx,nvtx") == "nvtx roctx ");
}

TEST_CASE("Tools get texts that end, whole characters, and no more than 64 KiB") {
  const Tools tools;
  require_quiet(run_peer("strings", tools.all()));
  const Calls expected{"mark ", "mark before", "mark 65536 bytes", "mark 65536 bytes", "mark 65535 bytes"};
  CHECK(calls_of(tools.nvtx()) == expected);
  CHECK(calls_of(tools.roctx()) == expected);
  CHECK(calls_of(tools.itt()) == expected);
}

TEST_CASE("Tools hear ten thousand nested ranges") {
  const Tools tools;
  require_quiet(run_peer("deep", tools.with({{"NVTX_INJECTION64_PATH", NVTX_TOOL}})));
  CHECK(tools.nvtx().size() == 20000);
}

TEST_CASE("Ranges that are open at the end of a thread or of the process stay open") {
  const Tools tools;
  require_quiet(run_peer("open_at_exit", tools.all()));
  const Calls heard = calls_of(tools.nvtx());
  CHECK(std::count(heard.begin(), heard.end(), "pop") == 0);
  CHECK(heard.size() == 5);
}

TEST_CASE("A forked child is silent") {
  const Tools tools;
  const Ended ended = run_peer("fork", tools.all());
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK_FALSE(ended.hung);
  for (const Recorded& one : tools.nvtx()) REQUIRE(one.name.find("child") == std::string::npos);
}

TEST_CASE("Without a listener nothing is allocated") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("ANYPLACE_TEST_SKIPPED: the sanitizers count allocations by themselves");
#endif
  const Tools tools;
  const Ended ended = run_peer("nobody", tools.none());
  CHECK(ended.status == 0);
  CHECK(ended.out == "allocations: 0\n");
}

}  // namespace tools_test
