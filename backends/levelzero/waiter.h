// SPDX-License-Identifier: Apache-2.0
//
// Waiter: a thread that runs steps on the host in a stream's order, because Level Zero has no host functions. A job
// waits for one signal, runs its step, and signals another one, for which the stream waits. A job whose signal hasn't
// come delays no other job.
//
// Each device has two: one for the user's host functions, which may block, and one, its helper, for staged copies and
// for waits between drivers. A waiter's thread is started at its first job.
//
// Invariants: each step is called exactly once. If its device is lost, it is called out of order and with DEVICE_LOST.
// An abandoned waiter calls nothing of Level Zero's any more and touches none of its memory, because the driver's
// destructors run next.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/kit/deadline.h"
#include "signal.h"

namespace anyplace::levelzero {

class DeviceBase;

class Waiter {
 public:
  using Step = std::function<void(anyplace_status)>;
  struct Job {
    SignalRef before;  ///< the signal to wait for; null if the step can run at once
    SignalRef after;
    Step step;             ///< may be empty
    std::uint64_t cookie;  ///< the stream's cookie, for the fault when a device is lost
    int refusals = 0;
  };
  using Jobs = std::list<Job>;
  /// A job in a list of its own, so that adding it to the waiter's list can't fail.
  class JobRef {
   public:
    Job* operator->() noexcept { return &list_.front(); }

   private:
    friend class Waiter;
    Jobs list_;
  };

  /// Tells whose code the steps run. The user's may block for ever; this backend's uses only the driver's memory.
  enum class Steps : std::uint8_t { users, ours };

  Waiter(DeviceBase& device, const char* thread_name, Steps steps) noexcept
      : device_(device), name_(thread_name), steps_(steps) {}
  Waiter(const Waiter&) = delete;  // the thread points at it
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter();

  /// Makes a job, and starts the thread unless it runs. Throws if no thread can be started.
  JobRef make_job(SignalRef before, SignalRef after, Step step, std::uint64_t cookie);
  void add(JobRef job) noexcept;
  /// Wakes the thread, because the device was lost.
  void wake() noexcept;
  /// Ends the thread and waits for it. Called when nothing is pending any more, or the device is lost. Returns false if
  /// time ran out, because a step of the user's may be blocked.
  bool stop(const Deadline& deadline) noexcept;
  /// Makes the thread end as soon as possible, without waiting for it. A call of Level Zero that it is in is its last
  /// one.
  void abandon() noexcept;
  /// Waits for an abandoned waiter's last call. Returns false if time ran out before the call returned.
  bool wait_for_last_call(const Deadline& deadline) noexcept;

 private:
  void start();
  void run() noexcept;
  bool wait_until(std::unique_lock<std::mutex>& lock, const Deadline& deadline, const bool& flag, bool value) noexcept;
  /// Runs the jobs that are ready. Returns true if there were any.
  bool look_at(Jobs& jobs) noexcept;
  bool is_due(Job& job) noexcept;
  void finish(Job& job, const DeviceBase* lost) noexcept;
  bool begin_calls() noexcept;
  void end_calls() noexcept;
  anyplace_status status_of_loss(const DeviceBase& lost) const noexcept;
  void report_loss(const Job& job, const DeviceBase& lost) const noexcept;

  DeviceBase& device_;
  const char* const name_;
  const Steps steps_;
  std::atomic<bool> abandoned_{false};  ///< set under the mutex
  std::mutex mutex_;                    // guards all below; a leaf
  std::condition_variable changed_;
  Jobs added_;
  Jobs left_behind_;  ///< an abandoned waiter's jobs: releasing their signals would call the driver
  bool woken_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  bool calling_ = false;  ///< whether the thread may be in a call of Level Zero or use its memory
  std::thread thread_;
};

}  // namespace anyplace::levelzero
