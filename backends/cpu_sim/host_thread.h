// SPDX-License-Identifier: Apache-2.0
//
// Host functions: each device has one thread for them, which is started with the first. They run one at a time, in the
// order in which they become ready. While one runs or waits for its turn, its stream is parked. So a host function that
// blocks delays only its stream and the device's other host functions.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "clock.h"
#include "list.h"

namespace anyplace::cpu_sim {

/// What the thread calls: a HostFunction (host_function.h). It may destroy itself there.
class HostWork {
 public:
  virtual void call() noexcept = 0;

 protected:
  HostWork() noexcept : queued_(this) {}
  virtual ~HostWork() = default;

 private:
  friend class HostThread;
  Link<HostWork> queued_;  // guarded by the host thread's mutex
};

class HostThread {
 public:
  HostThread() = default;
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  /// Starts the thread unless it runs. Called before a host function is submitted, so that the submission fails if
  /// there is no thread. Throws Failure.
  void start();
  void post(HostWork& function) noexcept;
  /// Ends and joins the thread; false when it is still busy at the deadline, which leaves it. Called once, last.
  bool stop(const Deadline& deadline);

 private:
  void work() noexcept;

  std::mutex mutex_;
  std::thread thread_;            // guarded by mutex_
  List<HostWork> functions_;      // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  bool ended_ = false;            // guarded by mutex_
  std::condition_variable wake_;  // functions_ or stopping_ changed
  std::condition_variable end_;   // ended_ changed
};

}  // namespace anyplace::cpu_sim
