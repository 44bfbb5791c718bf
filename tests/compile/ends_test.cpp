// SPDX-License-Identifier: Apache-2.0
// Processes that end, are killed or fork while they compile.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "compile/support.h"
#include "support/process.h"

namespace compile_ends {

using namespace compile_test;

/// Runs a process that compiles on another thread, by a compiler that hangs, and then ends as `end` does. Nothing of it
/// may be left: no process, no file, no lock.
void check_nothing_is_left(void (*end)()) {
  const OwnCache cache;
  const test::TempDir temporary, folder;
  const std::string file = folder.file("numbers");
  test::set_env("TMPDIR", temporary.path());
  test::Process process([&] {
    register_plugin(plugin_file("unruly"));
    std::thread([&] {
      static_cast<void>(Module::compile(Device("cpu_sim:0"), "hang", {.name = file, .compiler = "unruly"}));
    }).detach();
    wait_until([&] { return std::filesystem::exists(file); });
    end();
  });
  process.end();
  wait_until([&] { return std::filesystem::is_empty(temporary.path()); });
  std::ifstream numbers(file);
  for (pid_t one = 0; numbers >> one;) CHECK(::kill(one, 0) != 0);
  CHECK(numbers.eof());
  CHECK(cache.files().empty());
}

TEST_CASE("A process that exits while it compiles leaves nothing") {
  check_nothing_is_left([] { std::exit(0); });
}

TEST_CASE("A process that is killed while it compiles leaves nothing") {
  check_nothing_is_left([] { ::raise(SIGKILL); });
}

TEST_CASE(
    "A process that forks while it compiles keeps nobody from compiling, and the forked one may do what it likes") {
  const OwnCache cache;
  const test::TempDir folder;
  const std::string go = folder.file("go");
  const ScriptedCompiler compiler("while [ ! -e " + go + " ]; do sleep 0.01; done; exec $CXX \"$@\"");
  const Device device("cpu_sim:0");
  std::thread compiling([&] { static_cast<void>(Module::compile(device, doubles_it)); });
  wait_until([&] { return compiler.starts() == 1; });
  const pid_t forked = ::fork();
  if (forked == 0) {
    while (true) ::pause();  // it has all descriptors that weren't closed, that of the lock among them
  }
  std::ofstream(go) << "\n";
  compiling.join();
  std::filesystem::remove(cache.files().at(0));
  CHECK_NOTHROW(Module::compile(device, doubles_it, {.timeout = std::chrono::minutes(4)}));
  CHECK(compiler.starts() == 2);
  ::kill(forked, SIGKILL);
  ::waitpid(forked, nullptr, 0);
}

TEST_CASE("An application that ignores its children's ends, or waits for them itself, compiles") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  ::signal(SIGCHLD, SIG_IGN);
  CHECK_NOTHROW(Module::compile(device, doubles_it));
  CHECK(test::code_of([&] { static_cast<void>(Module::compile(device, "#error no\n")); }) == ErrorCode::compile_failed);
}

}  // namespace compile_ends
