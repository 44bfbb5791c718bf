// SPDX-License-Identifier: Apache-2.0
//
// A round trip between two processes on cpu_sim: each records an event on its stream and says so in a word of a buffer
// that both have; the other waits for that word, then for the event, and answers with an event of its own. Beside it
// the same words without events, and a pair of pipes. Spinning, or sleeping in a futex.
//
//   anyplace_ipc_ping_pong [ROUNDS]
#include <anyplace/anyplace.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace anyplace;

/// Two words, each on a line of its own: one for each direction.
struct Words {
  struct alignas(64) Word {
    std::atomic<std::uint32_t> number;
  } there, back;
};

void say(Words::Word& word, std::uint32_t number, bool sleeps) {
  word.number.store(number, std::memory_order_release);
  if (sleeps) syscall(SYS_futex, &word.number, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void hear(Words::Word& word, std::uint32_t number, bool sleeps) {
  for (std::uint32_t found = 0; (found = word.number.load(std::memory_order_acquire)) != number;) {
    if (sleeps) syscall(SYS_futex, &word.number, FUTEX_WAIT, found, nullptr, nullptr, 0);
  }
}

struct Pipes {
  int in;
  int out;
};

void put(int file, const void* from, std::size_t bytes) {
  if (write(file, from, bytes) != static_cast<ssize_t>(bytes)) std::abort();
}
void get(int file, void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes != 0;) {
    const ssize_t count = read(file, at, bytes);
    if (count <= 0) std::exit(1);
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
}
void send(const Pipes& pipes, const std::vector<std::byte>& handle) {
  const std::uint64_t bytes = handle.size();
  put(pipes.out, &bytes, sizeof(bytes));
  put(pipes.out, handle.data(), bytes);
}
std::vector<std::byte> receive(const Pipes& pipes) {
  std::uint64_t bytes = 0;
  get(pipes.in, &bytes, sizeof(bytes));
  std::vector<std::byte> handle(bytes);
  get(pipes.in, handle.data(), bytes);
  return handle;
}

/// One process's side of a game.
struct Side {
  Stream stream;
  Words* words;
  Event mine;
  Event theirs;
  Pipes pipes;
};

using Round = void (*)(const Side& side, bool first, std::uint32_t number, bool sleeps);

void events_round(const Side& side, bool first, std::uint32_t number, bool sleeps) {
  const auto ping = [&] {
    side.stream.record_event(side.mine);
    say(first ? side.words->there : side.words->back, number, sleeps);
  };
  const auto pong = [&] {
    hear(first ? side.words->back : side.words->there, number, sleeps);
    side.theirs.synchronize();
  };
  first ? ping() : pong();
  first ? pong() : ping();
}
void words_round(const Side& side, bool first, std::uint32_t number, bool sleeps) {
  if (first) say(side.words->there, number, sleeps);
  hear(first ? side.words->back : side.words->there, number, sleeps);
  if (!first) say(side.words->back, number, sleeps);
}
void pipes_round(const Side& side, bool first, std::uint32_t, bool) {
  char byte = 0;
  if (first) put(side.pipes.out, &byte, 1);
  get(side.pipes.in, &byte, 1);
  if (!first) put(side.pipes.out, &byte, 1);
}

struct Game {
  const char* name;
  Round round;
  bool sleeps;
};
constexpr Game games[] = {{"shared events, spinning", events_round, false},
                          {"two words, spinning", words_round, false},
                          {"shared events, sleeping", events_round, true},
                          {"a pair of futexes", words_round, true},
                          {"a pair of pipes", pipes_round, true}};
constexpr int batches = 15;

void play(const Side& side, bool first, int rounds) {
  std::uint32_t number = 0;
  for (const Game& game : games) {
    std::vector<double> microseconds;
    for (int batch = 0; batch <= batches; ++batch) {
      const auto began = std::chrono::steady_clock::now();
      for (int i = 0; i < rounds; ++i) game.round(side, first, ++number, game.sleeps);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
      if (batch != 0) microseconds.push_back(took.count() / rounds);  // the first one warms up
    }
    std::sort(microseconds.begin(), microseconds.end());
    if (first) std::printf("%-26s %8.2f us a round trip\n", game.name, microseconds[batches / 2]);
  }
}

/// Each process on a core of its own, as far as there are two.
void stay_on(unsigned core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) sched_setaffinity(0, sizeof(cores), &cores);
}

void run(bool first, const Pipes& pipes, int rounds) {
  stay_on(first ? 0 : 1);
  const Device device("cpu_sim:0");
  Side side{Stream(device), nullptr, Event(device, {.interprocess = true}), Event(), pipes};
  Buffer buffer;
  if (first) {
    buffer = Buffer(side.stream, sizeof(Words), {.alignment = 4096});
    side.stream.memset8(buffer, 0);
    side.stream.synchronize();
    send(pipes, buffer.export_handle());
  } else {
    buffer = Buffer::import(side.stream, receive(pipes));
  }
  // cpu_sim's device memory is the host's.
  side.words = reinterpret_cast<Words*>(static_cast<std::uintptr_t>(buffer.address()));
  send(pipes, side.mine.export_handle());
  side.theirs = Event::import(device, receive(pipes));
  play(side, first, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
  int to[2];
  int from[2];
  if (rounds < 1 || pipe(to) != 0 || pipe(from) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(false, {to[0], from[1]}, rounds);
    return 0;
  }
  run(true, {from[0], to[1]}, rounds);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
