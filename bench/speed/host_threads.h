// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "suite.h"

namespace bench {

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

/// So many threads submit `each` operations by `submit(thread)`, and all of them are drained.
template <class Submit>
void time_threads(benchmark::State& state, Streams& streams, std::size_t count, std::size_t each, Submit submit) {
  HostThreads threads(count, submit);
  time_batches(state, streams, each * count, [&] {
    const std::uint64_t start = ticks();
    threads.run();
    streams.synchronize_all();
    return ticks() - start;
  });
}

}  // namespace bench
