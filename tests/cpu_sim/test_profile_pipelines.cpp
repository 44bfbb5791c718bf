// SPDX-License-Identifier: Apache-2.0
//
// Programs on devices with a profile: what they take in virtual time against the closed form of the same pipeline. Each
// runs in a process of its own, because the profile is chosen once in a process.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace test_profile_pipelines_cases {

using namespace anyplace;

namespace {

constexpr std::uint64_t mb = 1'000'000;
constexpr double launch = 3000, work = 80'000;
// What a megabyte takes to the device and to the host.
constexpr double up = 1000 + 100'000, down = 2000 + 50'000;
constexpr int rounds = 20;

/// A device of round figures. Each kernel takes 80 us.
std::string profile(const std::string& call_ns = "10", const std::string& more = "") {
  return R"({
  "anyplace_device_profile": 1, "name": "mine", "description": "a device of round figures",
  "sources": {"me": "my own"},
  "memory_bytes": {"value": 1e9, "source": "me"}, "memory_bytes_per_second": {"value": 1e12, "source": "me"},
  "flops_per_second": {"value": 1e13, "source": "me"},
  "to_device_bytes_per_second": {"value": 10e9, "source": "me"}, "to_device_latency_ns": {"value": 1000, "source": "me"},
  "to_host_bytes_per_second": {"value": 20e9, "source": "me"}, "to_host_latency_ns": {"value": 2000, "source": "me"},
  "peer_bytes_per_second": {"value": 100e9, "source": "me"}, "peer_latency_ns": {"value": 500, "source": "me"},
  "launch_ns": {"value": 3000, "source": "me"}, "devices": {"value": 4, "source": "me"},
  "kernels": {"*": {"launch_ns": 80000, "source": "me"}},)" +
         more + "\"call_ns\": {\"value\": " + call_ns + ", \"source\": \"me\"}}";
}

/// Runs `program` with the profile, under a strategy. Returns what it returned.
double run(const std::string& text, const std::function<double()>& program, const std::string& strategy = "") {
  const test::TempDir folder;
  const std::string file = folder.write("mine.json", text);
  const test::Ended ended = test::in_child([&] {
    test::set_env("ANYPLACE_CPU_SIM_PROFILE", file);
    test::set_env("ANYPLACE_CPU_SIM_STRATEGY", strategy);
    std::printf("result %.17g\n", program());
    return 0;
  });
  INFO(ended.out);
  REQUIRE(ended.status == 0);
  const std::size_t at = ended.out.find("result ");
  REQUIRE(at != std::string::npos);
  return std::stod(ended.out.substr(at + 7));
}

/// Returns how long `body` takes by the device's clock.
double virtual_ns(const Device& device, const std::function<void()>& body) {
  const std::uint64_t begin = device.clock().device_ns;
  body();
  return static_cast<double>(device.clock().device_ns - begin);
}

auto is(double ns) { return Catch::WithinRel(ns, 0.01); }

const auto nothing = [](const Block&) {};

/// What a round works with: a stream, and memory on both sides.
struct Lane {
  explicit Lane(const Device& of)
      : device(of), stream(of), memory(stream, mb), in(of, mb), out(of, mb), kernel(of, nothing) {
    stream.synchronize();
  }
  void copy_in() const { stream.copy(memory, in); }
  void compute() const { stream.launch(kernel, {1, 1}); }
  void copy_out() const { stream.copy(out, memory); }

  Device device;
  Stream stream;
  Buffer memory;
  HostBuffer in, out;
  Kernel kernel;
};

/// Copy, kernel and copy, so many times, in turns on the lanes.
double pipeline(std::size_t lanes) {
  const Device device("cpu_sim:0");
  std::vector<Lane> all;
  for (std::size_t i = 0; i < lanes; ++i) all.emplace_back(device);
  return virtual_ns(device, [&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      const Lane& lane = all[round % lanes];
      lane.copy_in();
      lane.compute();
      lane.copy_out();
    }
    device.synchronize();
  });
}

/// On each of two devices a copy and a kernel.
double two_devices() {
  const Device device("cpu_sim:0");
  const Lane first(device), second{Device("cpu_sim:1")};
  return virtual_ns(device, [&] {
    first.copy_in();
    second.copy_in();
    first.compute();
    second.compute();
    first.stream.synchronize();
    second.stream.synchronize();
  });
}

}  // namespace

TEST_CASE("Given copies only, or kernels only, on a stream with a profile, Then their times add up") {
  const auto repeat = [](void (Lane::*step)() const) {
    return [step] {
      const Lane lane(Device("cpu_sim:0"));
      return virtual_ns(lane.device, [&] {
        for (int i = 0; i < rounds; ++i) (lane.*step)();
        lane.stream.synchronize();
      });
    };
  };
  CHECK_THAT(run(profile(), repeat(&Lane::copy_in)), is(launch + rounds * up));
  CHECK_THAT(run(profile(), repeat(&Lane::copy_out)), is(launch + rounds * down));
  CHECK_THAT(run(profile(), repeat(&Lane::compute)), is(launch + rounds * work));
}

TEST_CASE("Given a serial pipeline with a profile, Then it takes the sum of its steps") {
  CHECK_THAT(run(profile(), [] { return pipeline(1); }), is(launch + rounds * (up + work + down)));
}

