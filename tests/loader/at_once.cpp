// SPDX-License-Identifier: Apache-2.0
// Loading from several threads: once per name, and no name waits for another.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "anyplace/anyplace.h"
#include "loader/files.h"
#include "support/threads.h"

namespace at_once_cases {

using anyplace::Device;
using anyplace_test::Folder;
using anyplace_test::search_in;

TEST_CASE("A backend asked for by many threads at once is loaded once") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "shy", "once=" + folder.file("was_here"));
  search_in(folder.path());
  std::atomic<int> good{0};
  test::on_threads(16, [&](int) {
    if (Device("shy").index() == 0) ++good;
  });
  CHECK(good == 16);
}

TEST_CASE("A plugin that takes its time holds up nobody who asks for another") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.file("gate").c_str(), 0600) == 0);
  anyplace_test::add_mimic(folder, "slow", "wait=" + folder.file("gate"));
  anyplace_test::add_mimic(folder, "quick", "good");
  search_in(folder.path());
  std::atomic<int> index{-1};
  std::thread waiting([&] { index = Device("slow:0").index(); });
  // The open returns when the entry of `slow` has opened the other end; it stays in there until this one is closed.
  const int gate = ::open(folder.file("gate").c_str(), O_WRONLY | O_CLOEXEC);
  CHECK(gate >= 0);
  CHECK(Device("quick:0").index() == 0);
  CHECK(Device("cpu_sim:0").index() == 0);
  CHECK(anyplace::backend_names().size() >= 3);
  CHECK(anyplace_test::candidate_at(folder.plugin("slow"))->state == anyplace::PluginCandidate::State::unopened);
  CHECK(index == -1);
  ::close(gate);
  waiting.join();
  CHECK(index == 0);
}

TEST_CASE("Different backends are loaded by different threads at once") {
  const Folder folder;
  for (int i = 0; i < 8; ++i) anyplace_test::add_mimic(folder, "b" + std::to_string(i), "good");
  search_in(folder.path());
  std::atomic<int> good{0};
  test::on_threads(8, [&](int i) {
    if (Device("b" + std::to_string(i)).index() == 0) ++good;
    (void)anyplace::plugin_candidates();
  });
  CHECK(good == 8);
}

}  // namespace at_once_cases
