// SPDX-License-Identifier: Apache-2.0
//
// What an operation costs, submitted and drained, with more and more streams, and with more and more threads of the
// host, each with a stream of its own or all on one.
#include <algorithm>
#include <barrier>
#include <thread>

#include "suite.h"

namespace bench {
namespace {

std::vector<std::size_t> stream_counts(const Suite& suite) {
  return suite.quick ? std::vector<std::size_t>{16, 10'000} : std::vector<std::size_t>{1, 16, 100, 1000, 10'000};
}
std::vector<std::size_t> thread_counts(const Suite& suite) {
  return suite.quick ? std::vector<std::size_t>{1, 64} : std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 64};
}

void over_streams(benchmark::State& state, Peer& peer, std::size_t count, std::size_t operations) {
  const auto streams = peer.make_streams(count);
  time_batches(state, *streams, operations, [&] {
    const std::uint64_t start = ticks();
    streams->submit_in_turn(operations);
    streams->synchronize_all();
    return ticks() - start;
  });
}

/// Threads that do the same thing each time they are let go, and are there all along.
template <class Work>
class HostThreads {
 public:
  HostThreads(std::size_t count, Work work) : work_(std::move(work)), line_(static_cast<std::ptrdiff_t>(count) + 1) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, i] {
        for (;;) {
          line_.arrive_and_wait();
          if (ending_) return;
          work_(i);
          line_.arrive_and_wait();
        }
      });
    }
  }
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;
  ~HostThreads() {
    ending_ = true;
    line_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  void run() {
    line_.arrive_and_wait();
    line_.arrive_and_wait();
  }

 private:
  Work work_;
  bool ending_ = false;  // written before the barrier that the threads wait at
  std::barrier<> line_;
  std::vector<std::thread> threads_;
};

void over_threads(benchmark::State& state, Peer& peer, std::size_t count, bool shared, std::size_t operations) {
  const auto streams = peer.make_streams(shared ? 1 : count);
  const std::size_t each = std::max<std::size_t>(operations / count, 1);
  HostThreads threads(count, [&](std::size_t thread) { streams->submit(shared ? 0 : thread, each); });
  time_batches(state, *streams, each * count, [&] {
    const std::uint64_t start = ticks();
    threads.run();
    streams->synchronize_all();
    return ticks() - start;
  });
}

}  // namespace

void add_scale(Suite& suite) {
  for (const auto& made : suite.peers) {
    Peer& peer = *made;
    const std::size_t operations = suite.size(256 * 1024) / peer.slowness();
    for (const std::size_t count : stream_counts(suite)) {
      if (count > peer.most_streams()) {
        suite.left_out.push_back("streams/" + peer.name() + "/" + std::to_string(count) + ": each is a thread");
        continue;
      }
      if (suite.quick && peer.slowness() > 1 && count > 1000) {
        suite.left_out.push_back("streams/" + peer.name() + "/" + std::to_string(count) +
                                 ": takes too long for a quick run");
        continue;
      }
      const std::size_t enough = std::max(operations, count);
      benchmark::RegisterBenchmark(
          ("streams/" + peer.name() + "/" + std::to_string(count)).c_str(),
          [&peer, count, enough](benchmark::State& state) { over_streams(state, peer, count, enough); })
          ->UseManualTime();
    }
    for (const bool shared : {false, true}) {
      for (const std::size_t count : thread_counts(suite)) {
        const std::string metric = shared ? "threads_one_stream/" : "threads/";
        benchmark::RegisterBenchmark((metric + peer.name() + "/" + std::to_string(count)).c_str(),
                                     [&peer, count, shared, operations](benchmark::State& state) {
                                       over_threads(state, peer, count, shared, operations);
                                     })
            ->UseManualTime();
      }
    }
  }
}

}  // namespace bench
