// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a job in the deterministic mode (docs/cpu_sim-deterministic.md#ranks), through the plugin's table: each rank
// is a process that runs a hidden case of this file. tests/ranks has communicators under mpirun.
#include <catch2/catch.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "plugin.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace test_ranks_cases {

using namespace cpu_sim_test;

namespace {

/// These would say that the test itself is a rank.
const std::vector<std::string> launchers{"OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "RANK=", "WORLD_SIZE=", "SLURM_"};

struct Scheduled : test::Ended {
  std::string report;
};

/// Starts a program of this file as a rank; the variables say which.
test::Process start(const std::string& program, const test::TempDir& folder, test::Variables variables) {
  variables.insert({{"ANYPLACE_CPU_SIM_MODE", "deterministic"},
                    {"ANYPLACE_CPU_SIM_SEED", "7"},
                    {"ANYPLACE_CPU_SIM_HASH", "1"},
                    {"ANYPLACE_CPU_SIM_REPORT", folder.file("report")}});
  return test::Process({"/proc/self/exe", "[." + program + "]"}, variables, {}, launchers);
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("Given the variables of each launcher, Then the report and its hash are of the job's rank") {
  const test::Variables jobs[] = {
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "2"}},
      {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}},
      {{"RANK", "2"}, {"WORLD_SIZE", "4"}},
      {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}},
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}},
      {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}},
  };
  std::set<std::string> reports;
  for (const test::Variables& job : jobs) {
    const test::TempDir folder;
    const test::Ended ended = start("rank_of_two_streams", folder, job).end();
    INFO(job.begin()->first << ": " << ended.out);
    CHECK(ended.status == 0);
    const std::string report = test::read_file(folder / "report.2");
    CHECK_THAT(first_line_of(report), Catch::Contains("\"seed\":7,\"rank\":2,\"ranks\":4"));
    CHECK_THAT(ended.out, Catch::Contains("anyplace: cpu_sim: rank 2: schedule "));
    reports.insert(report);
  }
  CHECK(reports.size() == 1);
}

TEST_CASE("Given one seed for a job, Then each rank has a schedule of its own, and the same one in each run") {
  std::set<std::string> hashes;
  for (const int rank : {0, 1, 2, 3}) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      const test::TempDir folder;
      const test::Ended ended =
          start("rank_of_two_streams", folder, {{"RANK", std::to_string(rank)}, {"WORLD_SIZE", "4"}}).end();
      CHECK(ended.status == 0);
      const std::string report = test::read_file(folder / ("report" + (rank == 0 ? "" : "." + std::to_string(rank))));
      if (round == 0) first = report;
      CHECK(report == first);
    }
    hashes.insert(first.substr(first.rfind("\"hash\"")));
  }
  CHECK(hashes.size() == 4);
}

TEST_CASE("Given a job of one rank, Then its report is that of a process that no launcher has started") {
  const test::TempDir folder, other;
  CHECK(start("rank_of_two_streams", folder, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}).end().status == 0);
  CHECK(start("rank_of_two_streams", other, {}).end().status == 0);
  CHECK(test::read_file(folder / "report") == test::read_file(other / "report"));
}

TEST_CASE("Given a rank that isn't one, Then the plugin is refused with the variable and what is allowed") {
  const struct {
    const char* rank;
    const char* size;
    const char* says;
  } wrong[] = {{"two", "4", "RANK is \"two\""}, {"4", "4", "a number from 0 to 3"}, {"0", "0", "WORLD_SIZE is \"0\""}};
  for (const auto& [rank, size, says] : wrong) {
    const test::TempDir folder;
    const test::Ended ended = start("rank_of_two_streams", folder, {{"RANK", rank}, {"WORLD_SIZE", size}}).end();
    INFO(ended.out);
    CHECK(ended.status != 0);
    CHECK_THAT(ended.out, Catch::Contains(says));
  }
}

