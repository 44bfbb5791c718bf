// SPDX-License-Identifier: Apache-2.0
//
// MpiRuntime: MPI in this process, and who makes progress with what was started.
//
// All calls of MPI are made under one lock, so that MPI_THREAD_SERIALIZED is enough, and none of them waits for another
// rank: operations are started (MPI_I...) and tested again and again. So a communicator never stands in another one's
// way, whatever the order in which the ranks use them. Whoever waits for an operation tests it on its own thread; while
// nobody does, the progress thread tests. MPI_Comm_dup and MPI_Comm_split are the exceptions: MPI_Comm_split has no
// form that can be tested. They are called once all ranks have shown that they have come, on a thread of their own, and
// so is MPI_Init_thread, which waits for all ranks itself.
//
// The program may call MPI_Finalize itself. MPI tells of that by deleting an attribute of MPI_COMM_SELF first; what is
// pending ends then, and nothing of MPI is called any more.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ranks/mpi_library.h"
#include "ranks/mpi_types.h"
#include "runtime/deadline.h"

namespace anyplace::detail {

struct MpiJob;
class MpiGroup;

class MpiRuntime {
 public:
  /// Opens and initialises MPI, unless that was done. Throws library_missing, or backend_failed with MPI's text;
  /// unsupported if somebody else initialised it for one thread alone; timeout_error() if not all ranks come.
  static MpiRuntime& get(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  /// Null if MPI was never used here.
  static MpiRuntime* existing() noexcept;

  const MpiLibrary& mpi() const noexcept { return *mpi_; }
  const MpiOwnOps& own_ops() const noexcept { return own_ops_; }
  MpiHandle world() const noexcept { return world_; }
  int world_rank() const noexcept { return world_rank_; }
  int world_size() const noexcept { return world_size_; }
  /// Whether MPI reaches memory of CUDA's devices.
  bool is_cuda_aware() const noexcept { return cuda_aware_; }
  /// Whether several threads may be inside MPI.
  bool is_multiple() const noexcept { return multiple_; }

  /// The lock of MPI's calls. Those who only look again and again let others go first.
  class Calls {
   public:
    explicit Calls(MpiRuntime& runtime) : lock_(runtime.calls_, std::defer_lock) {
      runtime.wanting_.fetch_add(1, std::memory_order_relaxed);
      lock_.lock();
      runtime.wanting_.fetch_sub(1, std::memory_order_relaxed);
    }
    void unlock() { lock_.unlock(); }

   private:
    std::unique_lock<std::mutex> lock_;
  };

  /// Adds a group with pending jobs to those that progress is made with. Under Calls.
  void add(std::shared_ptr<MpiGroup> group);
  /// The last job of a stream that isn't done, by any group. Under Calls.
  std::shared_ptr<MpiJob>& last_of(std::uint64_t stream_id) { return last_[stream_id]; }
  void forget_last(std::uint64_t stream_id, const MpiJob* job);
  /// Something became ready: the progress thread looks.
  void wake() noexcept { changed_.notify_all(); }
  /// Tests what is started. By a thread that waits.
  void help() noexcept;
  /// Starts with `start(MpiHandle* request)` and tests until it is done. Throws the error of MPI, timeout_error(), or
  /// shut_down.
  template <class Start>
  void run(Start&& start, const Deadline& deadline, const std::string& place, const char* operation, const char* what,
           std::chrono::nanoseconds timeout) {
    MpiHandle request = 0;
    {
      Calls calls(*this);
      require_open(place, operation);
      check(start(&request), place, operation);
    }
    await(request, deadline, place, operation, what, timeout);
  }
  /// Throws backend_failed with MPI's text.
  void check(int code, const std::string& place, const char* operation) const;
  Error error_of(int code, const std::string& place, const char* operation) const;
  /// Throws shut_down once MPI_Finalize was called. Under Calls, where MPI is called next.
  void require_open(const std::string& place, const char* operation) const;
  bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// Within MPI_Finalize, whoever called it.
  void leave() noexcept;
  /// From now on MPI isn't finalized: a rank is missing, or the others wait for this one. At exit they are ended.
  void give_up() noexcept { broken_.store(true, std::memory_order_relaxed); }

  /// How long the exit may wait for the other ranks, at least.
  void allow(std::chrono::nanoseconds timeout) noexcept;

 private:
  MpiRuntime() = default;
  void initialise(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  void begin(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  void await(MpiHandle& request, const Deadline& deadline, const std::string& place, const char* operation,
             const char* what, std::chrono::nanoseconds timeout);
  /// One look at everything. True if something is started and not done.
  bool step(bool by_waiter) noexcept;
  void progress() noexcept;
  void listen_for_the_end(const std::string& place, const char* operation);
  /// At exit. After a failure, or with a status that isn't 0, it has MPI end all ranks, which would wait for this one.
  /// Else it waits for what is pending and, if MPI was begun here, for the other ranks, as MPI_Finalize does, but no
  /// longer than the timeout; then ends MPI. A rank that is missing for longer leaves MPI as it is.
  void finish(int status) noexcept;
  void end_all_ranks(int code) noexcept;
  /// The lock of MPI's calls, if whoever has it gives it back soon.
  std::unique_lock<std::mutex> lock_soon() noexcept;

  const MpiLibrary* mpi_ = nullptr;
  MpiOwnOps own_ops_;
  MpiHandle world_ = 0;  ///< a duplicate of the world, which is the application's
  int world_rank_ = 0;
  int world_size_ = 1;
  bool multiple_ = false;
  bool cuda_aware_ = false;
  bool begun_here_ = false;
  std::atomic<bool> broken_{false};
  std::atomic<bool> over_{false};  ///< MPI_Finalize was called
  std::atomic<int> wanting_{0};    ///< threads that wait for calls_ to start something
  std::atomic<int> helpers_{0};    ///< threads inside of help()
  std::atomic<std::int64_t> helped_at_{0};
  std::atomic<std::int64_t> longest_timeout_{0};  ///< nanoseconds

  std::mutex calls_;  // guards what follows, and the jobs of all groups; Holds::mutex is taken after it
  std::condition_variable changed_;
  std::vector<std::shared_ptr<MpiGroup>> groups_;  ///< with pending jobs
  std::map<std::uint64_t, std::shared_ptr<MpiJob>> last_;
  bool thread_sleeps_ = false;
  bool stopping_ = false;
  bool stopped_ = true;  ///< the progress thread isn't running
};

}  // namespace anyplace::detail
