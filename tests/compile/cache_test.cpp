// SPDX-License-Identifier: Apache-2.0
// The cache of compiled kernels.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "anyplace/kernel_cache.h"
#include "compile/support.h"
#include "support/process.h"

namespace compile_cache {

using namespace compile_test;
namespace fs = std::filesystem;

void compile_once() { static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it)); }

TEST_CASE("The same source is compiled once") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  for (int i = 0; i < 3; ++i) compile_once();
  CHECK(compiler.starts() == 1);
  REQUIRE(cache.files().size() == 1);
  struct stat status {};
  REQUIRE(::stat(cache.files()[0].c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("Whatever an image depends on makes another one") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const Device device("cpu_sim:0");
  const CompileOptions all[] = {{},
                                {.name = "other.cu"},
                                {.defines = {"A"}},
                                {.defines = {"A", "B"}},
                                {.defines = {"A=B"}},
                                {.includes = {"/tmp"}},
                                {.fast_math = true},
                                {.debug = true},
                                {.compiler_options = {"-funroll-loops"}, .compiler = "host"}};
  std::size_t starts = 0;
  for (const CompileOptions& options : all) {
    CHECK_NOTHROW(Module::compile(device, doubles_it, options));
    CHECK(compiler.starts() == ++starts);
    CHECK(cache.files().size() == starts);
  }
}

TEST_CASE("A header that changes is noticed") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const test::TempDir folder;
  const Device device("cpu_sim:0");
  const std::string source = std::string("#include \"factor.h\"\n") + doubles_it;
  const auto compile_with = [&](const char* header) {
    std::ofstream(folder.file("factor.h")) << header;
    static_cast<void>(Module::compile(device, source, {.includes = {folder.path().string()}}));
    return compiler.starts();
  };
  CHECK(compile_with("// one\n") == 1);
  CHECK(compile_with("// one\n") == 1);
  CHECK(compile_with("// two\n") == 2);
  std::filesystem::remove(folder.file("factor.h"));
  CHECK(test::code_of([&] {
          static_cast<void>(Module::compile(device, source, {.includes = {folder.path().string()}}));
        }) == ErrorCode::compile_failed);
}

TEST_CASE("A header that changes while the compiler runs is in no entry") {
  const OwnCache cache;
  const test::TempDir folder;
  const std::string header = folder.file("factor.h");
  std::ofstream(header) << "// one\n";
  const ScriptedCompiler compiler("$CXX \"$@\" || exit; sleep 0.1; echo '// two' >" + header);
  const std::string source = std::string("#include \"factor.h\"\n") + doubles_it;
  CHECK_NOTHROW(Module::compile(Device("cpu_sim:0"), source, {.includes = {folder.path().string()}}));
  CHECK(cache.files().empty());
}

