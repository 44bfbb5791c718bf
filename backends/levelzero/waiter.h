// SPDX-License-Identifier: Apache-2.0
//
// Waiter: a thread that does steps on the host in a stream's order, because Level Zero has no host functions. A job
// waits for one signal, does its step, and signals another, for which the stream waits. A job whose own turn hasn't
// come holds back no other.
//
// Each device has two: one for the user's host functions, which may block, and one, its helper, for what copies need
// and for waits between drivers. Started at the first job.
//
// Invariant: each step is called exactly once, also when its device is lost: then not in its place, and with
// DEVICE_LOST.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "anyplace/backend/abi.h"
#include "signal.h"

namespace anyplace::levelzero {

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

  Waiter(Device& device, const char* thread_name) noexcept : device_(device), name_(thread_name) {}
  Waiter(const Waiter&) = delete;  // the thread points at it
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter();

  /// Starts the thread unless it runs. Throws when there is none to be had.
  JobRef make_job(SignalRef before, SignalRef after, Step step, std::uint64_t cookie);
  void add(JobRef job) noexcept;
  /// Makes it look at once: the device was lost.
  void wake() noexcept;
  /// Ends the thread and waits for it. Nothing is pending any more, or the device is lost.
  void stop() noexcept;
  /// Ends the thread as soon as it may be, without waiting: it calls nothing of Level Zero's any more.
  void abandon() noexcept;

 private:
  void start();
  void run() noexcept;
  /// True if something was done.
  bool look_at(Jobs& jobs) noexcept;
  bool is_due(Job& job) noexcept;
  void finish(Job& job, const Device* lost) noexcept;
  anyplace_status status_of_loss(const Device& lost) const noexcept;
  void report_loss(const Job& job, const Device& lost) const noexcept;

  Device& device_;
  const char* const name_;
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;  // guards all below; a leaf
  std::condition_variable changed_;
  Jobs added_;
  Jobs left_behind_;  ///< of an abandoned waiter: letting go of signals would call the driver
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace anyplace::levelzero
