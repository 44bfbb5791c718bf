// SPDX-License-Identifier: Apache-2.0
//
// Each device has one thread for host functions, which is started with the first. They run one at a time, in the
// order in which they become ready. While one runs or waits to be called, its stream is parked. So a host function that
// blocks delays only its stream and the device's other host functions.
//
// The thread that has called a function owns that stream. If the stream's next command is a host function, too,
// and no other function waits, the thread calls that one at once. When it has none left it polls for a while before it
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

/// The thread calls HostWork: a HostFunction (host_function.h), or one of a graph. It may destroy itself there.
class HostWork {
 public:
  /// Returns what became ready by this call and is called next, or null if there is none or the stream was passed on.
  virtual HostWork* call() noexcept = 0;

 protected:
  HostWork() noexcept : queued_(this) {}
  virtual ~HostWork() = default;

 private:
  friend class HostThread;
  Link<HostWork> queued_;  // The host thread's mutex guards it.
};

class HostThread {
 public:
  /// `polls` says whether the thread polls for a while before it sleeps.
  explicit HostThread(bool polls) noexcept : polls_(polls) {}
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  /// Starts the thread unless it runs. The caller does so before it submits a host function, so that the submission
  /// fails if there is no thread. Throws Failure.
  void start() {
    if (!started_.load(std::memory_order_acquire)) [[unlikely]]
      start_thread_once();
  }
  void post(HostWork& function) noexcept;
  /// Ends and joins the thread. Returns false when it is still busy at the deadline, and then it is left running. It is
  /// called once, as the last call.
  bool stop(const Deadline& deadline);

 private:
  void start_thread_once();
  void work() noexcept;
  HostWork* take() noexcept;
  void poll() const noexcept;

  const bool polls_;
  std::atomic<bool> started_{false};
  std::mutex mutex_;
  std::thread thread_;                     // mutex_ guards it.
  List<HostWork> functions_;               // mutex_ guards it.
  std::atomic<std::uint32_t> waiting_{0};  // It counts functions_, and is written under mutex_.
  std::atomic<bool> stopping_{false};      // It is written under mutex_.
  bool sleeps_ = false;                    // mutex_ guards it.
  bool ended_ = false;                     // mutex_ guards it.
  std::condition_variable wake_;           // It is notified when functions_ or stopping_ changed.
  std::condition_variable end_;            // It is notified when ended_ changed.
};

}  // namespace anyplace::cpu_sim