TEST_CASE("Given messages that come in one order or the other, Then a seed's report is the same, and seeds differ") {
  std::set<std::string> arrivals;
  for (int seed = 0; seed < 10; ++seed) {
    std::set<std::string> reports;
    for (const char* order : {"ab", "ba", "late"}) {
      const test::TempDir folder;
      const test::Ended ended = start("rank_of_messages", folder,
                                      {{"RANK", "0"},
                                       {"WORLD_SIZE", "2"},
                                       {"ANYPLACE_CPU_SIM_SEED", std::to_string(seed)},
                                       {"TEST_ORDER", order}})
                                    .end();
      INFO(seed << order << ended.out);
      CHECK(ended.status == 0);
      const std::string report = test::read_file(folder / "report");
      CHECK_THAT(report, Catch::Contains("\"end\":1") && Catch::Contains("\"uncontrolled\":0"));
      reports.insert(report);
      std::string streams;
      for (std::size_t at = 0; (at = report.find("\"what\":\"message arrives\"", at)) != std::string::npos; ++at) {
        const std::size_t stream = report.rfind("\"stream\":", at);
        streams += report.substr(stream, report.find(',', stream) - stream);
      }
      arrivals.insert(streams);
    }
    CHECK(reports.size() == 1);
  }
  CHECK(arrivals.size() == 2);
}

TEST_CASE("Given a message that comes after other work of the rank only, Then every schedule ends") {
  bool was_said = false;
  for (const char* strategy : {"random", "eager", "lazy", "round_robin"}) {
    const test::TempDir folder;
    const test::Ended ended = start("rank_of_an_answer", folder,
                                    {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"ANYPLACE_CPU_SIM_STRATEGY", strategy}})
                                  .end();
    INFO(strategy << ended.out);
    CHECK(ended.status == 0);
    const std::string report = test::read_file(folder / "report");
    was_said = was_said || report.find("a message didn't come within") != std::string::npos;
  }
  CHECK(was_said);
}

namespace {

/// Runs two ranks that know of each other, with pipes between them. Returns their ends, in the order of ranks.
std::vector<Scheduled> run_two(const std::string& program, const std::string& seed) {
  const test::TempDir folder;
  int pipes[2][2];
  for (auto& each : pipes) REQUIRE(pipe(each) == 0);
  std::vector<test::Process> ranks;
  for (const int rank : {0, 1}) {
    ranks.push_back(start(program, folder,
                          {{"RANK", std::to_string(rank)},
                           {"WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", folder.path().string()},
                           {"ANYPLACE_CPU_SIM_SEED", seed},
                           {"TEST_IN", std::to_string(pipes[rank][0])},
                           {"TEST_OUT", std::to_string(pipes[1 - rank][1])}}));
  }
  for (auto& each : pipes) {
    close(each[0]);
    close(each[1]);
  }
  std::vector<Scheduled> ended(2);
  for (const std::size_t rank : {0, 1}) {
    static_cast<test::Ended&>(ended[rank]) = ranks[rank].end();
    ended[rank].report = test::read_file(folder / (rank == 0 ? "report" : "report.1"));
  }
  return ended;
}

}  // namespace

TEST_CASE("Given ranks that need other work of each other first, Then every seed ends, with one report each") {
  for (const char* seed : {"0", "1", "2", "3"}) {
    const std::vector<Scheduled> first = run_two("ranks_that_answer", seed);
    const std::vector<Scheduled> second = run_two("ranks_that_answer", seed);
    for (const std::size_t rank : {0, 1}) {
      INFO(seed << first[rank].out);
      CHECK(first[rank].status == 0);
      CHECK_THAT(first[rank].report, Catch::Contains("\"uncontrolled\":0"));
      CHECK(first[rank].report == second[rank].report);
    }
  }
}

TEST_CASE("Given ranks that all wait for a message, Then it is a deadlock, and each says what it waits for") {
  const std::vector<Scheduled> ended = run_two("ranks_in_a_deadlock", "1");
  for (const std::size_t rank : {0, 1}) {
    INFO(ended[rank].out);
    CHECK(ended[rank].status == 94);
    CHECK_THAT(ended[rank].out, Catch::Contains("rank " + std::to_string(rank) +
                                                ": deadlock: thread 0 waits in stream_synchronize for"));
    CHECK_THAT(ended[rank].report,
               Catch::Contains("{\"deadlock\":") && Catch::Contains("at \\\"wait for a message\\\""));
  }
}

TEST_CASE("Given ranks of which one has ended, Then the other's wait for a message is a deadlock") {
  const std::vector<Scheduled> ended = run_two("ranks_of_which_one_ends", "1");
  INFO(ended[1].out);
  CHECK(ended[0].status == 0);
  CHECK(ended[1].status == 94);
}

