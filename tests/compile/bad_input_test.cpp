// SPDX-License-Identifier: Apache-2.0
// Sources, options and compilers that are wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "compile/support.h"

namespace compile_bad_input {

using namespace compile_test;
using test::required_error;

Error compile_error(const std::string& source, const CompileOptions& options = {}) {
  return required_error([&] { static_cast<void>(Module::compile(Device("cpu_sim:0"), source, options)); });
}

TEST_CASE("A source with an error is compile_failed, with the caller's file and line and the whole log") {
  const OwnCache cache;
  const Error error = compile_error("// first line\nextern \"C\" __global__ void bad(float* data) { data = wrong; }\n",
                                    {.name = "mine.cu"});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::compile_failed);
  CHECK(error.vendor_text().find("mine.cu:2:") != std::string::npos);
  CHECK(error.vendor_text().find("wrong") != std::string::npos);
  CHECK(cache.files().empty());
}

TEST_CASE("A name expression that isn't there is compile_failed and named") {
  const OwnCache cache;
  const Error error = compile_error(doubles_it, {.name_expressions = {"scale<float>"}});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::compile_failed);
  CHECK(error.vendor_text().find("scale<float>") != std::string::npos);
}

TEST_CASE("A source that can't be one is refused before a compiler is started") {
  const OwnCache cache;
  const ScriptedCompiler compiler(as_it_is);
  const struct {
    std::string source;
    const char* says;
  } bad[] = {{"", "the source is empty"},
             {std::string("int x;\0int y;", 13), "contains a NUL, at byte 6"},
             {std::string((std::size_t{64} << 20) + 1, ' '), "the limit is 67108864"}};
  for (const auto& one : bad) {
    const Error error = compile_error(one.source);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find(one.says) != std::string::npos);
  }
  CHECK(compiler.starts() == 0);
}

TEST_CASE("UTF-8 in a source and in its name is passed on as it is") {
  const OwnCache cache;
  const std::string comment = "// \xe2\x89\xa5 0 \xf0\x9f\x98\x80\n";
  CHECK_NOTHROW(Module::compile(Device("cpu_sim:0"), comment + doubles_it, {.name = "\xc3\xa4.cu"}));
  const Error error = compile_error(comment + "#error \xe2\x89\xa5 is missing\n", {.name = "\xc3\xa4.cu"});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::compile_failed);
  CHECK(error.vendor_text().find("\xc3\xa4.cu:2:") != std::string::npos);
  CHECK(error.vendor_text().find(" is missing") !=
        std::string::npos);  // a compiler writes the sign as its locale has it
}

TEST_CASE("A byte order mark before a source or a header of it is skipped") {
  const OwnCache cache;
  const test::TempDir folder;
  const std::string mark = "\xef\xbb\xbf";
  std::ofstream(folder.file("shared.h"))
      << mark << "inline __device__ float* own() { extern __shared__ float all[]; return all; }\n";
  const CompileOptions options{.includes = {folder.path().string()}};
  const std::string source = mark + "#include \"shared.h\"\n" + doubles_it;
  const Device device("cpu_sim:0");
  CHECK(run(device, Module::compile(device, mark + doubles_it), "twice") == doubled);
  CHECK(run(device, Module::compile(device, source, options), "twice") == doubled);
}

TEST_CASE("Options that can't be are refused in words") {
  const OwnCache cache;
  const struct {
    CompileOptions options;
    const char* says;
  } bad[] = {{{.standard = 14}, "it is 17 or 20"},
             {{.timeout = std::chrono::nanoseconds(0)}, "the timeout isn't more than 0"},
             {{.name = "a\"b"}, "a quote"},
             {{.defines = {"=1"}}, "one has no name"},
             {{.defines = {std::string("A\0B", 3)}}, "contains a NUL"},
             {{.includes = {""}}, "has no name"},
             {{.name_expressions = {""}}, "a name expression is empty"},
             {{.name_expressions = {"a\nb"}}, "a line end"},
             {{.compiler = "tcc"}, "there is"}};
  for (const auto& one : bad) {
    const Error error = compile_error(doubles_it, one.options);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find(one.says) != std::string::npos);
  }
  CHECK(test::code_of([] { static_cast<void>(compile(doubles_it, {})); }) == ErrorCode::invalid_argument);
}

TEST_CASE("A target that nobody knows is refused") {
  const OwnCache cache;
  for (const char* const name : {"sm_eighty", "sm_80x", "sm_"}) {
    INFO(name);
    const std::string targets[] = {name};
    CHECK(test::code_of([&] { static_cast<void>(compile(doubles_it, targets)); }) == ErrorCode::no_such_backend);
  }
}

TEST_CASE("Without a compiler the Error says what to install") {
  const OwnCache cache;
  test::set_env("PATH", "/nowhere");
  const Error error = compile_error(doubles_it);
  INFO(error.what());
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(std::string(error.what()).find("apt-get install g++") != std::string::npos);
  const struct {
    const char *format, *compiler, *says;
  } others[] = {{"ptx", "clang", "apt-get install clang-14"}, {"hsaco", "clang", "lld-14"}};
  for (const auto& one : others) {
    const std::string targets[] = {one.format};
    const Error other =
        required_error([&] { static_cast<void>(compile(doubles_it, targets, {.compiler = one.compiler})); });
    INFO(other.what());
    CHECK(std::string(other.what()).find(one.says) != std::string::npos);
  }
}

