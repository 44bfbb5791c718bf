// SPDX-License-Identifier: Apache-2.0
//
// Workers: the threads that run the streams' commands in place of a device, one for each stream that has had work. They
// are counted, so that the process can wait for them when it exits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "timeline.h"

namespace newname_backend {

class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;  // the threads hold its address
  Workers& operator=(const Workers&) = delete;

  /// Runs `body` on a thread of its own, and destroys it when it has returned. Throws std::system_error if there are no
  /// more threads; then it never runs.
  void start(std::function<void()> body);
  /// Waits until no thread runs; false if time ran out first.
  bool wait_until_ended(const Deadline& deadline);

 private:
  void end();

  std::mutex mutex_;  // guards running_; a leaf
  std::condition_variable changed_;
  std::uint64_t running_ = 0;
};

}  // namespace newname_backend