// ---- The programs --------------------------------------------------------------------------------------------------

TEST_CASE("Program: a rank with two streams of eight kernels", "[.rank_of_two_streams]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  int ran = 0;
  for (int step = 0; step < 8; ++step) {
    first.run([&ran] { ++ran; });
    second.run([&ran] { ++ran; });
  }
  CHECK(first.synchronize());
  CHECK(second.synchronize());
  CHECK(ran == 16);
}

TEST_CASE("Program: a rank whose two streams wait for a message each", "[.rank_of_messages]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Gate a(plugin), b(plugin);
  const std::string order = std::getenv("TEST_ORDER");
  std::thread others([&] {
    if (order == "late") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (order == "ba" ? b : a).open();
    if (order == "late") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (order == "ba" ? a : b).open();
  });
  int ran = 0;
  first.run([&ran] { ++ran; });
  first.wait(a);
  first.run([&ran] { ++ran; });
  second.run([&ran] { ++ran; });
  second.wait(b);
  second.run([&ran] { ++ran; });
  CHECK(first.synchronize());
  CHECK(second.synchronize());
  others.join();
  CHECK(ran == 4);
}

TEST_CASE("Program: a rank gets a message when another stream has run a kernel", "[.rank_of_an_answer]") {
  Plugin plugin;
  Stream first(plugin), second(plugin);
  Gate answer(plugin);
  Flag asked;
  first.wait(answer);
  second.run([&] { asked.set(); });
  std::thread others([&] {
    asked.wait();
    answer.open();
  });
  CHECK(first.synchronize());
  CHECK(second.synchronize());
  others.join();
}

namespace {

/// The other rank. What is sent to it opens the gate that it gave to receive() with the same letter.
class Other {
 public:
  Other() : thread_([this] { receive(); }) {}
  ~Other() {
    send('.');
    thread_.join();
  }
  void opens(char letter, Gate& gate) {
    const std::lock_guard lock(mutex_);
    gates_[letter] = &gate;
    changed_.notify_all();
  }
  void send(char letter) const { static_cast<void>(!write(std::atoi(std::getenv("TEST_OUT")), &letter, 1)); }

 private:
  void receive() {
    char letter = 0;
    while (read(std::atoi(std::getenv("TEST_IN")), &letter, 1) == 1 && letter != '.') {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return gates_.contains(letter); });
      Gate* const gate = gates_.at(letter);
      lock.unlock();
      gate->open();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<char, Gate*> gates_;
  std::thread thread_;
};

/// Two streams, of which the first sends `a` and waits for it, and the second sends `b` and waits for it, in the order
/// of the rank.
void exchange(Plugin& plugin, Other& other, bool answers) {
  const bool is_first = std::getenv("RANK") == std::string("0");
  Stream first(plugin), second(plugin);
  Gate a(plugin), b(plugin);
  other.opens('a', a);
  other.opens('b', b);
  // Rank 0 sends `a` at once and `b` when it has `a`; rank 1 sends `a` when its second stream has run.
  if (is_first) {
    first.wait(a);
    if (answers) second.host([&] { other.send('a'); });
    first.host([&] { other.send('b'); });
    second.run([] {});
  } else {
    first.wait(a);
    second.run([] {});
    if (answers) second.host([&] { other.send('a'); });
    second.wait(b);
  }
  CHECK(first.synchronize());
  CHECK(second.synchronize());
}

}  // namespace

TEST_CASE("Program: ranks whose streams send and wait", "[.ranks_that_answer]") {
  Plugin plugin;
  Other other;
  exchange(plugin, other, true);
}

TEST_CASE("Program: ranks whose streams wait and don't send", "[.ranks_in_a_deadlock]") {
  Plugin plugin;
  Other other;
  exchange(plugin, other, false);
}

TEST_CASE("Program: one rank ends, and one waits for it", "[.ranks_of_which_one_ends]") {
  Plugin plugin;
  Stream stream(plugin);
  Gate gate(plugin);
  if (std::getenv("RANK") == std::string("1")) {
    stream.wait(gate);
    CHECK(stream.synchronize());
  }
}

}  // namespace test_ranks_cases
