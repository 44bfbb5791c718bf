// SPDX-License-Identifier: Apache-2.0
// Descriptors that one process offers and another fetches, by either way: what is fetched, and what is refused.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "anyplace/backend/kit/descriptor_server.h"

namespace descriptors_test {

using namespace anyplace::backend;

namespace {

constexpr DescriptorWay ways[] = {DescriptorWay::pidfd, DescriptorWay::socket, DescriptorWay::any};

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// A file in memory that holds a number.
Descriptor file_of(std::uint64_t number) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  REQUIRE(write(file.number(), &number, sizeof(number)) == sizeof(number));
  return file;
}
std::uint64_t number_in(const Descriptor& file) {
  std::uint64_t number = 0;
  CHECK(pread(file.number(), &number, sizeof(number), 0) == sizeof(number));
  return number;
}

/// A second process that offers descriptors: of `count` files that hold 100, 101 and so on. It ends with this one's end
/// of the pipe, or when it is killed.
class Exporter {
 public:
  explicit Exporter(std::size_t count = 1) {
    int to[2];
    int from[2];
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) run(count, Descriptor(to[0]), Descriptor(from[1]), Descriptor(to[1]), Descriptor(from[0]));
    to_ = Descriptor(to[1]);
    from_ = Descriptor(from[0]);
    close(to[0]);
    close(from[1]);
    REQUIRE(read(from[0], &owner, sizeof(owner)) == sizeof(owner));
    offered.resize(count);
    REQUIRE(read(from[0], offered.data(), count * sizeof(offered[0])) ==
            static_cast<ssize_t>(count * sizeof(offered[0])));
  }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  ~Exporter() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  /// w: withdraws the first. c: nothing. Both answer with the number of its descriptors.
  std::size_t ask(char command) {
    REQUIRE(write(to_.number(), &command, 1) == 1);
    std::size_t count = 0;
    REQUIRE(read(from_.number(), &count, sizeof(count)) == sizeof(count));
    return count;
  }
  pid_t pid() const noexcept { return pid_; }

  DescriptorOwner owner;
  std::vector<CarriedDescriptor> offered;

 private:
  [[noreturn]] static void run(std::size_t count, Descriptor in, Descriptor out, Descriptor other_in,
                               Descriptor other_out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    other_in = Descriptor();
    other_out = Descriptor();
    DescriptorServer& server = descriptor_server();
    const DescriptorOwner owner = server.owner();
    std::vector<Descriptor> files;
    std::vector<CarriedDescriptor> offered;
    for (std::size_t i = 0; i < count; ++i) {
      files.push_back(file_of(100 + i));
      offered.push_back(server.offer(files.back().number()));
    }
    bool good = write(out.number(), &owner, sizeof(owner)) == sizeof(owner) &&
                write(out.number(), offered.data(), count * sizeof(offered[0])) ==
                    static_cast<ssize_t>(count * sizeof(offered[0]));
    for (char command = 0; good && read(in.number(), &command, 1) == 1;) {
      if (command == 'w') server.withdraw(files.front().number());
      const std::size_t have = entries_of("/proc/self/fd");
      good = write(out.number(), &have, sizeof(have)) == sizeof(have);
    }
    _exit(0);
  }

  pid_t pid_ = 0;
  Descriptor to_, from_;
};

/// What fetching is refused with; nothing if it isn't.
std::optional<Failure> refused(const DescriptorOwner& owner, const std::vector<CarriedDescriptor>& wanted,
                               DescriptorWay way) {
  try {
    fetch_descriptors(owner, wanted, way);
  } catch (const Failure& failure) {
    return failure;
  }
  return std::nullopt;
}
anyplace_status status_of(const std::optional<Failure>& failure) {
  return failure ? failure->status() : anyplace_status{ANYPLACE_STATUS_OK};
}

Descriptor connected_to(const DescriptorOwner& owner) {
  Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  const socklen_t length = detail::descriptor_socket_name(owner, name);
  REQUIRE(connect(connection.number(), reinterpret_cast<const sockaddr*>(&name), length) == 0);
  return connection;
}

