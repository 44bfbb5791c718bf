// SPDX-License-Identifier: Apache-2.0
// A rank of the cases: ranks_worker PLACE ENGINE MODE. Says what it has seen, a line each, and exits with 0 if that was
// what the mode expects. The cases say what must be in the lines.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "worker.h"

namespace {

using namespace ranks_worker;
using std::chrono::milliseconds;
using std::chrono::minutes;

/// An operation comes after the stream's earlier work and before its later work, whatever there is.
void order(const Rank& me) {
  const float mine = static_cast<float>(me.all.rank() + 1);
  const auto n = static_cast<float>(me.all.size());
  const Buffer data = me.filled(mine, 5000);
  for (int i = 0; i < 20; ++i) {
    if (me.device.has(Capability::host_functions)) {
      me.stream.launch_host_func([] { std::this_thread::yield(); });
    }
    me.all.all_reduce(me.stream, data.as<float>(), data.as<float>(), Reduction::max);
    me.all.all_reduce(me.stream, data.as<float>(), data.as<float>(), Reduction::avg);
    me.stream.fill(data.as<float>().first(10), mine);
    me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
    me.stream.fill(data.as<float>(), mine);
  }
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  const std::vector<float> host = me.read(data, me.stream);
  require(host.front() == n * (n + 1) / 2 && host.back() == host.front(), "the last sum");
  me.all.synchronize();
  require(me.all.query(), "nothing is pending");
}

/// More than an engine does at once, with others behind it.
void large(const Rank& me) {
  const float mine = static_cast<float>(me.all.rank() + 1);
  const auto n = static_cast<float>(me.all.size());
  const Buffer data = me.filled(mine, 5'000'001), small = me.filled(mine);
  const Stream second(me.device);
  me.stream.synchronize();
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  me.all.all_reduce(second, small.as<float>(), small.as<float>());
  const float sum = n * (n + 1) / 2;
  bool right = true;
  for (const float value : me.read(data, me.stream)) right = right && value == sum;
  require(right, "every element of many");
  require(me.read(small, second).front() == sum, "what came behind on another stream");
}

/// Between operations of all ranks, only some ranks send and receive.
void unequal(const Rank& me) {
  const Buffer message = me.filled(1), sum = me.filled(1);
  for (int i = 0; i < 3; ++i) {
    if (me.all.rank() == 0) me.all.send(me.stream, message.as<float>(), 1);
    if (me.all.rank() == 1) me.all.recv(me.stream, message.as<float>(), 0);
    me.all.all_reduce(me.stream, sum.as<float>(), sum.as<float>(), Reduction::max);
  }
  require(me.read(sum, me.stream).back() == 1, "the greatest");
}

/// Two communicators that the ranks use in opposite orders, on two streams.
void opposite(const Rank& me) {
  const Communicator other = me.all.split(0, me.all.rank());
  const Stream second(me.device);
  const Buffer a = me.filled(1), b = me.filled(2);
  me.stream.synchronize();
  for (int i = 0; i < 20; ++i) {
    const bool first = (me.all.rank() + i) % 2 == 0;
    if (first) me.all.all_reduce(me.stream, a.as<float>(), a.as<float>(), Reduction::max);
    other.all_reduce(second, b.as<float>(), b.as<float>(), Reduction::max);
    if (!first) me.all.all_reduce(me.stream, a.as<float>(), a.as<float>(), Reduction::max);
  }
  require(me.read(a, me.stream).back() == 1, "the first communicator's");
  require(me.read(b, second).back() == 2, "the second one's");
}

/// On one stream the first operation of each rank waits for the second one of the other.
void opposite_in_one_stream(const Rank& me) {
  const Communicator other = me.all.split(0, me.all.rank());
  const Buffer data = me.filled(1);
  const bool first = me.all.rank() % 2 == 0;
  for (const Communicator* all : {first ? &me.all : &other, first ? &other : &me.all}) {
    all->all_reduce(me.stream, data.as<float>(), data.as<float>(), Reduction::max);
  }
  me.stream.synchronize();
}

void split(const Rank& me) {
  const int rank = me.all.rank(), size = me.all.size();
  const Communicator half = me.all.split(rank % 2, -rank);
  const int members = (size + 1 - rank % 2) / 2;
  require(half.size() == members, "half of them");
  require(half.rank() == members - 1 - rank / 2, "in the order of the keys");
  const Buffer data = me.filled(static_cast<float>(rank));
  half.all_reduce(me.stream, data.as<float>(), data.as<float>());
  float sum = 0;
  for (int other = rank % 2; other < size; other += 2) sum += static_cast<float>(other);
  require(me.read(data, me.stream).front() == sum, "the half's sum");
  const Communicator none = me.all.split(rank == 0 ? -1 : 0, 0);
  require(none.is_null() == (rank == 0), "a negative color");
}

/// Rank 1 calls another operation than the others.
void mismatch(const Rank& me) {
  const Buffer data = me.filled(1);
  const Error error = error_of([&] {
    if (me.all.rank() == 1) {
      me.all.broadcast(me.stream, data.as<float>(), 0);
    } else {
      me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
    }
    me.stream.synchronize();
  });
  std::printf("%s\n", error.what());
  require(error.code() == ErrorCode::invalid_argument, "the stream's fault");
  require(me.all.async_error().has_value(), "the communicator's");
  require(error_of([&] { me.all.barrier(me.stream); }).code() == ErrorCode::invalid_argument, "for good");
}

/// Rank 1 never calls; it stays until the others have seen that.
void silent(const Rank& me) {
  const Buffer data = me.filled(1);
  if (me.all.rank() == 1) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (::getppid() != 1 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(10));
    return;
  }
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  const Error error = error_of([&] { me.stream.synchronize(); });
  std::printf("%s\n", error.what());
  require(error.code() == ErrorCode::timeout, "the stream's fault");
  require(error_of([&] { me.all.synchronize(); }).code() == ErrorCode::timeout, "the communicator's");
  me.stream.fill(data.as<float>(), 3.0f);
  require(me.read(data, me.stream).front() == 3, "the stream goes on");
  std::fflush(stdout);
  ::_exit(0);  // the other one would be waited for
}

