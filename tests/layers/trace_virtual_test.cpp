// SPDX-License-Identifier: Apache-2.0
// Traces of programs in virtual time: the same, byte for byte, in each run with one seed.
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "trace_file.h"

namespace trace_virtual_test {

using namespace anyplace;
using namespace trace_file;

namespace {

constexpr int rounds = 4;
/// More than a thread's buffer has records.
constexpr int many_calls = 2200;
/// So many records a thread keeps, and so many marks more the program of too many has. They take no turn, so they are
/// made in a moment.
constexpr std::uint64_t most_kept = std::uint64_t{1} << 20;
constexpr std::uint64_t too_many = 10'000;

/// What a thread of the program does: copies, fills, kernels, a host function and a query, in a stream of its own.
void work(const Device& device, const KernelView& add, const Buffer& data, const char* name) {
  const annotate::Range range(name);
  const Stream stream(device), other(device);
  data.record_stream(stream);
  data.record_stream(other);
  std::vector<std::uint32_t> host(1024, 1);
  for (int round = 0; round < rounds; ++round) {
    stream.copy(data, host);
    stream.launch(add, {1, 64}, data, 1u);
    other.wait_event(stream.record_event());
    other.copy(host, data);
    other.launch_host_func([&host] { ++host.front(); });
    const bool was_over = other.query();
    other.synchronize();
    if (!was_over) stream.fill(data.as<std::uint32_t>(), 7u);
    stream.synchronize();
  }
}

/// Two threads that do so at the same time, and then a graph of copies, a kernel and a host function.
int run_program() {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Kernel add(device, [](const Block&, std::uint32_t* numbers, std::uint32_t by) { numbers[0] += by; });
  const Buffer one(stream, 4096), two(stream, 4096);
  stream.synchronize();
  std::thread thread([&] { work(device, add, one, "the other thread"); });
  work(device, add, two, "the first thread");
  thread.join();
  std::vector<std::uint32_t> host(1024);
  stream.begin_capture();
  stream.fill(one.as<std::uint32_t>(), 5u);
  stream.launch(add, {1, 64}, one, 2u);
  stream.copy(host, one);
  stream.launch_host_func([&host] { ++host.front(); });
  const GraphExec graph = stream.end_capture().instantiate();
  for (int i = 0; i < 2; ++i) graph.launch(stream);
  stream.synchronize();
  return host.front() == 8 && host.back() == 5 ? 0 : 1;
}

/// A thread that waits for jobs by its own means. Of several it would be the system's choice which one takes a job.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  Worker(const Worker&) = delete;  // the thread keeps its address
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    post(nullptr);
    thread_.join();
  }
  /// A job that is null ends the thread.
  void post(const std::function<void()>& job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    changed_.notify_one();
  }

 private:
  void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !jobs_.empty(); });
      const std::function<void()> job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      if (job == nullptr) return;
      job();
    }
  }

  std::mutex mutex_;  // guards jobs_
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
};

/// Jobs that make streams, memory and timed events of their own, while the first thread goes on.
void run_jobs() {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer data(stream, 4096);
  Worker worker;
  for (std::uint64_t i = 0; i < 6; ++i) {
    worker.post([&device, i] {
      const Stream own(device);
      const Buffer buffer(own, std::uint64_t{4096} << i % 3);
      std::vector<std::uint8_t> host(4096);
      own.memset8(buffer, 3);
      const Event event = own.record_event({.timing = true});
      own.copy(host, buffer.sub(0, 4096));
      own.synchronize();
    });
    stream.memset8(data, 1);
    stream.record_event();
    stream.memset8(data, 2);
    if (i == 3) stream.synchronize();
  }
  stream.synchronize();
}

/// Runs one of the programs at the end of this file, and returns its trace.
std::string trace_of(const std::string& program, test::Variables variables, const std::string& file) {
  variables["ANYPLACE_LAYERS"] = "trace";
  variables["ANYPLACE_TRACE"] = file;
  variables["ANYPLACE_CPU_SIM_MODE"] = "deterministic";
  const test::Ended ended = test::Process({"/proc/self/exe", program}, variables).end();
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  return test::read_file(file);
}

/// Where two texts part, for people.
std::size_t first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  return at;
}

/// Returns how many packets a trace has. Each is a field of the number 1, with its length.
std::uint64_t packets_in(const std::string& trace) {
  std::uint64_t packets = 0;
  for (std::size_t at = 0; at < trace.size() && trace[at] == 0x0a; ++packets) {
    ++at;
    std::size_t bytes = 0;
    unsigned shift = 0;
    bool has_more = true;
    for (; has_more && at < trace.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(trace[at++]);
      bytes |= static_cast<std::size_t>(byte & 0x7f) << shift;
      has_more = (byte & 0x80) != 0;
    }
    at += bytes;
  }
  return packets;
}

void check_same(const std::string& program, const test::Variables& variables) {
  const test::TempDir folder;
  const std::string first = trace_of(program, variables, folder.file("0.pftrace"));
  CHECK(!first.empty());
  for (const char* const name : {"1.pftrace", "2.pftrace"}) {
    const std::string again = trace_of(program, variables, folder.file(name));
    INFO(first_difference(first, again) << " of " << first.size());
    CHECK((first == again));  // in parentheses, so that a difference isn't printed whole
  }
}

}  // namespace

