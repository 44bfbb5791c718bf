// SPDX-License-Identifier: Apache-2.0
//
// Data that goes from one vendor's device to another's, each over the tests' double of its library, ordered by waits
// for the other's stream or event alone, and with one kernel on each device that it comes through.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "crossing_kernels.h"
#include "doubles/double_control.hpp"
#include "over_doubles.h"
#include "support/environment.h"
#include "support/host_gate.h"
#include "support/process.h"

namespace crossing_test {

using namespace example_test;

namespace {

constexpr std::uint32_t count = 70'000;  // more than a block of any allocator's, and no round number
constexpr std::uint32_t rounds = 9;

struct Station {
  explicit Station(const std::string& place)
      : device(place), stream(device), kernels(device, crossing_kernels), values(stream, count * 4) {}

  anyplace::Device device;
  anyplace::Stream stream;
  anyplace::Module kernels;
  anyplace::KernelView step = kernels.kernel("step");
  anyplace::Buffer values;
};

/// The values of `from`, as they are after what its stream has by now, and one step more.
void pass_on(Station& from, Station& to, std::uint32_t round) {
  if (round % 2 == 0) {
    to.stream.wait_stream(from.stream);
  } else {
    to.stream.wait_event(from.stream.record_event());
  }
  from.values.record_stream(to.stream);
  to.stream.copy(to.values, from.values);
  to.stream.launch(to.step, {(count + 255) / 256, 256}, to.values, count, round);
}

std::uint32_t expected(std::uint32_t i) {
  std::uint32_t value = 7;
  for (std::uint32_t round = 0; round < rounds; ++round) value = value * 3 + round + i;
  return value;
}

/// Whether copies between these devices leave the host free. Level Zero can't be told of another vendor's host memory,
/// so a copy to such a device may wait until its piece is in the host's.
bool copies_never_wait(const std::vector<std::unique_ptr<Station>>& stations) {
  return std::all_of(stations.begin(), stations.end(),
                     [](const auto& station) { return station->device.has(anyplace::Capability::host_register); });
}

/// An exit status: 0 if all is right; what isn't is on standard error.
int go_round(const std::vector<std::string>& places) {
  std::vector<std::unique_ptr<Station>> stations;
  for (const std::string& place : places) stations.push_back(std::make_unique<Station>(place));
  // Where that can be, nothing runs before everything is submitted.
  const bool gated = copies_never_wait(stations);
  test::HostGate gate;
  if (gated) gate.block(stations[0]->stream);
  stations[0]->stream.memset32(stations[0]->values, 7);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    pass_on(*stations[round % stations.size()], *stations[(round + 1) % stations.size()], round);
  }
  const Station& last = *stations[rounds % stations.size()];
  const bool early = gated && last.stream.query();
  gate.open();
  std::vector<std::uint32_t> values(count);
  last.stream.copy(values, last.values);
  last.stream.synchronize();
  if (early) std::fputs("the last stream waited for nothing\n", stderr);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (values[i] == expected(i)) continue;
    std::fprintf(stderr, "value %u is %u, and should be %u\n", i, values[i], expected(i));
    return 1;
  }
  return early ? 1 : 0;
}

void check_crossing(Over over, const std::vector<std::string>& places) {
  if (!is_built(over)) return;
  const Folder folder;
  for (const char* const seed : {"0", "1", "2", "3"}) {
    over.seed = seed;
    const test::Ended child = test::in_child([&] {
      for (const auto& [name, value] : variables_of(over, folder)) test::set_env(name.c_str(), value);
      // What is loaded already is what the backends find.
      for (const std::string& library : libraries_of(over)) anyplace::doubles::Control(library.c_str(), true);
      return go_round(places);
    });
    INFO("seed " << seed << ": " << child.out);
    CHECK(child.status == 0);
    CHECK(child.out.empty());
    check_reports(over, folder);
  }
}

}  // namespace

TEST_CASE("Data crosses between cuda and levelzero in order") {
  check_crossing({{"cuda", "levelzero"}, LevelZero::as_loader}, {"cuda:0", "levelzero:0"});
}

TEST_CASE("Data crosses between cuda and levelzero behind its loader in order") {
  check_crossing({{"cuda", "levelzero"}, LevelZero::behind_loader}, {"cuda:0", "levelzero:0"});
}

TEST_CASE("Data crosses between cuda and hip in order") { check_crossing({{"cuda", "hip"}}, {"cuda:0", "hip:0"}); }

TEST_CASE("Data crosses between hip and levelzero in order") {
  check_crossing({{"hip", "levelzero"}, LevelZero::as_loader}, {"hip:0", "levelzero:0"});
}

TEST_CASE("Data crosses between hip and levelzero behind its loader in order") {
  check_crossing({{"hip", "levelzero"}, LevelZero::behind_loader}, {"hip:0", "levelzero:0"});
}

TEST_CASE("Data goes round devices of all four backends in order") {
  check_crossing({{"cuda", "hip", "levelzero"}, LevelZero::as_loader}, {"levelzero:0", "cuda:0", "cpu_sim:0", "hip:0"});
}

TEST_CASE("Data goes round devices of all four backends with levelzero behind its loader in order") {
  check_crossing({{"cuda", "hip", "levelzero"}, LevelZero::behind_loader},
                 {"cuda:0", "cpu_sim:0", "levelzero:0", "hip:0"});
}

}  // namespace crossing_test
