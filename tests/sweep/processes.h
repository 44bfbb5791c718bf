// SPDX-License-Identifier: Apache-2.0
//
// Many processes, as many at once as there are processors: what each writes, and how it ends.
#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "support/process.h"

namespace sweep {

/// For one process; a hang is what it is for, so it is long.
constexpr auto patience = std::chrono::seconds(120);

/// One of them. What else is known of it derives from this.
struct Child {
  explicit Child(test::Process started) : process(std::move(started)) {}

  test::Process process;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + patience;
  test::Ended ended;  ///< once advance() was true
};

/// Reads what there is. True when the process is over; one that hangs is ended with `signal`.
inline bool advance(Child& child, int signal) {
  const bool hangs = std::chrono::steady_clock::now() >= child.deadline;
  if (!hangs && child.process.read(std::chrono::milliseconds(20))) return false;
  child.ended = child.process.end(hangs ? std::chrono::seconds(0) : patience, signal);
  return true;
}

/// Starts with `next()` while `more()`, and gives each that is over to `judge`.
template <class Child, class More, class Next, class Judge>
void run_all(int signal, More&& more, Next&& next, Judge&& judge) {
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::list<Child> running;
  while (more() || !running.empty()) {
    while (more() && running.size() < at_once) running.push_back(next());
    for (auto child = running.begin(); child != running.end();) {
      if (!advance(*child, signal)) {
        ++child;
        continue;
      }
      judge(*child);
      child = running.erase(child);
    }
  }
}

}  // namespace sweep
