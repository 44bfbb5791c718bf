// SPDX-License-Identifier: Apache-2.0
// How ranks meet, and what is said where they can't: over TCP, also between two network namespaces, and over a file.
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/anyplace.h"
#include "ranks/launch.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/temp_dir.h"

namespace bootstrap_test {

using namespace anyplace;
using test::Ended;
using test::Process;
using test::Variables;

/// Ranks of cuda, whose engine is NCCL's double: it needs no launcher.
const Variables with_nccl{{"LD_LIBRARY_PATH", RANKS_CUDA_DOUBLE ":" RANKS_NCCL_DOUBLE}};
const std::vector<std::string> meet{RANKS_WORKER, "cuda:0", "-", "meet"};

bool has_doubles() {
  if (!std::string(RANKS_CUDA_DOUBLE).empty()) return true;
  std::cout << "ANYPLACE_TEST_SKIPPED: the double of the CUDA driver is not built\n";
  return false;
}

Variables of_rank(const std::string& rank, const std::string& size, int port) {
  Variables all = with_nccl;
  all.insert(
      {{"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(port)}});
  return all;
}

TEST_CASE("Given RANK and MASTER_ADDR as torchrun sets them then ranks meet, again and again") {
  if (!has_doubles()) return;
  for (const char* const agent : {"False", "True"}) {
    Variables variables = with_nccl;
    variables["TORCHELASTIC_USE_AGENT_STORE"] = agent;
    for (const Ended& ended : test::run_ranks(3, meet, variables)) {
      INFO(ended.out);
      CHECK(ended.status == 0);
      CHECK(ended.out.find("of 3 has met the others twice") != std::string::npos);
    }
  }
}

TEST_CASE("Given a rank twice then both are told") {
  if (!has_doubles()) return;
  const int port = test::free_port();
  std::vector<Process> programs;
  for (const char* const rank : {"0", "1", "1"}) programs.emplace_back(meet, of_rank(rank, "3", port));
  const Ended first = programs[0].end();
  INFO(first.out);
  CHECK(first.status == 1);
  CHECK(first.out.find("invalid_argument: two processes are rank 1; give each a rank of its own, of 0 to 2") !=
        std::string::npos);
  for (const int i : {1, 2}) {
    const Ended other = programs[static_cast<std::size_t>(i)].end();
    INFO(other.out);
    CHECK(other.out.find("two processes are rank 1") != std::string::npos);
  }
}

TEST_CASE("Given other sizes then all are told") {
  if (!has_doubles()) return;
  const int port = test::free_port();
  Process zero(meet, of_rank("0", "2", port));
  Process one(meet, of_rank("1", "3", port));
  for (Process* const program : {&zero, &one}) {
    const Ended ended = program->end();
    INFO(ended.out);
    CHECK(ended.status == 1);
    CHECK(ended.out.find("rank 0 says that there are 2 ranks, and rank 1 says 3") != std::string::npos);
  }
}

TEST_CASE("Given a variable that is unset or wrong then the Error names it and what would be right") {
  const Device device("cpu_sim:0");
  const Variables right{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};
  struct Case {
    const char* name;
    const char* value;  ///< null: unset
    const char* said;
  };
  const Case cases[] = {
      {"RANK", nullptr, "the variable RANK isn't set"},
      {"RANK", "", "the variable RANK isn't set"},
      {"RANK", "one", "the variable RANK is \"one\", which is no whole number; it is 0 to 1"},
      {"RANK", "1.5", "which is no whole number"},
      {"RANK", "2", "the variable RANK is \"2\", which is out of range; it is 0 to 1"},
      {"RANK", "-1", "which is out of range"},
      {"RANK", "99999999999", "which is out of range"},
      {"WORLD_SIZE", nullptr, "the variable WORLD_SIZE isn't set"},
      {"WORLD_SIZE", "0", "the variable WORLD_SIZE is \"0\", which is out of range"},
      {"WORLD_SIZE", "2x", "which is no whole number"},
      {"MASTER_ADDR", nullptr, "the variable MASTER_ADDR isn't set"},
      {"MASTER_PORT", nullptr, "the variable MASTER_PORT isn't set"},
      {"MASTER_PORT", "65536", "the variable MASTER_PORT is \"65536\", which is out of range; it is 1 to 65535"},
  };
  for (const Case& one : cases) {
    for (const auto& [name, value] : right) test::set_env(name.c_str(), value);
    if (one.value == nullptr) {
      test::unset_env(one.name);
    } else {
      test::set_env(one.name, one.value);
    }
    const Error error = test::required_error(ErrorCode::invalid_argument, [&] { Communicator all(device); });
    INFO(error.what());
    CHECK(std::string(error.what()).find(one.said) != std::string::npos);
    CHECK(std::string(error.what()).find("docs/ranks.md") != std::string::npos);
  }
}

TEST_CASE("Given neither mpirun nor RANK then the Error says how to start") {
  for (const char* const name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    test::unset_env(name);
  }
  const Device device("cpu_sim:0");
  const Error error = test::required_error(ErrorCode::invalid_argument, [&] { Communicator all(device); });
  CHECK(std::string(error.what()).find("nothing says which rank this process is") != std::string::npos);
}

TEST_CASE("Given ranks that are none then a Bootstrap is refused") {
  const Device device("cpu_sim:0");
  const auto refused = [&](const Bootstrap& bootstrap) {
    return test::code_of([&] { Communicator(device, bootstrap); }) == ErrorCode::invalid_argument;
  };
  CHECK(refused(Bootstrap::tcp(2, 2, "127.0.0.1", 29500)));
  CHECK(refused(Bootstrap::tcp(-1, 2, "127.0.0.1", 29500)));
  CHECK(refused(Bootstrap::tcp(0, 0, "127.0.0.1", 29500)));
  CHECK(refused(Bootstrap::file(3, 2, "/tmp/any")));
}

TEST_CASE("Given one process of two then meeting ends with a timeout that names the missing one") {
  if (!has_doubles()) return;
  const Device device("cuda:0");
  const CommunicatorOptions soon{.timeout = std::chrono::milliseconds(50)};
  const auto port = static_cast<std::uint16_t>(test::free_port());
  const Error alone = test::required_error(
      ErrorCode::timeout, [&] { Communicator(device, Bootstrap::tcp(0, 2, "127.0.0.1", port), soon); });
  CHECK(std::string(alone.what()).find("1 of 2 ranks have, rank 1 hasn't") != std::string::npos);
  const Error other = test::required_error(
      ErrorCode::timeout, [&] { Communicator(device, Bootstrap::tcp(1, 2, "127.0.0.1", port), soon); });
  CHECK(std::string(other.what()).find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
  const test::TempDir folder;
  const std::string path = (folder.path() / "meeting").string();
  const Error file =
      test::required_error(ErrorCode::timeout, [&] { Communicator(device, Bootstrap::file(0, 2, path), soon); });
  CHECK(std::string(file.what()).find("rank 1 of 2 is missing") != std::string::npos);
  CHECK(std::string(file.what()).find("came to meet over " + path) != std::string::npos);
  CHECK(std::string(alone.what()).find("came to meet at 127.0.0.1") != std::string::npos);
  CHECK(test::code_of([&] {
          Communicator(device, Bootstrap::file(0, 2, (folder.path() / "none" / "file").string()), soon);
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("Given a meeting over a file that timed out then nothing of it is left, and the next one may succeed") {
  if (!has_doubles()) return;
  const Device device("cuda:0");
  const test::TempDir folder;
  const std::string path = (folder.path() / "meeting").string();
  for (const int rank : {0, 1, 0}) {
    const Error error = test::required_error(ErrorCode::timeout, [&] {
      Communicator(device, Bootstrap::file(rank, 2, path), {.timeout = std::chrono::milliseconds(50)});
    });
    INFO(error.what());
    CHECK(std::filesystem::is_empty(folder.path()));
  }
  Process peer({RANKS_PEER, path}, {});
  const Communicator both(device, Bootstrap::file(0, 2, path), {.timeout = std::chrono::seconds(60)});
  CHECK(both.size() == 2);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("Given a rank twice over files then all that are there are told, also who comes later") {
  if (!has_doubles()) return;
  const Device device("cuda:0");
  const test::TempDir folder;
  const auto meet_as = [&](int rank) {
    const std::string path = (folder.path() / "meeting").string();
    try {
      Communicator(device, Bootstrap::file(rank, 4, path), {.timeout = std::chrono::seconds(60)});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  std::vector<std::future<std::string>> all;
  for (const int rank : {0, 1, 1, 2}) {
    all.push_back(std::async(std::launch::async, [&meet_as, rank] { return meet_as(rank); }));
  }
  for (std::future<std::string>& one : all) {
    const std::string text = one.get();
    INFO(text);
    CHECK(text.find("invalid_argument: rank 1 was there already") != std::string::npos);
  }
  const std::string later = meet_as(3);
  INFO(later);
  CHECK(later.find("rank 1 was there already") != std::string::npos);
}

/// Runs a command as root of namespaces of its own. False where there can be none.
bool can_unshare() {
  return Process({"unshare", "--user", "--map-root-user", "--net", "--mount", "true"}, {}).end().status == 0 &&
         Process({"ip", "-V"}, {}).end().status == 0;
}

TEST_CASE("Given ranks on two hosts of one network then they meet over TCP") {
  if (!has_doubles()) return;
  if (!can_unshare()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: no network namespaces can be made here, or ip is missing (Debian: iproute2)\n";
    return;
  }
  // Two namespaces with a cable between them. They share /dev/shm, which NCCL's double needs and a network hasn't.
  const std::string script =
      "set -e; ip link set lo up\n"
      "unshare --net sleep 240 & other=$!\n"
      "until [ \"$(readlink /proc/$other/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do :; done\n"
      "ip link add here type veth peer name there netns $other\n"
      "ip addr add 10.77.0.1/24 dev here; ip link set here up\n"
      "nsenter --net=/proc/$other/ns/net ip addr add 10.77.0.2/24 dev there\n"
      "nsenter --net=/proc/$other/ns/net ip link set there up\n"
      "export WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500\n"
      "RANK=1 nsenter --net=/proc/$other/ns/net \"$0\" cuda:0 - meet & second=$!\n"
      "RANK=0 \"$0\" cuda:0 - meet\n"
      "wait $second; kill $other\n";
  Process both({"unshare", "--user", "--map-root-user", "--net", "--mount", "bash", "-c", script, RANKS_WORKER},
               with_nccl);
  const Ended ended = both.end();
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK(ended.out.find("rank 0 of 2 has met the others twice") != std::string::npos);
  CHECK(ended.out.find("rank 1 of 2 has met the others twice") != std::string::npos);
}

TEST_CASE("Given a Bootstrap that was moved from then it says the same as before") {
  Bootstrap first = Bootstrap::alone();
  const Bootstrap second(std::move(first));
  for (const Bootstrap& each : {second, first}) {  // NOLINT: the moved-from state is promised
    CHECK(Communicator(Device("cpu_sim:0"), each).size() == 1);
  }
}

}  // namespace bootstrap_test