TEST_CASE("Where OpenCL C alone is taken the Error says who compiles that") {
  const OwnCache cache;
  const std::string targets[] = {"opencl_c"};
  const Error error = required_error([&] { static_cast<void>(compile(doubles_it, targets)); });
  INFO(error.what());
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(std::string(error.what()).find("the constructor of Module takes such a text") != std::string::npos);
}

TEST_CASE("A compiler that hangs is ended at the timeout, with what it has started") {
  const OwnCache cache;
  const ScriptedCompiler compiler("sleep 1000 & echo $! >$LOG.child; wait");
  const Error error = compile_error(doubles_it, {.timeout = std::chrono::seconds(2)});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::timeout);
  std::ifstream file(compiler.folder.file("log.child"));
  pid_t child = 0;
  REQUIRE(file >> child);
  while (::kill(child, 0) == 0) std::this_thread::yield();  // it was ended, and waits for its reaper at most
  CHECK(cache.files().empty());
}

TEST_CASE("A program that crashes, or prints without end, is an Error with the beginning of what it said") {
  const OwnCache cache;
  {
    const ScriptedCompiler compiler("echo before the crash; kill -SEGV $$");
    const Error error = compile_error(doubles_it);
    INFO(error.what());
    CHECK(error.code() == ErrorCode::backend_failed);
    CHECK(std::string(error.what()).find("signal 11") != std::string::npos);
  }
  {
    const ScriptedCompiler compiler("echo the first line; head -c 100000000 /dev/zero | tr '\\0' x; exit 1");
    const Error error = compile_error(doubles_it);
    CHECK(error.code() == ErrorCode::compile_failed);
    CHECK(error.vendor_text().find("the first line") == 0);
    CHECK(error.vendor_text().size() < 10'000'000);
  }
}

TEST_CASE("A template without end, an #error and an option that nobody knows are compile_failed, with the log") {
  const OwnCache cache;
  const char* const endless =
      "template <int depth> struct Deep { static constexpr auto value = Deep<depth + 1>::value; };\n"
      "extern \"C\" __global__ void deep(int* x) { *x = Deep<0>::value; }\n";
  CHECK(compile_error(endless).vendor_text().find("Deep<") != std::string::npos);
  CHECK(compile_error("#error it can't be\n").vendor_text().find("kernels.cu:1:") != std::string::npos);
  const Error option = compile_error(doubles_it, {.compiler_options = {"--no-such-option"}, .compiler = "host"});
  CHECK(option.code() == ErrorCode::compile_failed);
  CHECK(option.vendor_text().find("no-such-option") != std::string::npos);
}

TEST_CASE("A source without a kernel makes a module without one") {
  const OwnCache cache;
  const Module module = Module::compile(Device("cpu_sim:0"), "int x;\n");
  CHECK(test::code_of([&] { static_cast<void>(module.kernel("x")); }) == ErrorCode::no_such_kernel);
}

TEST_CASE("An architecture that can't be is an Error that names it") {
  const OwnCache cache;
  for (const Compiler& one : compilers()) {
    if (!one.usable || one.name == "host" || one.formats.empty()) continue;
    const bool is_ptx = one.formats.front() == "ptx";
    const std::string targets[] = {is_ptx ? "sm_1" : "gfx1"};
    INFO(one.name);
    const Error error =
        required_error([&] { static_cast<void>(compile(doubles_it, targets, {.compiler = one.name})); });
    const std::string all = error.what() + error.vendor_text();
    INFO(all);
    CHECK(all.find(targets[0]) != std::string::npos);
  }
}

TEST_CASE("PTX is for the architecture that was named; one that a compiler doesn't know is unsupported") {
  const OwnCache cache;
  for (const Compiler& one : compilers()) {
    const bool makes_ptx = std::find(one.formats.begin(), one.formats.end(), "ptx") != one.formats.end();
    if (!one.usable || !makes_ptx) continue;
    for (const std::string name : {"sm_80", "sm_86", "sm_90a", "sm_80a", "sm_130", "sm_999"}) {
      INFO(one.name << " for " << name);
      const std::string targets[] = {name};
      CompiledKernels made;
      const auto failure = test::error_of([&] { made = compile(doubles_it, targets, {.compiler = one.name}); });
      if (!failure) {
        const KernelImage image = made.images().images()[0];
        const std::string_view text(static_cast<const char*>(image.data), image.size);
        CHECK(text.find(".target " + name + "\n") != text.npos);
        continue;
      }
      INFO(failure->what());
      CHECK(name != "sm_80");
      CHECK(failure->code() == ErrorCode::unsupported);
      CHECK(std::string(failure->what()).find("it knows sm_") != std::string::npos);
    }
  }
}

TEST_CASE("An include that includes itself ends") {
  const OwnCache cache;
  const test::TempDir folder;
  std::ofstream(folder.file("endless.h")) << "#include \"endless.h\"\n";
  const Error error =
      compile_error(std::string("#include \"endless.h\"\n") + doubles_it, {.includes = {folder.path().string()}});
  INFO(error.what());
  CHECK(error.code() == ErrorCode::compile_failed);
}

TEST_CASE(
    "A compilation in a forked child of a process that has used a device is refused, and one in its own process "
    "isn't") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  const pid_t child = ::fork();
  if (child == 0) {
    const auto error = test::error_of([&] { static_cast<void>(Module::compile(device, doubles_it)); });
    ::_exit(error && error->code() == ErrorCode::forked ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_NOTHROW(Module::compile(device, doubles_it));
}

}  // namespace compile_bad_input
