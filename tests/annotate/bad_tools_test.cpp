// SPDX-License-Identifier: Apache-2.0
// Tools that can't be used: one warning, and the program goes on.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tools.h"

namespace bad_tools_test {

using namespace annotate_test;

namespace {

/// Runs `once`: it succeeds, with one warning, which says that. What it printed.
std::string warned(const Variables& variables, const std::string& text, bool listening = false) {
  const Ended ended = run_peer("once", variables);
  INFO(ended.out);
  CHECK(ended.status == 0);
  std::size_t warnings = 0;
  for (std::size_t at = 0; (at = ended.out.find("anyplace: warning: ", at)) != std::string::npos; ++at) ++warnings;
  CHECK(warnings == 1);
  const std::size_t start = ended.out.find("anyplace: warning: ");
  const std::string line = ended.out.substr(start, ended.out.find('\n', start) - start);
  INFO(line);
  CHECK(line.find(text) != std::string::npos);
  CHECK(line.find("docs/annotations.md") != std::string::npos);
  CHECK(ended.out.find(listening ? "listening: 1\n" : "listening: 0\n") != std::string::npos);
  return ended.out;
}

void warned_of_nvtx(const std::string& path, const std::string& text, const std::string& mode = "") {
  CAPTURE(path, mode);
  const Tools tools;
  const std::string said = warned(tools.with({{"NVTX_INJECTION64_PATH", path}, {"ANNOTATE_TEST_MODE", mode}}), text);
  CHECK(said.find("nvtx idle: ") != std::string::npos);
  CHECK(tools.nvtx().empty());
}

void warned_of_itt(const std::string& path, const std::string& text, const std::string& mode = "") {
  CAPTURE(path, mode);
  const Tools tools;
  const std::string said = warned(tools.with({{"INTEL_LIBITTNOTIFY64", path}, {"ANNOTATE_TEST_MODE", mode}}), text);
  CHECK(said.find("itt idle: ") != std::string::npos);
  CHECK(tools.itt().empty());
}

}  // namespace

TEST_CASE("A tool that is missing or no library is one warning") {
  const test::TempDir folder;
  const std::string text = folder.write("text.so", "this is no library, and quite long enough to be read as a header");
  const std::string fifo = folder.file("fifo.so");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string cut = folder.write("cut.so", test::read_file(NVTX_TOOL).substr(0, 5000));
  warned_of_nvtx(folder.file("missing.so"), "missing.so");
  warned_of_nvtx("no_such_tool_anywhere.so", "no_such_tool_anywhere.so");
  warned_of_nvtx(folder.path().string(), folder.path().string());
  warned_of_nvtx(text, "text.so");
  warned_of_nvtx(fifo, "fifo.so");
  warned_of_nvtx(cut, "cut.so");
  warned_of_itt(folder.file("missing.so"), "missing.so");
  warned_of_itt(fifo, "fifo.so");
}

TEST_CASE("A tool that another user could have written is not opened, and is one warning") {
  const test::TempDir folder;
  const std::string nvtx = folder.write("nvtx.so", test::read_file(NVTX_TOOL));
  const std::string itt = folder.write("itt.so", test::read_file(ITT_TOOL));
  REQUIRE(::chmod(nvtx.c_str(), 0666) == 0);
  REQUIRE(::chmod(itt.c_str(), 0666) == 0);
  warned_of_nvtx(nvtx, nvtx + " may be written by every user");
  warned_of_itt(itt, "ANYPLACE_TRUSTED_FOLDERS");
  const Tools tools;
  const Ended trusting = run_peer(
      "once", tools.with({{"NVTX_INJECTION64_PATH", nvtx}, {"ANYPLACE_TRUSTED_FOLDERS", folder.path().string()}}));
  CHECK(trusting.out.find("anyplace: warning: ") == std::string::npos);
  CHECK_FALSE(tools.nvtx().empty());
}

TEST_CASE("A library without the entry is one warning") {
  warned_of_nvtx(ITT_TOOL, "InitializeInjectionNvtx2");
  warned_of_itt(NVTX_TOOL, "__itt_api_init");
}

TEST_CASE("A tool that refuses, throws or fills nothing is one warning") {
  warned_of_nvtx(NVTX_TOOL, "can't or won't", "returns_0");
  warned_of_nvtx(NVTX_TOOL, "this tool doesn't like it here", "throws_at_once");
  warned_of_itt(ITT_TOOL, "neither tasks nor markers", "fills_nothing");
  warned_of_itt(ITT_TOOL, "neither tasks nor markers", "fills_null");
  warned_of_itt(ITT_TOOL, "this collector doesn't like it here", "throws_at_once");
}

TEST_CASE("A tool of NVTX that fills nothing yet is one warning, and hears what it asks for later") {
  for (const char* const mode : {"fills_nothing", "fills_null", "fills_later"}) {
    CAPTURE(mode);
    const Tools tools;
    warned(tools.with({{"NVTX_INJECTION64_PATH", NVTX_TOOL}, {"ANNOTATE_TEST_MODE", mode}}), "no annotations so far",
           true);
    CHECK(tools.nvtx().size() == (std::string(mode) == "fills_later" ? 2 : 0));
  }
}

TEST_CASE("A tool that throws later is one warning, and is called no more") {
  warned_of_nvtx(NVTX_TOOL, "this tool has had enough", "throws_later");
  warned_of_itt(ITT_TOOL, "no std::exception", "throws_later");
}

TEST_CASE("A library of ROCTX that lacks a function is one warning") {
  const Tools tools;
  const std::string said = warned(tools.with({{"ANNOTATE_TEST_LOAD", ROCTX_TOOL_TOO_OLD}}), "roctxRangeStop");
  CHECK(said.find("roctx idle: ") != std::string::npos);
}

TEST_CASE("A bad tool keeps no other from hearing") {
  const Tools tools;
  Variables variables = tools.all();
  variables["NVTX_INJECTION64_PATH"] = "/nowhere/tool.so";
  const Ended ended = run_peer("once", variables);
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK(ended.out.find("listening: 1\n") != std::string::npos);
  CHECK(tools.nvtx().empty());
  CHECK(tools.roctx().size() == 4);
  CHECK(tools.itt().size() == 4);
}

TEST_CASE("A kind that ANYPLACE_ANNOTATE names without what it needs is one warning") {
  warned(Tools().with({{"ANYPLACE_ANNOTATE", "nvtx"}}), "NVTX_INJECTION64_PATH");
  warned(Tools().with({{"ANYPLACE_ANNOTATE", "itt"}}), "INTEL_LIBITTNOTIFY64");
  warned(Tools().with({{"ANYPLACE_ANNOTATE", "roctx"}, {"LD_LIBRARY_PATH", ""}}), "rocprofiler-sdk-roctx");
}

TEST_CASE("A value that ANYPLACE_ANNOTATE doesn't know is one warning, and auto") {
  for (const char* const value : {"on", "nvtx,", ",", "nvtx,cupti", "NVTX", " nvtx", "off,itt"}) {
    CAPTURE(value);
    const Tools tools;
    Variables variables = tools.all();
    variables["ANYPLACE_ANNOTATE"] = value;
    const Ended ended = run_peer("once", variables);
    INFO(ended.out);
    CHECK(ended.status == 0);
    CHECK(ended.out.find("anyplace: warning: ANYPLACE_ANNOTATE is \"" + std::string(value)) == 0);
    CHECK(ended.out.find("listening: 1\n") != std::string::npos);
    CHECK(tools.nvtx().size() == 4);
  }
}

TEST_CASE("A program that makes up names without end doesn't fill a collector's memory") {
  const Tools tools;
  CHECK(run_peer("many_names", tools.with({{"INTEL_LIBITTNOTIFY64", ITT_TOOL}})).status == 0);
  const std::vector<Recorded> heard = tools.itt();
  REQUIRE(heard.size() == 17000);
  CHECK(heard[16000].name == "name 16000");
  CHECK(heard[16999].name == "(one of too many different names)");
}

}  // namespace bad_tools_test
