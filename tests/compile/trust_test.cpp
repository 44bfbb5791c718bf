// SPDX-License-Identifier: Apache-2.0
// What compiles is taken only from where nobody else may write: the helper, the dialect's headers, and a vendor's
// library that is found below a folder. Plugins of compilers are in tests/loader/trust.cpp.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "anyplace/kernel_cache.h"
#include "compile/support.h"
#include "support/process.h"

namespace compile_trust {

using namespace compile_test;
using Catch::Contains;
namespace fs = std::filesystem;

Error compile_error() {
  const OwnCache cache;
  const ScriptedCompiler compiler("exit 1");
  return test::required_error([] { static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it)); });
}

TEST_CASE("The helper isn't started where another user could have written it") {
  const test::TempDir folder;
  const std::string helper = folder.write("anyplace_compile_helper", "#!/bin/sh\nkill -9 $PPID\n");
  REQUIRE(::chmod(helper.c_str(), 0777) == 0);
  test::set_env("ANYPLACE_BACKEND_PATH", folder.path().string());
  const Error error = compile_error();
  CHECK(error.code() == ErrorCode::plugin_refused);
  CHECK_THAT(std::string(error.problem()), Contains(helper + " may be written by every user (its mode is 0777)"));
  CHECK_THAT(std::string(error.remedy()), Contains("chmod go-w " + helper) && Contains("ANYPLACE_TRUSTED_FOLDERS"));
}

TEST_CASE("A helper that can't be executed is passed over for the next one") {
  const test::TempDir folder;
  folder.write("anyplace_compile_helper", "");
  test::set_env("ANYPLACE_BACKEND_PATH", folder.path().string());
  CHECK(compile_error().code() == ErrorCode::compile_failed);  // the compiler's exit 1
}

/// How often a compiler is started for one source that is compiled twice with this cache.
std::size_t starts_with_cache(const fs::path& folder) {
  const ScriptedCompiler compiler(as_it_is);
  test::set_env("ANYPLACE_CACHE", folder.string());
  for (int i = 0; i < 2; ++i) static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it));
  return compiler.starts();
}

TEST_CASE("A cache isn't used where another user could replace a folder above it, and it is said why") {
  const OwnCache cache;
  const test::TempDir folder;
  const fs::path open = folder / "open", kernels = open / "own/kernels";
  fs::create_directories(kernels);
  CHECK(starts_with_cache(kernels) == 1);
  CHECK(kernel_cache::problem().empty());
  fs::permissions(open, fs::perms::all);
  CHECK(starts_with_cache(kernels) == 2);
  CHECK(kernel_cache::folder().empty());
  CHECK_THAT(kernel_cache::problem(), Contains(open.string() + " may be written by every user (its mode is 0777)") &&
                                          Contains("chmod go-w " + open.string()) &&
                                          Contains("ANYPLACE_TRUSTED_FOLDERS"));
  test::set_env("ANYPLACE_TRUSTED_FOLDERS", open.string());
  CHECK(starts_with_cache(kernels) == 1);
  test::set_env("ANYPLACE_CACHE", "off");
  CHECK(kernel_cache::problem() == "ANYPLACE_CACHE is off");
}

TEST_CASE("A shared cache isn't used where another user could replace a folder above it") {
  const OwnCache cache;
  const test::TempDir folder;
  const fs::path open = folder / "open", kernels = open / "kernels";
  fs::create_directories(open);
  const ScriptedCompiler compiler(as_it_is);
  const auto compile_once = [] { static_cast<void>(Module::compile(Device("cpu_sim:0"), doubles_it)); };
  compile_once();
  fs::rename(cache.path(), kernels);
  test::set_env("ANYPLACE_CACHE_SHARED", kernels.string());
  compile_once();
  CHECK(compiler.starts() == 1);
  fs::permissions(open, fs::perms::all);
  compile_once();
  CHECK(compiler.starts() == 2);
}

