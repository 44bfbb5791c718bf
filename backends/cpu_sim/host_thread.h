// SPDX-License-Identifier: Apache-2.0
//
// Host functions: each device has one thread for them, which is started with the first. They run one at a time, in the
// order in which they become ready. While one runs or waits for its turn, its stream is parked. So a host function that
// blocks delays only its stream and the device's other host functions.
//
// The thread that has called a function has that stream's turn. If the stream's next command is a host function, too,
// and no other function waits, the thread calls that one at once. When it has none left it looks for a while before it
// sleeps, because waking it takes longer than most functions do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "clock.h"
#include "list.h"

namespace anyplace::cpu_sim {

/// What the thread calls: a HostFunction (host_function.h). It may destroy itself there.
class HostWork {
 public:
  /// Returns what became ready by this call and is called next; null if the turn was passed on.
  virtual HostWork* call() noexcept = 0;

 protected:
  HostWork() noexcept : queued_(this) {}
  virtual ~HostWork() = default;

 private:
  friend class HostThread;
  Link<HostWork> queued_;  // guarded by the host thread's mutex
};

class HostThread {
 public:
  /// `looks`: whether the thread looks for a while before it sleeps.
  explicit HostThread(bool looks) noexcept : looks_(looks) {}
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  /// Starts the thread unless it runs. Called before a host function is submitted, so that the submission fails if
  /// there is no thread. Throws Failure.
  void start() {
    if (!started_.load(std::memory_order_acquire)) [[unlikely]]
      start_thread_once();
  }
  void post(HostWork& function) noexcept;
  /// Ends and joins the thread; false when it is still busy at the deadline, which leaves it. Called once, last.
  bool stop(const Deadline& deadline);

 private:
  void start_thread_once();
  void work() noexcept;
  HostWork* take() noexcept;
  void look() const noexcept;

  const bool looks_;
  std::atomic<bool> started_{false};
  std::mutex mutex_;
  std::thread thread_;                     // guarded by mutex_
  List<HostWork> functions_;               // guarded by mutex_
  std::atomic<std::uint32_t> waiting_{0};  // in functions_; written under mutex_
  std::atomic<bool> stopping_{false};      // written under mutex_
  bool sleeps_ = false;                    // guarded by mutex_
  bool ended_ = false;                     // guarded by mutex_
  std::condition_variable wake_;           // functions_ or stopping_ changed
  std::condition_variable end_;            // ended_ changed
};

}  // namespace anyplace::cpu_sim