/// Rank 1 is killed in the midst of it.
void killed(const Rank& me) {
  const Buffer data = me.filled(1, 20000);
  std::thread killer;
  if (me.all.rank() == 1) {
    killer = std::thread([] {
      std::this_thread::sleep_for(milliseconds(20));
      ::kill(::getpid(), SIGKILL);
    });
  }
  const Error error = error_of([&] {
    while (true) {
      me.all.all_reduce(me.stream, data.as<float>(), data.as<float>(), Reduction::max);
      me.stream.synchronize();
    }
  });
  std::printf("%s\n", error.what());
  std::fflush(stdout);
  ::_exit(error.code() == ErrorCode::timeout || error.code() == ErrorCode::peer_gone ||
                  error.code() == ErrorCode::backend_failed
              ? 0
              : 1);
}

/// Memory of the host isn't the vendor's engine's.
void of_host(const Rank& me) {
  const HostBuffer pinned(me.device, 4096);
  std::vector<float> registered(1024);
  const HostRegistration registration(me.device, HostSpan(registered));
  const Buffer good = me.filled(1);
  const auto at = [](const void* memory) { return Address(memory); };
  for (const Address host : {at(pinned.data()), at(registered.data())}) {
    for (const bool is_source : {true, false}) {
      const Address there(good.address());
      const Error error = error_of(
          [&] { me.all.all_reduce(me.stream, is_source ? there : host, is_source ? host : there, 1000, DType::f32); });
      require(error.code() == ErrorCode::invalid_argument, "host memory is an invalid_argument");
      const std::string text = error.what();
      require(text.find(is_source ? "the source is memory of the host" : "the destination is memory of the host") !=
                  std::string::npos,
              "the error says which side it is");
      require(text.find("engine mpi") != std::string::npos, "the error says what takes it");
    }
  }
  me.all.all_reduce(me.stream, good.as<float>(), good.as<float>());
  me.stream.synchronize();
  require(me.read(good, me.stream).front() == static_cast<float>(me.all.size()), "the communicator goes on");
}

/// What is pending ends with abort, at once.
void aborted(const Rank& me) {
  const Communicator used = me.all.split(0, 0);
  const Buffer data = me.filled(1);
  if (me.all.rank() != 1) {
    used.all_reduce(me.stream, data.as<float>(), data.as<float>());
    require(!me.stream.synchronize(milliseconds(10)), "rank 1 is missing");
    require(!used.query(), "it is pending");
    used.abort();
    require(error_of([&] { me.stream.synchronize(); }).code() == ErrorCode::invalid_handle, "the stream's fault");
  } else {
    used.abort();
  }
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { used.barrier(me.stream); }, [&] { static_cast<void>(used.rank()); }, [&] { used.synchronize(); },
           [&] { static_cast<void>(used.split(0, 0)); }, [&] { used.group_start(); }}) {
    const Error error = error_of(call);
    require(error.code() == ErrorCode::invalid_handle, "used after abort");
    require(std::string(error.what()).find("aborted") != std::string::npos, "what it says");
  }
  me.stream.fill(data.as<float>(), 2.0f);
  require(me.read(data, me.stream).front() == 2, "the stream goes on");
  std::fflush(stdout);
  ::_exit(0);  // an engine may still wait for what was aborted
}

