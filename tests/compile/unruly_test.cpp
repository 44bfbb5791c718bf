// SPDX-License-Identifier: Apache-2.0
// A compiler that crashes, hangs, exits, prints or allocates without end, or breaks the boundary's rules.
#include <signal.h>

#include <catch2/catch.hpp>
#include <string>

#include "compile/support.h"

namespace compile_unruly {

using namespace compile_test;
using test::required_error;

/// An empty folder for temporary files, in which nothing is to be left.
struct Unruly {
  OwnCache cache;
  test::TempDir temporary;
  Unruly() {
    test::set_env("TMPDIR", temporary.path());
    register_plugin(plugin_file("unruly"));
  }
  ~Unruly() { CHECK(std::filesystem::is_empty(temporary.path())); }

  Error error_of(const std::string& source, CompileOptions options = {}) const {
    options.compiler = "unruly";
    Error error = required_error([&] { static_cast<void>(Module::compile(Device("cpu_sim:0"), source, options)); });
    INFO(error.what());
    CHECK(cache.files().empty());
    return error;
  }
};

bool says(const Error& error, const std::string& text) {
  INFO(error.what());
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST_CASE("A compiler that crashes, exits or throws is an Error that says so") {
  const Unruly unruly;
  const Error crash = unruly.error_of("crash");
  CHECK(crash.code() == ErrorCode::backend_failed);
  CHECK(says(crash, "signal 11"));
  CHECK(says(unruly.error_of("exit"), "without a result"));
  CHECK(says(unruly.error_of("throw"), "thrown by the compiler"));
}

TEST_CASE("After a compiler that crashes the next one is asked, and what is said names both") {
  const Unruly unruly;
  const Device device("cpu_sim:0");
  const std::string source = std::string("crash\n") + doubles_it;
  const CompileOptions both{.defines = {"crash="}, .compiler = "unruly,host"};
  CHECK(run(device, Module::compile(device, source, both), "twice") == std::vector<float>{2, 4, 6});
  const std::string targets[] = {"cpu_sim"};
  const CompiledKernels made = compile(source, targets, both);
  CHECK(made.compilers() == std::vector<std::string>{"host"});
  CHECK(made.log().find("the compiler unruly failed: its process was ended by signal 11") != std::string::npos);

  const auto error_of = [&] {
    return required_error([&] { static_cast<void>(Module::compile(device, source, {.compiler = "unruly,host"})); });
  };
  const Error failed = error_of();
  CHECK(failed.code() == ErrorCode::compile_failed);
  CHECK(says(failed, "host can't compile the source"));
  CHECK(says(failed, "the compiler unruly failed"));
  test::set_env("PATH", "/nowhere");
  const Error missing = error_of();
  CHECK(missing.code() == ErrorCode::backend_failed);
  CHECK(says(missing, "signal 11"));
  CHECK(says(missing, "apt-get install g++"));
}

TEST_CASE("A compiler that hangs is ended at the timeout, with all that it has started") {
  const Unruly unruly;
  const test::TempDir folder;
  const std::string file = folder.file("numbers");
  const Error error = unruly.error_of("hang", {.name = file, .timeout = std::chrono::seconds(5)});
  CHECK(error.code() == ErrorCode::timeout);
  std::ifstream numbers(file);
  for (pid_t process = 0; numbers >> process;) CHECK(::kill(process, 0) != 0);
  CHECK(numbers.eof());
}

#if !defined(ANYPLACE_TEST_SANITIZED)  // a sanitizer's address space is larger than any limit
TEST_CASE("A compiler that wants all memory gets what the limit allows") {
  const Unruly unruly;
  const Error error = unruly.error_of("memory", {.memory_limit = std::uint64_t{1} << 30});
  CHECK(error.code() == ErrorCode::out_of_memory);
  CHECK(says(
      error,
      "the compiler unruly failed: it may use 1073741824 bytes of addresses, which is CompileOptions::memory_limit"));
}
#endif

TEST_CASE("A compiler that makes a file without end is ended") {
  const Unruly unruly;
  CHECK(says(unruly.error_of("disk"), "signal 25"));
}

TEST_CASE("Of a gigabyte that a compiler prints the beginning is kept") {
  const Unruly unruly;
  const Error printed = unruly.error_of("print");
  CHECK(says(printed, "signal 6"));
  CHECK(says(printed, "xxxx"));
  CHECK(std::string(printed.what()).size() < 100'000);
  const Error logged = unruly.error_of("log");
  CHECK(logged.code() == ErrorCode::compile_failed);
  CHECK(logged.vendor_text().starts_with("the beginning\n"));
  CHECK(logged.vendor_text().size() < 10'000'000);
}

TEST_CASE("A compiler that breaks the boundary's rules is an Error") {
  const Unruly unruly;
  CHECK(says(unruly.error_of("nothing"), "gave no image"));
  CHECK(unruly.error_of("status").code() == ErrorCode::backend_failed);
  const Error unknown = unruly.error_of("what?");
  CHECK(unknown.code() == ErrorCode::internal);
  CHECK(says(unknown, "it doesn't know the word (UNRULY_WORD)"));
}

TEST_CASE("An image that the device refuses is an Error of the load") {
  const OwnCache cache;
  register_plugin(plugin_file("unruly"));
  const auto load = [] { static_cast<void>(Module::compile(Device("cpu_sim:0"), "junk", {.compiler = "unruly"})); };
  CHECK(test::code_of(load) == ErrorCode::invalid_image);
}

TEST_CASE("In the application's process a compiler compiles as well, and what it says is the same") {
  const Unruly unruly;
  const Device device("cpu_sim:0");
  const Module module = Module::compile(device, doubles_it, {.in_process = true, .cached = false});
  CHECK(run(device, module, "twice") == std::vector<float>{2, 4, 6});
  CHECK(unruly.error_of("log", {.in_process = true}).code() == ErrorCode::compile_failed);
  CHECK(says(unruly.error_of("what?", {.in_process = true}), "it doesn't know the word"));
  const Error error =
      required_error([&] { static_cast<void>(Module::compile(device, "#error it can't be\n", {.in_process = true})); });
  CHECK(error.vendor_text().find("kernels.cu:1:") != std::string::npos);
}

}  // namespace compile_unruly
