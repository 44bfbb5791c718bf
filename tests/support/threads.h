// SPDX-License-Identifier: Apache-2.0
//
// Threads that do the same at the same time.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace test {

/// Runs body(i) on as many threads, and waits for them. What one of them throws is thrown here then.
template <class Count, class Body>
void on_threads(Count count, const Body& body) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (Count i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        body(i);
      } catch (...) {
        thrown[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace test
