// SPDX-License-Identifier: Apache-2.0
//
// HostProgress: who makes progress with the operations of engines on the host.
//
// All calls of these engines are made under one lock, so that an engine needs none, and none of them waits for another
// rank: operations are started and tested again and again. So a communicator never stands in another one's way,
// whatever the order in which the ranks use them. Whoever waits for an operation tests it on its own thread; while
// nobody does, the progress thread tests. What does wait for other ranks (begin, group_create, group_split) is called
// without the lock, where the engine allows that, on a thread of its own (host_making.cpp).
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

  /// The lock of the engines' calls. Those who only look again and again let others go first.
  class Calls {
   public:
    Calls() : lock_(get().calls_, std::defer_lock) {
      get().wanting_.fetch_add(1, std::memory_order_relaxed);
      lock_.lock();
      get().wanting_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };
  /// The lock, for a look that lets others go first.
  std::unique_lock<std::mutex> lock_to_look() noexcept;
  /// The lock, if whoever has it gives it back within a second.
  std::unique_lock<std::mutex> lock_soon() noexcept;

  /// Starts the progress thread unless it runs. Throws out_of_memory.
  void start(const std::string& place, const char* operation);
  /// Adds a group with pending jobs to those that progress is made with. Under Calls.
  void add(std::shared_ptr<HostGroup> group);
  /// The last job of a stream that isn't done, by any group. Under Calls.
  std::shared_ptr<HostJob>& last_of(std::uint64_t stream_id) { return last_[stream_id]; }
  void forget_last(std::uint64_t stream_id, const HostJob* job);
  /// Something became ready: the progress thread looks.
  void wake() noexcept { changed_.notify_all(); }
  /// One look at everything. True if something is started and not done.
  bool step(bool by_waiter) noexcept;
  /// Tests what is started. By a thread that waits.
  void help() noexcept;
  /// At exit: waits until nothing is pending, and ends the progress thread. False if time ran out.
  bool drain(const Deadline& deadline) noexcept;

 private:
  void progress() noexcept;

  std::atomic<int> wanting_{0};  ///< threads that wait for calls_ to start something
  std::atomic<int> helpers_{0};  ///< threads inside of help()
  std::atomic<std::int64_t> helped_at_{0};

  std::mutex calls_;  // guards what follows, and the jobs of all groups; Holds::mutex is taken after it
  std::condition_variable changed_;
  std::vector<std::shared_ptr<HostGroup>> groups_;  ///< with pending jobs
  std::map<std::uint64_t, std::shared_ptr<HostJob>> last_;
  bool thread_sleeps_ = false;
  bool stopping_ = false;
  bool stopped_ = true;  ///< the progress thread isn't running
};

}  // namespace anyplace::detail