/// The program finalizes MPI itself, though communicators and an operation are there: each use says so from then on.
void finalized(const Rank& me) {
  const Buffer data = me.filled(1), few = me.filled(1, 10);
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  me.stream.synchronize();
  std::atomic<bool> open{false};
  me.stream.launch_host_func([&open] {
    while (!open) std::this_thread::yield();
  });
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "MPI_Finalize"))();
  open = true;
  const Communicator& all = me.all;
  for (const std::function<void()>& call :
       std::vector<std::function<void()>>{[&] { me.stream.synchronize(); }, [&] { all.synchronize(); },
                                          [&] { all.all_reduce(me.stream, few.as<float>(), few.as<float>()); },
                                          [&] { all.barrier(me.stream); }, [&] { static_cast<void>(all.split(0, 0)); },
                                          [&] { Communicator(me.device, {.timeout = patience, .engine = "mpi"}); }}) {
    const Error error = error_of(call);
    std::printf("%s\n", error.what());
    require(error.code() == ErrorCode::shut_down, "used after MPI_Finalize");
  }
  me.stream.fill(data.as<float>(), 2.0f);
  require(me.read(data, me.stream).front() == 2, "the stream goes on");
}

/// The same of a communicator that nothing was pending of, and of one made of it.
void finalized_idle(const Rank& me) {
  const Communicator half = me.all.split(0, 0);
  const Buffer few = me.filled(1, 10);
  reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "MPI_Finalize"))();
  for (const Communicator* const one : {&me.all, &half}) {
    const auto sum = [&] { one->all_reduce(me.stream, few.as<float>(), few.as<float>()); };
    require(error_of(sum).code() == ErrorCode::shut_down, "an operation");
    require(error_of(sum).code() == ErrorCode::shut_down, "once more");
    require(error_of([&] { static_cast<void>(one->split(0, 0)); }).code() == ErrorCode::shut_down, "a split");
  }
}

/// Rank 1 returns from main with an exit status, while the others wait for it, for longer than the case does.
void returns_status(const Rank& me) {
  const Buffer data = me.filled(1);
  if (me.all.rank() == 1) {
    std::printf("rank 1 has found something wrong\n");  // and isn't flushed
    std::exit(3);
  }
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  me.stream.synchronize();
}

/// The same where a communicator of rank 1 has failed, and it returns 0.
void returns_after_failure(const Rank& me) {
  const Communicator brief(me.device, {.timeout = seconds(2), .engine = "mpi"});
  const Buffer data = me.filled(1);
  const bool fails = me.all.rank() == 1;
  (fails ? brief : me.all).all_reduce(me.stream, data.as<float>(), data.as<float>());
  try {
    me.stream.synchronize();
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
  std::exit(0);
}

/// Calls operations until it is killed from outside, or an Error comes.
void endless(const Rank& me) {
  const Buffer data = me.filled(1, 100);
  std::printf("ready\n");
  std::fflush(stdout);
  const Error error = error_of([&] {
    while (true) {
      me.all.all_reduce(me.stream, data.as<float>(), data.as<float>(), Reduction::max);
      me.stream.synchronize();
    }
  });
  std::printf("%s\n", error.what());
}

/// With tests/ranks/mpi_dies.cpp: rank 1 is killed in MPI_Comm_split, when all have come to it.
void dies_in_split(const Rank& me) {
  const Error error = error_of([&] { static_cast<void>(me.all.split(0, me.all.rank())); });
  std::printf("%s\n", error.what());
  std::fflush(stdout);
  ::_exit(error.code() == ErrorCode::timeout ? 0 : 1);
}

/// Rank 1 comes to a split when rank 0 has waited for it in vain. Rank 0's communicator has failed then, and nothing of
/// it waits any more.
void late_to_split(const Rank& me) {
  const int rank = me.all.rank();
  const auto split = [&] { static_cast<void>(me.all.split(0, rank)); };
  if (rank == 0) {
    const Buffer data = me.filled(1);
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             split, split, [&] { me.all.all_reduce(me.stream, data.as<float>(), data.as<float>()); },
             [&] { me.all.synchronize(); }}) {
      const Error error = error_of(call);
      require(error.code() == ErrorCode::timeout, "it has failed");
      require(std::string(error.what()).find("split the communicator") != std::string::npos, "which says why");
    }
    me.all.abort();
    require(me.read(data, me.stream).front() == 1, "the stream goes on");
  }
  me.first.barrier(me.stream);
  me.stream.synchronize();
  if (rank == 1) split();  // it finds the call that rank 0 has left behind
  me.first.barrier(me.stream);
  me.stream.synchronize();
  std::fflush(stdout);
  ::_exit(0);  // rank 0's thread may be on its way out of the split
}

