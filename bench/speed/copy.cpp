// SPDX-License-Identifier: Apache-2.0
//
// 64 MiB of host memory to the device's, touched before, one copy after another; and memcpy of as many bytes.
#include "suite.h"

namespace bench {
namespace {

constexpr std::size_t copied_bytes = std::size_t{64} << 20;

void copy(benchmark::State& state, Peer& peer) {
  const auto copies = peer.make_copy(copied_bytes);
  copies->run();
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t start = ticks();
    copies->run();
    times.add(state, ticks() - start);
  }
  if (!copies->arrived()) state.SkipWithError("the device has other bytes than the host");
  times.report(state, 1);
  state.counters["bytes"] = static_cast<double>(copied_bytes);
}

}  // namespace

void add_copy(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    if (!suite.can(peer, Feature::copies, "copy")) continue;
    const std::string who = peer.name() == "naive" ? "memcpy" : peer.name();
    benchmark::RegisterBenchmark(("copy/" + who).c_str(), [&peer](benchmark::State& state) {
      copy(state, peer);
    })->UseManualTime();
  }
}

}  // namespace bench
