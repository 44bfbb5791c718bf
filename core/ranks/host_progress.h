// SPDX-License-Identifier: Apache-2.0
//
// HostProgress makes progress with the operations of engines on the host.
//
// The engines are called under one lock, so that an engine needs none, and no call under it waits for another rank:
// operations are started and tested again and again. So a communicator never stands in another one's way, whatever the
// order in which the ranks use them. A thread that waits for an operation tests it itself; while no thread waits, the
// progress thread tests. Calls that have to wait for other ranks (begin, group_create, group_split) are made without
// the lock, on a thread of their own, where the engine allows that (host_making.cpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/deadline.h"

namespace anyplace::detail {

struct HostJob;
class HostGroup;

class HostProgress {
 public:
  static HostProgress& get() noexcept;

  /// Holds the lock of the engines' calls. While a thread waits for it here, threads that only test let that one go
  /// first (lock_to_look()). The thread doesn't sleep meanwhile, unless that takes very long: a backend that watches
  /// what the process's threads do sees that it runs, and doesn't take it for one that waits for the backend's work.
  class Calls {
   public:
    Calls() : lock_(get().lock_soon()) {}

   private:
    std::unique_lock<std::mutex> lock_;
  };
  /// Takes the lock for a test, and lets the threads that wait for it in Calls go first.
  std::unique_lock<std::mutex> lock_to_look() noexcept;
  /// Takes the lock. Returns without it if another thread keeps it for longer than a second.
  std::unique_lock<std::mutex> lock_soon();

  /// Starts the progress thread unless it runs. Throws out_of_memory.
  void start(const std::string& place, const char* operation);
  /// Adds a group with pending jobs to those that step() goes through. Called under Calls.
  void add(std::shared_ptr<HostGroup> group);
  /// The last job of the stream, whatever its group; null if the stream has none that isn't done. Called under Calls.
  std::shared_ptr<HostJob>& last_of(std::uint64_t stream_id) { return last_[stream_id]; }
  void forget_last(std::uint64_t stream_id, const HostJob* job);
  /// Gives the last reference that the caller has to the progress thread: the job ends there, and not on the one of two
  /// threads that happens to be the last to need it, which in virtual time would be another order of calls. Not called
  /// under Calls.
  void leave(std::shared_ptr<HostJob> job);
  /// Wakes the progress thread, and threads in help(), because a job became ready.
  void wake() noexcept { changed_.notify_all(); }
  /// Calls step() of every group in the list once. Returns whether one of them returned true.
  bool step(bool by_waiter) noexcept;
  /// Calls step() for a thread that waits for an operation. If nothing is started, it also waits a little, so that the
  /// caller can call it again and again.
  void help() noexcept;
  /// At exit: waits until nothing is pending, and ends the progress thread. False if time ran out.
  bool drain(const Deadline& deadline) noexcept;

 private:
  void progress() noexcept;
  void end_left() noexcept;

  std::atomic<int> wanting_{0};  ///< threads that wait for calls_ to start something
  std::atomic<int> helpers_{0};  ///< threads inside of help()
  std::atomic<std::int64_t> helped_at_{0};

  std::mutex calls_;  // guards what follows, and the jobs of all groups; Holds::mutex is taken after it
  std::condition_variable changed_;
  std::vector<std::shared_ptr<HostGroup>> groups_;  ///< those that have pending jobs
  std::map<std::uint64_t, std::shared_ptr<HostJob>> last_;
  std::vector<std::shared_ptr<HostJob>> left_;  ///< what leave() was given
  bool thread_sleeps_ = false;
  bool stopping_ = false;
  bool stopped_ = true;  ///< the progress thread isn't running
};

}  // namespace anyplace::detail