void meet(const Rank& me) {
  me.all.barrier(me.stream);
  me.stream.synchronize();
  const Communicator again(me.device, {.engine = me.all.engine() == "none" ? "" : me.all.engine()});
  again.barrier(me.stream);
  me.stream.synchronize();
  std::printf("rank %d of %d has met the others twice\n", me.all.rank(), me.all.size());
}

/// What making a communicator that can't be made throws, as rank 0 of mpirun's.
void require_timeout(const Device& device) {
  const Error error = error_of([&] { Communicator(device, {.timeout = milliseconds(50), .engine = "mpi"}); });
  std::printf("%s\n", error.what());
  require(error.code() == ErrorCode::timeout, "the first communicator is a bounded call, too");
}

/// Before there is a communicator. Rank 1 comes to its first one when rank 0 has seen that it doesn't.
void late(const std::string& place) {
  const Device device(place);
  const std::string sign = std::getenv("RANKS_SIGN");
  if (std::getenv("OMPI_COMM_WORLD_RANK") == std::string("0")) {
    require_timeout(device);
    require_timeout(device);
    std::fclose(std::fopen(sign.c_str(), "w"));
  } else {
    while (::access(sign.c_str(), F_OK) != 0) std::this_thread::yield();
  }
  const Rank me(place, "mpi", patience);
  const Buffer data = me.filled(1);
  me.all.all_reduce(me.stream, data.as<float>(), data.as<float>());
  require(me.read(data, me.stream).back() == static_cast<float>(me.all.size()), "the sum");
}

/// Rank 1 never comes: it has ended. Rank 0 has a pipe instead of mpirun's.
void absent(const std::string& place) {
  if (std::getenv("OMPI_COMM_WORLD_RANK") == std::string("1")) return;
  require(std::freopen(std::getenv("RANKS_PIPE"), "w", stdout) != nullptr, "the pipe");
  require_timeout(Device(place));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::map<std::string, std::pair<void (*)(const Rank&), seconds>> modes{
      {"order", {order, patience}},
      {"opposite", {opposite, patience}},
      {"opposite_in_one_stream", {opposite_in_one_stream, patience}},
      {"unequal", {unequal, patience}},
      {"split", {split, patience}},
      {"mismatch", {mismatch, patience}},
      {"silent", {silent, seconds(5)}},
      {"killed", {killed, seconds(5)}},
      {"aborted", {aborted, patience}},
      {"endless", {endless, patience}},
      {"meet", {meet, patience}},
      {"large", {large, patience}},
      {"returns_status", {returns_status, minutes(10)}},
      {"returns_after_failure", {returns_after_failure, minutes(10)}},
      {"extremes", {extremes, patience}},
      {"wraps", {wraps, patience}},
      {"finalized", {finalized, patience}},
      {"finalized_idle", {finalized_idle, patience}},
      {"of_host", {of_host, patience}},
      {"pieces", {pieces, patience}},
      {"dies_in_split", {dies_in_split, seconds(5)}},
      {"late_to_split", {late_to_split, seconds(5)}},
  };
  const std::map<std::string, void (*)(const std::string&)> without_communicator{{"late", late}, {"absent", absent}};
  const auto mode = modes.find(arguments[3]);
  const auto other = without_communicator.find(arguments[3]);
  if (mode == modes.end() && other == without_communicator.end()) return 2;
  const std::string engine = arguments[2] == std::string("-") ? "" : arguments[2];
  try {
    if (other != without_communicator.end()) {
      other->second(arguments[1]);
      return 0;
    }
    const Rank me(arguments[1], engine, mode->second.second);
    mode->second.first(me);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  } catch (const Failed&) {
  }
  std::fflush(stdout);
  ::_exit(1);  // the others may never come to the end
}
