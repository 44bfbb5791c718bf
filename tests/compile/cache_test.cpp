// SPDX-License-Identifier: Apache-2.0
// The cache of compiled kernels.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "compile/support.h"

namespace compile_cache {

using namespace compile_test;
namespace fs = std::filesystem;

void compile_once() { static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it)); }

TEST_CASE("The same source is compiled once") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  for (int i = 0; i < 3; ++i) compile_once();
  CHECK(compiler.starts() == 1);
  REQUIRE(cache.files().size() == 1);  // and no lock is left
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
                                {.defines = {"A\nB"}},
                                {.includes = {"/tmp"}},
                                {.fast_math = true},
                                {.debug = true},
                                {.compiler_options = {"-funroll-loops"}, .compiler = "host"}};
  std::size_t starts = 0;
  for (const CompileOptions& options : all) {
    const bool compiles =
        test::code_of([&] { static_cast<void>(Module::compile(device, doubles_it, options)); }) == ErrorCode::ok;
    CHECK(compiler.starts() == ++starts);
    CHECK(cache.files().size() <= starts);
    static_cast<void>(compiles);
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
  for (const std::string& bad : {std::string(), std::string("x"), bytes.substr(0, bytes.size() / 2), flipped,
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
  test::set_env("ANYPLACE_CACHE", cache.path());
  static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it, {.cached = false}));
  CHECK(compiler.starts() == 4);
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
}

TEST_CASE("Sixteen processes that want the same kernel at once compile it once") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto error = test::error_of([] { compile_once(); });
      if (error) std::fprintf(stderr, "%s\n", error->what());
      ::_exit(error ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(compiler.starts() == 1);
  CHECK(cache.files().size() == 1);
}

}  // namespace compile_cache