TEST_CASE("An entry that isn't whole, or isn't to be trusted, isn't used") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  compile_once();
  const std::string entry = cache.files().at(0);
  std::string bytes;
  {
    std::ifstream file(entry, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto write = [&](const std::string& with) { std::ofstream(entry, std::ios::binary | std::ios::trunc) << with; };
  std::size_t starts = 1;
  std::string flipped = bytes;
  flipped[bytes.size() / 2] ^= 1;
  std::string older = bytes;
  older.replace(older.find("anyplace kernels 2"), 18, "anyplace kernels 0");
  for (const std::string& bad : {std::string(), std::string("x"), bytes.substr(0, bytes.size() / 2), flipped, older,
                                 bytes + "x", std::string(1000, '\0')}) {
    write(bad);
    compile_once();
    CHECK(compiler.starts() == ++starts);
  }
  compile_once();
  CHECK(compiler.starts() == starts);
  REQUIRE(::chmod(entry.c_str(), 0666) == 0);
  compile_once();
  CHECK(compiler.starts() == ++starts);
  if (::geteuid() != 0) return;  // only root can give a file away
  constexpr uid_t other = 65534;
  REQUIRE(::chown(cache.files().at(0).c_str(), other, other) == 0);
  compile_once();
  CHECK(compiler.starts() == ++starts);
  REQUIRE(::chown(cache.path().c_str(), other, other) == 0);  // then nothing is kept, either
  compile_once();
  compile_once();
  CHECK(compiler.starts() == starts + 2);
}

TEST_CASE("A cache that is deleted while a compiler runs is made anew") {
  const OwnCache cache;
  const ScriptedCompiler compiler("rm -rf '" + cache.path() + "'; " + as_it_is);
  compile_once();
  CHECK(cache.files().size() == 1);
  compile_once();
  CHECK(compiler.starts() == 1);
}

TEST_CASE("Without a cache everything is compiled each time, and nothing is kept") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  test::set_env("ANYPLACE_CACHE", "off");
  compile_once();
  compile_once();
  CHECK(compiler.starts() == 2);
  test::set_env("ANYPLACE_CACHE", "/proc/nobody/can/write/here");
  compile_once();
  CHECK(compiler.starts() == 3);
  test::set_env("HOME", cache.folder.path().string());
  test::unset_env("XDG_CACHE_HOME");
  std::size_t starts = 3;
  for (const char* const value : {"OFF", "Off", "0", "none", "./cache", "rel/x", "/etc/passwd"}) {
    INFO(value);
    test::set_env("ANYPLACE_CACHE", value);
    compile_once();
    CHECK(compiler.starts() == ++starts);
    CHECK(!kernel_cache::problem().empty());
    CHECK(!fs::exists(cache.folder.file(".cache")));
  }
  test::set_env("ANYPLACE_CACHE", cache.path());
  static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it, {.cached = false}));
  CHECK(compiler.starts() == ++starts);
  CHECK(cache.files().empty());
}

TEST_CASE("A shared folder is read and never written") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  compile_once();
  const std::string shared = cache.folder.file("shared");
  fs::rename(cache.path(), shared);
  test::set_env("ANYPLACE_CACHE_SHARED", shared);
  compile_once();
  CHECK(compiler.starts() == 1);
  CHECK(cache.files().empty());
}

TEST_CASE("What was used least recently goes when the cache is full") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const Device device("cpu_sim:0");
  const auto compile_number = [&](int number) {
    static_cast<void>(Module::compile(device, doubles_it, {.defines = {"NUMBER=" + std::to_string(number)}}));
  };
  compile_number(0);
  const std::uintmax_t one = fs::file_size(cache.files().at(0));
  test::set_env("ANYPLACE_CACHE_BYTES", std::to_string(one * 5 / 2));
  compile_number(1);
  compile_number(0);  // used again
  compile_number(2);
  CHECK(cache.files().size() == 2);
  CHECK(compiler.starts() == 3);
  compile_number(0);
  CHECK(compiler.starts() == 3);
  compile_number(1);
  CHECK(compiler.starts() == 4);
  test::set_env("ANYPLACE_CACHE_BYTES", std::to_string(one / 1024 + 1) + "KiB");  // room for one
  compile_number(3);
  CHECK(cache.files().size() == 1);
  CHECK(kernel_cache::warning().empty());
  for (const char* const value : {"abc", "-5", "10MB", "1 KiB"}) {
    INFO(value);
    test::set_env("ANYPLACE_CACHE_BYTES", value);
    CHECK(kernel_cache::warning().find("ANYPLACE_CACHE_BYTES") != std::string::npos);
  }
}

TEST_CASE("Sixteen processes that want the same kernels at once compile each once") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  constexpr std::size_t process_count = 16, kernel_count = 2;
  std::vector<test::Process> processes;
  for (std::size_t i = 0; i < process_count; ++i) {
    processes.emplace_back([i] {
      for (std::size_t kernel = 0; kernel < kernel_count; ++kernel) {
        const std::string number = "NUMBER=" + std::to_string((i + kernel) % kernel_count);
        static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it, {.defines = {number}}));
      }
      ::_exit(0);
    });
  }
  for (test::Process& process : processes) {
    const test::Ended ended = process.end();
    INFO(ended.out);
    CHECK(ended.status == 0);
  }
  CHECK(compiler.starts() == kernel_count);
  CHECK(cache.files().size() == kernel_count);
}

}  // namespace compile_cache
