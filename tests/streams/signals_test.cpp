// SPDX-License-Identifier: Apache-2.0
// The library's own threads and the application's signals.
#include <anyplace/anyplace.h>

#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "support/temp_dir.h"

namespace signals_test {

using namespace anyplace;

namespace {

/// The value of the line of a thread's status; "" if the thread has ended.
std::string status_of(const std::filesystem::path& thread, const std::string& key) {
  const std::string status = test::read_file(thread / "status");
  const std::size_t at = status.find(key + ":\t");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size() + 2;
  return status.substr(begin, status.find('\n', begin) - begin);
}

/// The signals that each of the library's threads blocks, a bit each, by the threads' names.
std::map<std::string, std::uint64_t> blocked_signals() {
  std::map<std::string, std::uint64_t> blocked;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = test::read_file(thread.path() / "comm");
    if (name.rfind("anyplace-", 0) != 0) continue;
    // The C library blocks all of them until a thread has begun.
    while (status_of(thread, "voluntary_ctxt_switches") == "0") std::this_thread::yield();
    const std::string mask = status_of(thread, "SigBlk");
    if (!mask.empty()) blocked[name.substr(0, name.size() - 1)] = std::stoull(mask, nullptr, 16);
  }
  return blocked;
}

}  // namespace

TEST_CASE("The library's threads take no signal of the application's, and those of their own faults") {
  const Stream stream(Device("cpu_sim:0"));
  const auto blocked = blocked_signals();
  CHECK(blocked.count("anyplace-serve") == 1);
  CHECK(blocked.count("anyplace-poll") == 1);
  for (const auto& [name, signals] : blocked) {
    INFO(name);
    const auto blocks = [mask = signals](int number) { return (mask >> (number - 1) & 1) != 0; };
    for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF}) CHECK(blocks(number));
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) CHECK_FALSE(blocks(number));
  }
}

}  // namespace signals_test
