// SPDX-License-Identifier: Apache-2.0
// The layer `trace`: what protoc, a reader of its own, finds in the files, and what a program notices of bad ones.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>

#include "anyplace/anyplace.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "trace_file.h"

namespace trace_test {

using namespace anyplace;
using Catch::Contains;
using namespace trace_file;

namespace {

/// Two streams, one of which waits for the other; a fill, a copy and a host function, `rounds` times.
int work(int rounds) {
  const Device device("cpu_sim:0");
  const Stream one(device), other(device);
  const Event event(device);
  const Buffer data(one, 4096);
  std::vector<std::uint32_t> host(1024);
  for (int i = 0; i < rounds; ++i) {
    one.fill(data.as<std::uint32_t>(), static_cast<std::uint32_t>(i));
    one.record_event(event);
    other.wait_event(event);
    other.copy(host, data);
    other.launch_host_func([] {});
    other.synchronize();
  }
  one.synchronize();
  return host.back() == static_cast<std::uint32_t>(rounds - 1) ? 0 : 1;
}

/// Does the work in a child, and returns what that said.
std::string said_in_child(int rounds, const std::string& file) {
  const test::Ended ended = test::in_child([&] {
    use_trace(file);
    return work(rounds);
  });
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK(ended.signal == 0);
  return ended.out;
}

std::size_t warnings_in(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("warning"); at != std::string::npos; at = text.find("warning", at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("Every submission has its execution, joined by a flow, and no slices of a lane overlap") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  CHECK(said_in_child(50, file).empty());
  const Tracks tracks = tracks_of(file);
  const std::vector<Slice> executions = executions_of(tracks);
  std::map<std::string, const Slice*> by_flow;
  for (const Slice& one : executions) {
    REQUIRE(one.flows.size() == 1);
    by_flow[*one.flows.begin()] = &one;
  }
  for (const char* const entry : {"memory_set", "memory_copy", "stream_host_function"}) {
    const std::vector<Slice> calls = named(tracks.at("thread"), entry);
    INFO(entry);
    CHECK(calls.size() == 50);
    for (const Slice& call : calls) {
      REQUIRE(call.flows.size() == 1);
      REQUIRE(by_flow.count(*call.flows.begin()) == 1);
      CHECK(by_flow.at(*call.flows.begin())->begin >= call.begin);
    }
  }
  CHECK(executions.size() == 150);
  for (const auto& [track, slices] : tracks) {
    if (track == "thread") continue;
    for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i].begin >= slices[i - 1].end);
  }
}

TEST_CASE("A wait has the flow of its record, and the host's wait that of what it waited for") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  said_in_child(3, file);
  const Tracks tracks = tracks_of(file);
  const std::vector<Slice>& calls = tracks.at("thread");
  const auto records = named(calls, "event_record"), waits = named(calls, "stream_wait_event");
  REQUIRE(waits.size() == 3);
  for (const Slice& wait : waits) {
    REQUIRE(wait.flows.size() == 1);
    const auto is_its = [&](const Slice& record) { return record.flows == wait.flows && record.begin < wait.begin; };
    CHECK(std::any_of(records.begin(), records.end(), is_its));
  }
  for (const Slice& wait : named(calls, "stream_synchronize")) CHECK(wait.flows.size() == 1);
}

TEST_CASE("The calls of several threads are all there, each thread's on its track") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  const test::Ended ended = test::in_child([&] {
    use_trace(file);
    const Device device("cpu_sim:0");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const Stream stream(device);
        const Event event(device);
        // A thread's buffer holds the calls of a round, however late the writer is.
        for (int round = 0; round < 3; ++round) {
          for (int k = 0; k < 1500; ++k) stream.record_event(event);
          stream.synchronize();
          layer_command("trace", "flush");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return 0;
  });
  CHECK(ended.status == 0);
  CHECK(named(tracks_of(file).at("thread"), "event_record").size() == 18000);
}

TEST_CASE("A process that is killed leaves what was flushed") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  const test::Ended ended = test::in_child([&] {
    use_trace(file);
    work(5);
    layer_command("trace", "flush");
    ::raise(SIGKILL);
    return 0;
  });
  CHECK(ended.signal == SIGKILL);
  CHECK(executions_of(tracks_of(file)).size() == 15);
}