/// Runs in a process of its own; whether it returned true.
bool in_a_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("Given descriptors that another process offers then they are fetched, by either way, in their order") {
  const Exporter exporter(150);
  for (const DescriptorWay way : ways) {
    const std::vector<Descriptor> fetched = fetch_descriptors(exporter.owner, exporter.offered, way);
    REQUIRE(fetched.size() == 150);
    for (std::size_t i = 0; i < fetched.size(); ++i) CHECK(number_in(fetched[i]) == 100 + i);
    CHECK((fcntl(fetched.front().number(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("Given a process that has ended then its descriptors are PEER_GONE, by either way") {
  Exporter exporter;
  exporter.kill();
  for (const DescriptorWay way : ways) {
    CHECK(status_of(refused(exporter.owner, exporter.offered, way)) == ANYPLACE_STATUS_PEER_GONE);
  }
}

TEST_CASE("Given a process that ends while its answer is awaited then that is PEER_GONE, and nobody hangs") {
  for (int i = 0; i < 10; ++i) {
    Exporter exporter;
    ::kill(exporter.pid(), SIGSTOP);
    REQUIRE(waitpid(exporter.pid(), nullptr, WUNTRACED) == exporter.pid());  // all of its threads have stopped
    std::thread killer([&] { ::kill(exporter.pid(), SIGKILL); });
    CHECK(status_of(refused(exporter.owner, exporter.offered, DescriptorWay::socket)) == ANYPLACE_STATUS_PEER_GONE);
    killer.join();
  }
}

TEST_CASE("Given descriptors that aren't those that were offered then they are refused") {
  Exporter exporter(2);
  const CarriedDescriptor good = exporter.offered[0];
  const CarriedDescriptor other_file{good.number, exporter.offered[1].inode};
  const CarriedDescriptor not_open{900, good.inode};
  const CarriedDescriptor not_offered{1, good.inode};
  for (const DescriptorWay way : ways) {
    for (const CarriedDescriptor bad : {other_file, not_open, not_offered}) {
      const auto failure = refused(exporter.owner, {good, bad}, way);
      CHECK(status_of(failure) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    }
  }
  exporter.ask('w');
  CHECK(status_of(refused(exporter.owner, {good}, DescriptorWay::socket)) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of(refused(exporter.owner, {exporter.offered[1]}, DescriptorWay::socket)) == ANYPLACE_STATUS_OK);
}

TEST_CASE("Given another user's process then it is refused, and told to run as one user") {
  if (geteuid() != 0) {
    std::cout << "ANYPLACE_TEST_SKIPPED: only root can become another user\n";
    return;
  }
  const Exporter exporter;
  CHECK(in_a_child([&] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return false;
    const auto by_any = refused(exporter.owner, exporter.offered, DescriptorWay::any);
    const auto by_pidfd = refused(exporter.owner, exporter.offered, DescriptorWay::pidfd);
    return status_of(by_any) == ANYPLACE_STATUS_BACKEND_FAILED &&
           std::string(by_any->what()).find("another user's") != std::string::npos &&
           std::string(by_any->what()).find("as one user") != std::string::npos &&
           status_of(by_pidfd) == ANYPLACE_STATUS_UNSUPPORTED;
  }));
}

TEST_CASE("Given where a process is found with one bit changed then nothing is fetched, whichever bit it is") {
  const Exporter exporter;
  const auto change = [&](auto DescriptorOwner::*member, unsigned bits) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      DescriptorOwner owner = exporter.owner;
      owner.*member ^= std::uint64_t{1} << bit;
      CHECK(status_of(refused(owner, exporter.offered, DescriptorWay::socket)) != ANYPLACE_STATUS_OK);
    }
  };
  change(&DescriptorOwner::pid, 32);
  change(&DescriptorOwner::start, 64);
  change(&DescriptorOwner::nonce, 64);
}

TEST_CASE("Given another process that takes the socket's name then what it says isn't taken") {
  const Exporter exporter;
  DescriptorOwner owner = exporter.owner;
  owner.nonce ^= 1;  // a name that the process itself doesn't have
  const Descriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  const socklen_t length = detail::descriptor_socket_name(owner, name);
  REQUIRE(bind(listening.number(), reinterpret_cast<const sockaddr*>(&name), length) == 0);
  REQUIRE(listen(listening.number(), 4) == 0);
  const auto failure = refused(owner, exporter.offered, DescriptorWay::socket);
  REQUIRE(failure);
  CHECK(std::string(failure->what()).find("another process answers") != std::string::npos);
}

TEST_CASE("Given processes that connect and say nothing, or nonsense, then others are served all the same") {
  const Exporter exporter;
  std::vector<Descriptor> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(connected_to(exporter.owner));
  const std::string nonsense(2000, 'x');
  for (const std::size_t length : {std::size_t{1}, std::size_t{12}, nonsense.size()}) {
    const Descriptor connection = connected_to(exporter.owner);
    CHECK(send(connection.number(), nonsense.data(), length, MSG_NOSIGNAL) == static_cast<ssize_t>(length));
    char answer = 0;
    CHECK(recv(connection.number(), &answer, 1, 0) <= 0);
  }
  CHECK(fetch_descriptors(exporter.owner, exporter.offered, DescriptorWay::socket).size() == 1);
}

TEST_CASE("Given descriptors fetched a thousand times then neither process has one more") {
  Exporter exporter(3);
  const std::size_t there = exporter.ask('c');
  const std::size_t before = entries_of("/proc/self/fd");
  const std::vector<CarriedDescriptor> bad{exporter.offered[0], {900, 1}};
  for (int i = 0; i < 500; ++i) {
    fetch_descriptors(exporter.owner, exporter.offered, DescriptorWay::pidfd);
    fetch_descriptors(exporter.owner, exporter.offered, DescriptorWay::socket);
    CHECK(refused(exporter.owner, bad, i % 2 == 0 ? DescriptorWay::pidfd : DescriptorWay::socket));
  }
  CHECK(entries_of("/proc/self/fd") == before);
  while (exporter.ask('c') > there) sched_yield();  // the thread closes the last connection on its own time
}

TEST_CASE("Given a server that is stopped then its thread and its socket are gone, and an offer starts it again") {
  DescriptorServer server;
  const Descriptor file = file_of(1);
  // By their name, since a sanitizer has a thread, too. One that has just begun has none yet, and one that was joined
  // may be listed for a moment more.
  const auto comes_to = [](std::ptrdiff_t count) {
    const auto threads = [] {
      const std::filesystem::directory_iterator tasks("/proc/self/task");
      return std::count_if(begin(tasks), end(tasks), [](const auto& task) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        return name == "anyplace-share";
      });
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (threads() != count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return threads() == count;
  };
  const std::size_t descriptors = entries_of("/proc/self/fd");
  for (int i = 0; i < 3; ++i) {
    server.offer(file.number());
    CHECK(comes_to(1));
    CHECK(connected_to(server.owner()));
    server.withdraw(file.number());
    server.stop();
    server.stop();
    CHECK(comes_to(0));
    CHECK(entries_of("/proc/self/fd") == descriptors);
  }
}

}  // namespace
}  // namespace descriptors_test
