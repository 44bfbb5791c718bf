// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

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

}  // namespace bench
