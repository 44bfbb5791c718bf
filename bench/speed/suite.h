// SPDX-License-Identifier: Apache-2.0
//
// What the benches share. A case is named METRIC/WHO or METRIC/WHO/VARIANT, one iteration is a batch of as many
// operations as its counter `operations` says, and its time is that of the batch. Each case counts what ran: one
// operation that was lost or ran twice is an error of the case, whatever its time.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loops.h"
#include "peer.h"

namespace bench {

struct Suite {
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::string> left_out;  // METRIC/WHO: why
  bool quick = false;                 // a hundredth of the work: whether it runs, not how fast

  std::size_t size(std::size_t full) const { return quick ? std::max<std::size_t>(full / 100, 1) : full; }
  /// Of a case whose batches are short beside what lies between them, a quick run makes few.
  void limit(benchmark::internal::Benchmark* one) const {
    if (quick) one->Iterations(20);
  }
  /// Whether that peer can do it; says so in left_out where not.
  bool can(const Peer& peer, Feature feature, const std::string& metric);
};

inline bool Suite::can(const Peer& peer, Feature feature, const std::string& metric) {
  const std::string why = peer.lacks(feature);
  if (!why.empty()) left_out.push_back(metric + "/" + peer.name() + ": " + why);
  return why.empty();
}

/// The times of one repetition's batches. Beside their mean, which Google Benchmark reports, the counter `median`, in
/// nanoseconds of a batch: what another process takes away from a few batches isn't in it.
class BatchTimes {
 public:
  void add(benchmark::State& state, std::uint64_t length) {
    nanoseconds_.push_back(static_cast<double>(length) * nanoseconds_per_tick());
    state.SetIterationTime(nanoseconds_.back() * 1e-9);
  }
  void report(benchmark::State& state, std::size_t operations) {
    state.counters["operations"] = static_cast<double>(operations);
    if (nanoseconds_.empty()) return;
    const auto middle = nanoseconds_.begin() + static_cast<std::ptrdiff_t>(nanoseconds_.size() / 2);
    std::nth_element(nanoseconds_.begin(), middle, nanoseconds_.end());
    state.counters["median"] = *middle;
  }

 private:
  std::vector<double> nanoseconds_;
};

/// `batch` runs that many operations and leaves the streams idle. It returns the ticks that count.
template <class Batch>
void time_batches(benchmark::State& state, Streams& streams, std::size_t operations, Batch batch) {
  const std::uint64_t before = streams.ran();
  batch();
  std::uint64_t expected = operations;
  BatchTimes times;
  for ([[maybe_unused]] auto _ : state) {
    times.add(state, batch());
    expected += operations;
  }
  streams.synchronize_all();
  if (streams.ran() - before != expected) state.SkipWithError("not every operation ran once");
  times.report(state, operations);
}

/// Each file registers its own.
void add_enqueue(Suite& suite);
void add_latency(Suite& suite);
void add_events(Suite& suite);
void add_graph(Suite& suite);
void add_copy(Suite& suite);
void add_sums(Suite& suite, const std::string& place);
void add_scale(Suite& suite);
void add_arguments(Suite& suite);
void add_grids(Suite& suite);
void add_host_functions(Suite& suite);
void add_small(Suite& suite);
void add_captures(Suite& suite);
void add_limits(Suite& suite);

}  // namespace bench