TEST_CASE("The dialect's headers aren't used where another user could have written them") {
  const test::TempDir folder;
  Dl_info info{};
  REQUIRE(::dladdr(reinterpret_cast<const void*>(&compilers), &info) != 0);
  const fs::path library = fs::canonical(info.dli_fname).parent_path();
  const fs::path dialect = folder / "anyplace_dialect";
  fs::create_directory(dialect);
  fs::copy_file(library / "anyplace_dialect/sum", dialect / "sum");
  fs::permissions(dialect, fs::perms::all);
  test::set_env("ANYPLACE_BACKEND_PATH", folder.path().string());
  const Error error = compile_error();
  CHECK(error.code() == ErrorCode::plugin_refused);
  CHECK_THAT(std::string(error.problem()), Contains(dialect.string() + " may be written by every user"));
}

/// What a process that has loaded a driver for CUDA 12.8 says of NVRTC: the library that it would use, or why none.
std::string nvrtc_of_driver(const std::string& driver) {
  const test::Ended ended = test::in_child([&] {
    test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12080");
    if (::dlopen(driver.c_str(), RTLD_NOW) == nullptr) return 1;
    for (const Compiler& one : compilers()) {
      if (one.name == "nvrtc") std::printf("%s", (one.usable ? one.library : one.reason).c_str());
    }
    return 0;
  });
  CHECK(ended.status == 0);
  return ended.out;
}

/// The double of CUDA's driver; "" if it isn't built.
std::string double_of_driver() {
  const std::string doubles = std::string(ANYPLACE_TEST_DOUBLES) + ":";
  const std::size_t end = doubles.find("/cuda:");
  if (end == std::string::npos) return "";
  const std::size_t begin = doubles.rfind(':', end) + 1;  // 0 where it is the first one
  return doubles.substr(begin, end - begin) + "/cuda/libcuda.so.1";
}

/// Puts NVRTC's double, of CUDA 12, into a folder that every user may write: it is used only if that is trusted. The
/// driver is older than an NVRTC 13 that this machine may have.
void check_nvrtc_in(const fs::path& folder) {
  const std::string driver = double_of_driver();
  const fs::path library = folder / "libnvrtc.so.12";
  fs::create_directories(folder);
  fs::copy_file(ANYPLACE_TEST_PLUGINS "/nvrtc/libnvrtc.so.12", library);
  fs::permissions(folder, fs::perms::all);
  const std::string why = library.string() + " isn't loaded: " + folder.string() + " may be written by every user";
  const std::string found = driver.empty() ? "" : nvrtc_of_driver(driver);
  const bool is_refused = found.find(why) != std::string::npos;
  if (driver.empty() || (!is_refused && found.find("/libnvrtc.so.12") != std::string::npos)) {
    CHECK(found != library.string());
    std::printf("ANYPLACE_TEST_SKIPPED: the double of cuda isn't built, or this machine has NVRTC 12\n");
    return;
  }
  CHECK((is_refused || found.find("/libnvrtc.so.13") != std::string::npos));  // another one is used, or none
  test::set_env("ANYPLACE_TRUSTED_FOLDERS", folder.string());
  CHECK(nvrtc_of_driver(driver) == library.string());
}

TEST_CASE("A vendor's library in a folder that a variable names isn't used where another user could have written it") {
  const test::TempDir toolkit;
  test::set_env("CUDA_PATH", toolkit.path().string());
  check_nvrtc_in(toolkit / "lib64");
}

TEST_CASE("A vendor's library in a package of Python's isn't used where another user could have written it") {
  const test::TempDir python;
  const std::string packages = python.file("site-packages");
  fs::create_directory(packages);
  // A process that runs Python has files of the packages mapped.
  test::write_file(packages + "/mapped", "x");
  const int file = ::open((packages + "/mapped").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0) != MAP_FAILED);
  ::close(file);
  check_nvrtc_in(packages + "/nvidia/cuda_nvrtc/lib");
}

}  // namespace compile_trust