TEST_CASE("The program begins and ends traces") {
  const test::TempDir folder;
  const std::string first_file = (folder.path() / "first.pftrace").string();
  const std::string second_file = (folder.path() / "second.pftrace").string();
  const test::Ended ended = test::in_child([&] {
    use_trace("off");
    const Stream before(Device("cpu_sim:0"));
    const Buffer data(before, 4096);
    const auto fill = [&] { before.fill(data.as<std::uint32_t>(), 1u); };
    fill();
    for (const std::string& file : {first_file, second_file}) {
      if (layer_command("trace", "begin", file) != file) return 1;
      if (test::code_of([] { layer_command("trace", "begin"); }) != ErrorCode::invalid_argument) return 2;
      fill();
      before.synchronize();
      layer_command("trace", "end");
      fill();
    }
    return test::code_of([] { layer_command("trace", "sing"); }) == ErrorCode::invalid_argument ? 0 : 3;
  });
  INFO(ended.out);
  CHECK(ended.status == 0);
  for (const std::string& file : {first_file, second_file}) {
    const Tracks tracks = tracks_of(file);
    CHECK(named(tracks.at("thread"), "memory_set").size() == 1);
    CHECK(executions_of(tracks).size() == 1);
  }
}

TEST_CASE("Where no file can be written the program goes on, with one warning") {
  const test::TempDir folder;
  for (const std::string& file : {(folder.path() / "none" / "run.pftrace").string(), std::string("/dev/full")}) {
    INFO(file);
    CHECK(warnings_in(said_in_child(200, file)) == 1);
  }
}

TEST_CASE("A pipe that nobody reads any more ends the trace, and not the program") {
  const test::TempDir folder;
  const std::string pipe = (folder.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(warnings_in(said_in_child(5, pipe)) == 1);
  const test::Ended ended = test::in_child([&] {
    use_trace(pipe);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    const Stream stream(Device("cpu_sim:0"));
    ::close(reader);
    layer_command("trace", "flush");
    return work(200);
  });
  INFO(ended.out);
  CHECK(ended.status == 0);
  CHECK(ended.signal == 0);
  CHECK(warnings_in(ended.out) == 1);
}

TEST_CASE("A trace ends at its limit with whole packets") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  set_env("ANYPLACE_TRACE_LIMIT", "64K");
  const std::string said = said_in_child(300, file);
  CHECK(warnings_in(said) == 1);
  CHECK_THAT(said, Contains("ANYPLACE_TRACE_LIMIT"));
  CHECK(std::filesystem::file_size(file) <= 64 * 1024);
  decoded(file);
}

TEST_CASE("Two processes with one file have a file each") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  const test::Ended ended = test::in_child([&] {
    use_trace(file);
    work(2);
    const test::Ended child = test::Process({"/proc/self/exe", "The executed program"}).end();
    return child.status;
  });
  CHECK(ended.status == 0);
  CHECK(executions_of(tracks_of(file)).size() == 6);
  int files = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder.path())) {
    ++files;
    if (one.path() != file) CHECK(executions_of(tracks_of(one.path().string())).size() == 9);
  }
  CHECK(files == 2);
}
TEST_CASE("The executed program", "[.]") { CHECK(work(3) == 0); }

TEST_CASE("A limit that is none keeps the backend from being used") {
  use_trace("off");
  set_env("ANYPLACE_TRACE_LIMIT", "some");
  const Error error = test::required_error(ErrorCode::invalid_argument, [] { const Device device("cpu_sim:0"); });
  CHECK_THAT(error.text(), Contains("ANYPLACE_TRACE_LIMIT is 'some'"));
}

TEST_CASE("Without times of the device a trace has the calls alone") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "run.pftrace").string();
  set_env("ANYPLACE_TRACE_DEVICE", "0");
  said_in_child(3, file);
  const Tracks tracks = tracks_of(file);
  CHECK(named(tracks.at("thread"), "memory_copy").size() == 3);
  CHECK(executions_of(tracks).size() == 3);  // the host functions
}

}  // namespace trace_test