TEST_CASE("Three runs in virtual time with one seed have the same trace, byte for byte") {
  for (const char* const strategy : {"random", "pct:3", "eager"}) {
    INFO(strategy);
    check_same("The program of threads", {{"ANYPLACE_CPU_SIM_STRATEGY", strategy}, {"ANYPLACE_CPU_SIM_SEED", "7"}});
  }
}

TEST_CASE("So have three runs with the profile of a device") {
  check_same("The program of threads", {{"ANYPLACE_CPU_SIM_PROFILE", "h100"}, {"ANYPLACE_CPU_SIM_SEED", "7"}});
}

TEST_CASE("So have three runs of a program with a thread that waits for jobs") {
  check_same("The program of jobs", {{"ANYPLACE_CPU_SIM_SEED", "5"}});
}

TEST_CASE("A trace of virtual time that the program begins, flushes and ends is the same in each run") {
  check_same("The program of several traces", {{"ANYPLACE_CPU_SIM_SEED", "3"}});
}

TEST_CASE("A trace of virtual time has every submission with its execution, and begins where that time does") {
  const test::TempDir folder;
  const std::string file = folder.file("run.pftrace");
  const std::string bytes = trace_of("The program of threads", {{"ANYPLACE_CPU_SIM_SEED", "7"}}, file);
  CHECK(bytes.find("/proc") == std::string::npos);
  const TrackReader trace = read_tracks(file);
  CHECK(trace.threads().size() == 1);  // both have the program's name
  std::size_t submissions = 0;
  for (const char* const entry :
       {"memory_copy", "memory_set", "kernel_launch", "stream_host_function", "graph_launch"}) {
    submissions += named(trace.slices().at("thread"), entry).size();
  }
  CHECK(submissions >= 2 * rounds * 4);
  CHECK(executions_of(trace.slices()).size() == submissions);
  for (const Slice& call : trace.slices().at("thread")) {
    CHECK(call.begin >= 1'000'000);
    CHECK(call.begin <= call.end);
    CHECK(call.end < 1'000'000'000);
  }
}

TEST_CASE("More calls than a thread's buffer has are all in a trace of virtual time") {
  const test::TempDir folder;
  const std::string file = folder.file("run.pftrace");
  trace_of("The program of many calls", {}, file);
  const Tracks tracks = tracks_of(file);
  CHECK(named(tracks.at("thread"), "memory_set").size() == many_calls);
  CHECK(executions_of(tracks).size() == many_calls);
}

TEST_CASE(
    "Of more calls than a thread keeps in virtual time a trace has the first ones, and says how many are missing") {
  const test::TempDir folder;
  const std::string trace = trace_of("The program of too many marks", {}, folder.file("run.pftrace"));
  CHECK(packets_in(trace) >= most_kept);
  const std::size_t said = trace.find(" calls are missing here");
  REQUIRE(said != std::string::npos);
  const std::size_t begin = trace.find_last_not_of("0123456789", said - 1) + 1;
  const std::uint64_t missing = std::stoull(trace.substr(begin, said - begin));
  CHECK(missing > too_many);
  CHECK(missing < too_many + 100);  // the program has a few calls, too
  CHECK(trace.find(" calls are missing here", said + 1) == std::string::npos);
}

TEST_CASE("Given ranks of a job, When they are traced in virtual time, Then each has a file and a process of its own") {
  const test::TempDir folder;
  for (const std::string rank : {"0", "1"}) {
    trace_of("The program of many calls", {{"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "elsewhere"}},
             folder.file("run-%r.pftrace"));
    const std::string trace = test::read_file(folder.file("run-" + rank + ".pftrace"));
    CHECK(trace.find("(rank " + rank + ")") != std::string::npos);
  }
  CHECK(test::read_file(folder.file("run-0.pftrace")) != test::read_file(folder.file("run-1.pftrace")));
}

TEST_CASE("The program of threads", "[.]") { CHECK(run_program() == 0); }

TEST_CASE("The program of jobs", "[.]") { run_jobs(); }

TEST_CASE("The program of several traces", "[.]") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 4096);
  const auto fill = [&] { stream.fill(data.as<std::uint32_t>(), 1u); };
  fill();
  layer_command("trace", "flush");
  fill();
  layer_command("trace", "end");
  fill();
  const std::string second = std::string(std::getenv("ANYPLACE_TRACE")) + ".second";
  layer_command("trace", "begin", second);
  fill();
  layer_command("trace", "end");
  CHECK(executions_of(tracks_of(std::getenv("ANYPLACE_TRACE"))).size() == 2);
  CHECK(executions_of(tracks_of(second)).size() == 1);
}

TEST_CASE("The program of many calls", "[.]") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 64);
  for (int i = 0; i < many_calls; ++i) stream.fill(data.as<std::uint32_t>(), 1u);
  stream.synchronize();
}

TEST_CASE("The program of too many marks", "[.]") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer data(stream, 64);
  stream.fill(data.as<std::uint32_t>(), 1u);
  for (std::uint64_t i = 0; i < most_kept + too_many; ++i) annotate::mark("a mark");
  stream.fill(data.as<std::uint32_t>(), 2u);
  stream.synchronize();
  layer_command("trace", "end");  // so much may take longer to write than the process's exit waits for
}

}  // namespace trace_virtual_test