TEST_CASE("Given a double-buffered pipeline with a profile, Then every second round begins when one is over") {
  CHECK_THAT(run(profile(), [] { return pipeline(2); }), is(launch + rounds / 2 * (up + work + down) + up));
}

TEST_CASE("Given two devices with a profile, Then they don't hold each other up unless they share a link") {
  CHECK_THAT(run(profile(), two_devices), is(launch + up + work));
  const std::string shared = profile("10", R"("devices_per_host_link": {"value": 2, "source": "me"},)");
  CHECK_THAT(run(shared, two_devices), is(launch + 1000 + 2 * 100'000 + work));
}

TEST_CASE("Given short kernels with a profile, Then calls are what takes the time, and a graph takes one call") {
  constexpr int kernels = 100;
  constexpr double call = 5000;
  std::string text = profile("5000");
  text.replace(text.find("80000"), 5, "1000");
  const auto submit = [](const Lane& lane) {
    for (int i = 0; i < kernels; ++i) lane.compute();
  };
  const double stream = run(text, [&] {
    const Lane lane(Device("cpu_sim:0"));
    return virtual_ns(lane.device, [&] {
      submit(lane);
      lane.stream.synchronize();
    });
  });
  CHECK_THAT(stream, is(kernels * call + launch + 1000));
  const double graph = run(text, [&] {
    const Lane lane(Device("cpu_sim:0"));
    lane.stream.begin_capture();
    submit(lane);
    const GraphExec exec = lane.stream.end_capture().instantiate();
    return virtual_ns(lane.device, [&] {
      exec.launch(lane.stream);
      lane.stream.synchronize();
    });
  });
  CHECK_THAT(graph, is(call + launch + kernels * 1000));
}

TEST_CASE("Given branches of a graph with a profile, Then they overlap where their engines are several") {
  const double ns = run(profile(), [] {
    const Lane lane(Device("cpu_sim:0")), other(lane.device);
    lane.stream.begin_capture();
    other.stream.wait_event(lane.stream.record_event());
    lane.copy_in();
    other.copy_out();
    lane.stream.wait_stream(other.stream);
    lane.compute();
    const GraphExec exec = lane.stream.end_capture().instantiate();
    return virtual_ns(lane.device, [&] {
      exec.launch(lane.stream);
      lane.stream.synchronize();
    });
  });
  CHECK_THAT(ns, is(launch + std::max(up, down) + work));
}

TEST_CASE("Given a ring all_reduce of copies with a profile, Then each of its steps moves one part of the buffer") {
  static constexpr std::size_t ranks = 4;
  static constexpr std::uint64_t part = 4 * mb;
  const double ns = run(profile(), [] {
    std::vector<Device> devices;
    std::vector<Stream> streams;
    std::vector<Buffer> sends, receives;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      devices.emplace_back("cpu_sim:" + std::to_string(rank));
      streams.emplace_back(devices.back());
      sends.emplace_back(streams.back(), part);
      receives.emplace_back(streams.back(), part);
      streams.back().synchronize();
    }
    return virtual_ns(devices[0], [&] {
      std::vector<Event> sent(ranks);
      for (std::size_t step = 0; step < 2 * (ranks - 1); ++step) {
        std::vector<Event> now(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          // A rank passes on what it was sent in the step before.
          if (step > 0) streams[rank].wait_event(sent[(rank + ranks - 1) % ranks]);
          streams[rank].copy(receives[(rank + 1) % ranks], sends[rank]);
          now[rank] = streams[rank].record_event();
        }
        sent = std::move(now);
      }
      for (const Stream& stream : streams) stream.synchronize();
    });
  });
  CHECK_THAT(ns, is(launch + 2 * (ranks - 1) * (500 + part / 100.0)));
}

TEST_CASE("Given a profile, Then events tell when operations began and ended, to the nanosecond") {
  const double ns = run(profile(), [] {
    const Lane lane(Device("cpu_sim:0"));
    lane.copy_in();
    const Event begin = lane.stream.record_event({.timing = true});
    lane.compute();
    const Event end = lane.stream.record_event({.timing = true});
    end.synchronize();
    return elapsed_time(begin, end) * 1e6;
  });
  CHECK_THAT(ns, Catch::WithinAbs(work, 0.5));
}

TEST_CASE("Given any other strategy with a profile, Then a pipeline takes as long or longer, and ends") {
  const double least = run(profile(), [] { return pipeline(2); });
  for (const char* const strategy : {"random", "pct:3", "round_robin", "lazy"}) {
    INFO(strategy);
    CHECK(run(
              profile(), [] { return pipeline(2); }, strategy) >= least);
  }
}

TEST_CASE("Given the profile h100, Then there are its devices with their memory, and a copy has its link's rate") {
  const test::Ended ended = test::in_child([&] {
    test::set_env("ANYPLACE_CPU_SIM_PROFILE", "h100");
    const Lane lane(Device("cpu_sim:7"));
    const double ns = virtual_ns(lane.device, [&] {
      lane.copy_in();
      lane.stream.synchronize();
    });
    std::printf("%.0f bytes, %.0f ns", static_cast<double>(lane.device.properties().total_memory.value_or(0)), ns);
    return 0;
  });
  // The copy takes 15625 ns, and the call that submits it one.
  CHECK_THAT(ended.out, Catch::Contains("80000000000 bytes, 15626 ns"));
}

}  // namespace test_profile_pipelines_cases
