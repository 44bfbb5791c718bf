// SPDX-License-Identifier: Apache-2.0
// examples/rtc: on cpu_sim, over the vendors' doubles, twice, and with raised privileges.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "compile/support.h"
#include "support/process.h"

namespace compile_rtc {

using namespace compile_test;

constexpr const char* rtc = ANYPLACE_TEST_RTC;  // empty: it isn't built
constexpr const char* formula = "x * 2 + sin(x)";

bool is_built() {
  if (*rtc != '\0') return true;
  std::printf("ANYPLACE_TEST_SKIPPED: the examples are not built\n");
  return false;
}

test::Ended rtc_on(const std::string& place, const test::Variables& variables = {}) {
  test::Ended ended = test::Process({rtc, "--place", place, formula}, variables).end();
  INFO(ended.out);
  CHECK(ended.status == 0);
  return ended;
}

TEST_CASE("rtc prints what the formula makes of the numbers, and the second time nothing is compiled") {
  if (!is_built()) return;
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const std::string first = rtc_on("cpu_sim:0").out;
  CHECK(first.starts_with("0\n2.8414709848079\n"));
  CHECK(rtc_on("cpu_sim:0").out == first);
  CHECK(compiler.starts() == 1);
}

TEST_CASE("rtc prints the same over the doubles of the vendors' devices") {
  if (!is_built()) return;
  const std::string doubles = ANYPLACE_TEST_DOUBLES;
  if (doubles.empty()) {
    std::printf("ANYPLACE_TEST_SKIPPED: no double is built\n");
    return;
  }
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const std::string expected = rtc_on("cpu_sim:0").out;
  const test::Variables variables{{"LD_LIBRARY_PATH", doubles},
                                  {"ANYPLACE_BACKEND_PATH", ANYPLACE_TEST_PLUGINS "/stand_in"},
                                  {"ANYPLACE_COMPILERS", "stand_in"}};
  std::size_t starts = 1;
  for (const std::string backend : {"cuda", "hip", "levelzero"}) {
    const std::string folder = backend == "levelzero" ? "levelzero/direct" : backend;
    if (doubles.find("/" + folder) == std::string::npos) continue;
    INFO(backend);
    CHECK(rtc_on(backend + ":0", variables).out == expected);
    CHECK(compiler.starts() == ++starts);
    CHECK(rtc_on(backend + ":0", variables).out == expected);
    CHECK(compiler.starts() == starts);
  }
}

TEST_CASE("A vendor's library is found without being loaded, so a kernel in the cache needs no compiler") {
  const test::TempDir toolkit;
  std::filesystem::create_directory(toolkit.file("lib64"));
  std::filesystem::copy_file(ANYPLACE_TEST_PLUGINS "/nvrtc/libnvrtc.so.12", toolkit.file("lib64/libnvrtc.so.12"));
  test::set_env("CUDA_PATH", toolkit.path().string());
  bool is_usable = false;
  for (const Compiler& one : compilers()) is_usable = is_usable || (one.name == "nvrtc" && one.usable);
  CHECK(is_usable);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) CHECK(line.find("libnvrtc.so") == std::string::npos);
}

TEST_CASE("Name expressions take Clang no second run") {
  const OwnCache cache;
  const ScriptedCompiler clang("exec clang++ \"$@\"");
  test::set_env("ANYPLACE_KERNEL_CLANG", clang.folder.file("c++"));
  const char* const source = "template <class T> __global__ void scale(T* data) { data[0] *= 2; }\n";
  std::size_t images = 0;
  for (const char* const target : {"sm_75", "gfx90a"}) {
    const std::string targets[] = {target};
    const auto failure = test::error_of([&] {
      compile(source, targets, {.name_expressions = {"scale<float>", "scale<int>"}, .compiler = "clang"});
    });
    if (failure) std::printf("ANYPLACE_TEST_SKIPPED: %s\n", failure->what());  // there is no Clang, or no lld
    images += failure ? 0 : 1;
    CHECK(clang.starts() == images);
  }
}

TEST_CASE("Of several NVRTCs the newest is taken that the driver takes PTX of") {
  if (!is_built()) return;
  const std::string doubles = ANYPLACE_TEST_DOUBLES;
  if (doubles.find("/cuda") == std::string::npos) {
    std::printf("ANYPLACE_TEST_SKIPPED: the double of cuda is not built\n");
    return;
  }
  const OwnCache cache;
  const auto said = [&](const char* driver) {
    const test::Variables variables{{"LD_LIBRARY_PATH", doubles + ":" ANYPLACE_TEST_PLUGINS "/nvrtc"},
                                    {"CUDA_DOUBLE_DRIVER_VERSION", driver},
                                    {"ANYPLACE_COMPILERS", "nvrtc"}};
    const test::Ended ended = test::Process({rtc, "--place", "cuda:0", formula}, variables).end();
    CHECK(ended.status == 1);  // they compile nothing
    return ended.out;
  };
  CHECK(said("13000").find("this is NVRTC 13.0") != std::string::npos);
  CHECK(said("12080").find("this is NVRTC 12.0") != std::string::npos);
  CHECK(said("11020").find("this is NVRTC 13.0") != std::string::npos);  // none of the two would do
}

TEST_CASE("With raised privileges no variable leads to a compiler, a cache or a folder") {
  if (!is_built()) return;
  const OwnCache cache;
  const test::TempDir folder;
  const ScriptedCompiler compiler(as_it_is);
  const std::string program = folder.file("rtc");
  std::filesystem::copy_file(rtc, program);
  constexpr gid_t other_group = 65534;
  if (::geteuid() != 0 || ::chown(program.c_str(), 0, other_group) != 0) {
    WARN("not checked: this user can't give a program to another group");
    return;
  }
  std::filesystem::create_directory(folder.file("temporary"));
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(program.c_str(), 02755) == 0);
  const test::Variables variables{
      {"PATH", "/nowhere"}, {"TMPDIR", "/nowhere"}, {"CPATH", "/nowhere"}, {"GCC_EXEC_PREFIX", "/nowhere/"}};
  const test::Ended ended = test::Process({program, "--place", "cpu_sim:0", formula}, variables).end();
  INFO(ended.out);
  if (compiler.starts() != 0) WARN("not checked: the temporary directory doesn't let programs raise their privileges");
  if (compiler.starts() != 0) return;
  CHECK(ended.status == 0);
  CHECK(ended.out.starts_with("0\n2.8414709848079\n"));
  CHECK(!std::filesystem::exists(cache.path()));
}

}  // namespace compile_rtc
