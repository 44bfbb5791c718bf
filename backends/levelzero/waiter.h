// SPDX-License-Identifier: Apache-2.0
//
// Waiter: a thread that does steps on the host in a stream's order, because Level Zero has no host functions. A job
// waits for one signal, does its step, and signals another, for which the stream waits. A job whose own turn hasn't
// come holds back no other.
//
// Each device has two: one for the user's host functions, which may block, and one, its helper, for what copies need
// and for waits between drivers. Started at the first job.
//
// Invariants: each step is called exactly once, also when its device is lost: then not in its place, and with
// DEVICE_LOST. An abandoned waiter calls nothing of Level Zero's any more, and touches none of its memory: the driver's
// destructors come next.
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

using anyplace::backend::Deadline;

class Device;

class Waiter {
 public:
  using Step = std::function<void(anyplace_status)>;
  struct Job {
    SignalRef before;  ///< null: at once
    SignalRef after;
    Step step;             ///< may be empty
    std::uint64_t cookie;  ///< of the stream, which is told when a device is lost
    int refusals = 0;
  };
  using Jobs = std::list<Job>;
  /// One job in a list of its own, so that adding it can't fail.
  class JobRef {
   public:
    Job* operator->() noexcept { return &list_.front(); }

   private:
    friend class Waiter;
    Jobs list_;
  };

  /// Whose code the steps are: the user's may block for ever, ours only uses the driver's memory.
  enum class Steps : std::uint8_t { users, ours };

  Waiter(Device& device, const char* thread_name, Steps steps) noexcept
      : device_(device), name_(thread_name), steps_(steps) {}
  Waiter(const Waiter&) = delete;  // the thread points at it
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter();

  /// Starts the thread unless it runs. Throws when there is none to be had.
  JobRef make_job(SignalRef before, SignalRef after, Step step, std::uint64_t cookie);
  void add(JobRef job) noexcept;
  /// Makes it look at once: the device was lost.
  void wake() noexcept;
  /// Ends the thread and waits for it. Nothing is pending any more, or the device is lost. False if time ran out: a
  /// step of the user's may be blocked.
  bool stop(const Deadline& deadline) noexcept;
  /// Ends the thread as soon as it may be, without waiting. A call of Level Zero's that it is in is its last.
  void abandon() noexcept;
  /// Of an abandoned one: waits for that call. False if time ran out before it returned.
  bool wait_for_last_call(const Deadline& deadline) noexcept;

 private:
  void start();
  void run() noexcept;
  bool wait_until(std::unique_lock<std::mutex>& lock, const Deadline& deadline, const bool& flag, bool value) noexcept;
  /// True if something was done.
  bool look_at(Jobs& jobs) noexcept;
  bool is_due(Job& job) noexcept;
  void finish(Job& job, const Device* lost) noexcept;
  bool begin_calls() noexcept;
  void end_calls() noexcept;
  anyplace_status status_of_loss(const Device& lost) const noexcept;
  void report_loss(const Job& job, const Device& lost) const noexcept;

  Device& device_;
  const char* const name_;
  const Steps steps_;
  std::atomic<bool> abandoned_{false};  ///< set under the mutex
  std::mutex mutex_;                    // guards all below; a leaf
  std::condition_variable changed_;
  Jobs added_;
  Jobs left_behind_;  ///< of an abandoned waiter: letting go of signals would call the driver
  bool woken_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  bool calling_ = false;  ///< the thread may be in a call of Level Zero's, or use memory of it
  std::thread thread_;
};

}  // namespace anyplace::levelzero
