// SPDX-License-Identifier: Apache-2.0
//
// What capturing a call costs, and a graph that the library submits node by node beside submitting the same calls: a
// chain on one stream, and work on 4 streams with events between them. One operation is a kernel with 3 arguments.
#include <anyplace/anyplace.h>

#include "suite.h"

namespace bench {
namespace {

using namespace anyplace;

constexpr std::size_t chain_length = 1000;
constexpr std::size_t branches = 4;
constexpr std::size_t rounds = 50;  ///< of one kernel on each branch, then an exchange with the next one

struct Ground {
  Device device{"cpu_sim:0"};
  std::vector<Stream> streams;
  Buffer data;
  Kernel kernel{device, [](const Block&, std::uint64_t* value, std::uint64_t factor, std::uint64_t term) {
                  *value = *value * factor + term;
                }};
  std::vector<Event> events;

  Ground() {
    for (std::size_t i = 0; i < branches; ++i) streams.emplace_back(device);
    data = Buffer(streams[0], branches * 64);
    streams[0].memset8(data, 0);
    for (std::size_t i = 0; i < branches * (rounds + 2); ++i) events.emplace_back(device);
    device.synchronize();
  }
  void launch(std::size_t stream) const {
    streams[stream].launch(kernel, {}, data.sub(stream * 64, 8), std::uint64_t{3}, std::uint64_t{1});
  }
  std::size_t submit_chain() const {
    for (std::size_t i = 0; i < chain_length; ++i) launch(0);
    return chain_length;
  }
  /// As a program with streams and events does it: fork, rounds with an exchange after each, join.
  std::size_t submit_branches() const {
    std::size_t event = 0;
    const EventView begin = streams[0].record_event(events[event++]);
    for (std::size_t b = 1; b < branches; ++b) streams[b].wait_event(begin);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t b = 0; b < branches; ++b) launch(b);
      for (std::size_t b = 0; b < branches; ++b) streams[b].record_event(events[event + b]);
      for (std::size_t b = 0; b < branches; ++b) streams[b].wait_event(events[event + (b + 1) % branches]);
      event += branches;
    }
    for (std::size_t b = 1; b < branches; ++b) streams[0].wait_event(streams[b].record_event(events[event++]));
    return branches * rounds;
  }
};

using Submit = std::size_t (Ground::*)() const;

template <class Batch>
void time_them(benchmark::State& state, const Ground& ground, std::size_t operations, Batch&& batch) {
  batch();
  ground.device.synchronize();
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) times.add(state, batch());
  times.report(state, operations);
}

void submitted(benchmark::State& state, Submit submit) {
  const Ground ground;
  time_them(state, ground, (ground.*submit)(), [&] {
    const std::uint64_t start = ticks();
    (ground.*submit)();
    ground.streams[0].synchronize();
    return ticks() - start;
  });
}

void launched(benchmark::State& state, Submit submit, bool native) {
  const Ground ground;
  ground.streams[0].begin_capture();
  const std::size_t operations = (ground.*submit)();
  const GraphExec exec = ground.streams[0].end_capture().instantiate({.native = native});
  if (native && !exec.is_native()) return state.SkipWithError("the device doesn't launch it as one");
  time_them(state, ground, operations, [&] {
    const std::uint64_t start = ticks();
    exec.launch(ground.streams[0]);
    ground.streams[0].synchronize();
    return ticks() - start;
  });
}

/// The calls alone: beginning, ending and making an executable graph are once for a graph.
void captured(benchmark::State& state) {
  const Ground ground;
  time_them(state, ground, chain_length, [&] {
    ground.streams[0].begin_capture(CaptureMode::relaxed);
    const std::uint64_t start = ticks();
    ground.submit_chain();
    const std::uint64_t taken = ticks() - start;
    static_cast<void>(ground.streams[0].end_capture());
    return taken;
  });
}

}  // namespace

void add_captures(Suite& suite) {
  const auto add = [&](const std::string& name, auto run) {
    suite.limit(benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime());
  };
  add("capture_call/anyplace", captured);
  const std::pair<const char*, Submit> shapes[] = {{"chain", &Ground::submit_chain},
                                                   {"branches", &Ground::submit_branches}};
  for (const auto& [of, how] : shapes) {
    const std::string shape = of;
    const Submit submit = how;
    add("replay_" + shape + "/submitted", [submit](benchmark::State& state) { submitted(state, submit); });
    add("replay_" + shape + "/by the library", [submit](benchmark::State& state) { launched(state, submit, false); });
    add("replay_" + shape + "/by the device", [submit](benchmark::State& state) { launched(state, submit, true); });
  }
}

}  // namespace bench
