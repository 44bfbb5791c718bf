// SPDX-License-Identifier: Apache-2.0
//
// A Stream is a queue of commands that are executed in order, by one thread at a time.
//
// A stream is idle (its queue is empty) or active. An active stream is always owned by exactly one of these: the
// scheduler's ready queue, a thread (a worker, or a host that synchronises), a timeline on which it is parked, its
// device's host thread, or a spread job. The owner alone executes and retires commands and passes the stream on, so
// most of a stream needs no lock.
//
// A stream's timeline counts its retired commands; a command's number is the count that completes it. A command
// is destroyed (its references dropped, its faults reported) before it counts as complete.
//
// Streams live in a pool (stream_pool.h) and are never freed: a thread that reads a stream without holding a reference
// sees, at worst, the state of another stream in the same memory.
//
// This is the lock order of all of this backend; a lock may be taken under those before it:
//   1. Device::mutex_ (the null stream's rule and the list of streams)
//   2. Stream::lock_, Event::lock_
//   3. Timeline::lock_, HostThread::mutex_, DeviceMemory::mutex_, the engine's small tables
//   4. Scheduler::threads_mutex_, then Scheduler::lock_
// Code of the user's (kernels, host functions, release functions, a module's constructors and destructors) runs under
// none of them, and a Ref whose end may run such code is dropped under none of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "command_queue.h"
#include "list.h"
#include "record.h"
#include "ref.h"
#include "scheduler.h"
#include "spin_lock.h"
#include "spread.h"
#include "task.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

class Device;
class StreamPool;

/// A Rule says how a stream is ordered with its device's null stream.
enum class Rule : std::uint8_t { none, blocking, null };

class Stream final : public Task {
 public:
  // -- For the pool.
  Stream(StreamPool& pool, Scheduler& scheduler) noexcept;
  /// Begins the stream's use, with one handle. `cookie` belongs to that handle.
  void open(Device& device, std::uint64_t cookie, std::int32_t priority, Rule rule) noexcept;

  // -- Handles. Work goes on after the last handle is gone.
  void add_handle() noexcept;
  void drop_handle() noexcept;

  Device& device() const noexcept { return *device_; }
  /// Returns the native handle, unique in the process. It is valid until the first handle is gone.
  std::uint64_t id() const noexcept { return id_; }
  std::uint64_t cookie() const noexcept { return cookie_; }
  Timeline& timeline() noexcept { return timeline_; }
  /// Returns the number of the last submission.
  std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  /// Returns the number of the last submission that the application made. submitted() also counts those of
  /// keep_while_queued(), which must not make a completed stream incomplete.
  std::uint64_t asked_for() const noexcept { return asked_for_.load(std::memory_order_acquire); }
  /// Returns whether the number is that of the stream's last submission and not known to be done. It is less exact than
  /// the timeline, but reads nothing that the executing thread writes all the time.
  bool works_at(std::uint64_t number) const noexcept {
    return active_.load(std::memory_order_relaxed) && asked_for_.load(std::memory_order_relaxed) == number;
  }
  bool done() const noexcept { return timeline_.reached(asked_for()); }

  // -- Submitting. Each appends a command, after the waits that the null stream's rule asks for, and returns its
  // number. Each throws if there is no memory or no thread; then nothing was submitted.
  /// Launches a kernel over one block. `write_values` writes the arguments' values to the memory that it is given, and
  /// must not throw. The launch counts no reference to the kernel: see keep_while_queued().
  template <class Write>
  std::uint64_t submit_launch(Kernel& kernel, std::uint64_t mark, std::uint32_t packed_block,
                              const PackedArguments& arguments, std::uint32_t value_bytes, Write&& write_values) {
    const auto write = [&] {
      write_values(queue_.emplace_launch(kernel, packed_block, arguments, value_bytes));
      remember(mark);
    };
    if (rule_ == Rule::none) [[likely]]
      return push(write);
    return ordered([&] { return push(write); });
  }
  /// These submit copies and fills of at most short_bytes (copy.h has submit_copy() and submit_fill() for all).
  std::uint64_t submit_copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes);
  std::uint64_t submit_fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count);
  /// Notes the mark of a kernel (Kernel::mark), while a launch of it is written.
  void remember(std::uint64_t mark) noexcept { kernels_ |= mark; }
  /// Submits a T with a tail of `tail_bytes` that `fill` writes. `fill` must not throw.
  template <class T, class Fill, class... Args>
  std::uint64_t submit_with_tail(std::size_t tail_bytes, Fill&& fill, Args&&... args) {
    return ordered([&] {
      return push([&] {
        T& command = queue_.emplace<T>(tail_bytes, std::forward<Args>(args)...);
        fill(command, CommandQueue::tail_of(command));
      });
    });
  }
  template <class T, class... Args>
  std::uint64_t submit(Args&&... args) {
    return submit_with_tail<T>(
        0, [](T&, void*) {}, std::forward<Args>(args)...);
  }
  /// Submits nothing. Returns the number at which everything that was submitted before is complete.
  std::uint64_t mark() {
    if (rule_ == Rule::none) [[likely]]
      return asked_for();
    return ordered([this] { return asked_for(); });
  }
  /// Holds back what is submitted later until the record is complete.
  void submit_wait(const Record& record);

  /// Keeps a reference to the kernel until everything that is submitted now is done; keeps none if it is done already.
  /// A queued launch holds no reference: incrementing the count on one thread and decrementing it on another would cost
  /// more than the launch. Instead, destroying a kernel leaves a reference in each stream that may have launches of it,
  /// behind all of them.
  void keep_while_queued(const Ref<Kernel>& kernel) noexcept;

  // -- For the owner.
  Done run() noexcept override;
  void step() noexcept override;
  void describe(Operation& out) override;
  /// Describes the stream, and not what it does next.
  void describe_itself(Operation& out) const;
  /// Returns how many operations the deterministic mode has taken of the stream.
  std::uint64_t stepped() const noexcept { return stepped_; }
  /// Completes the command whose execution was passed on (Progress::elsewhere), and passes the stream on.
  void finish_elsewhere() noexcept;
  /// Does what finish_elsewhere() does, when the host thread has executed the command. If the host thread executes the
  /// next command as well, it keeps the stream, and that command's work is returned.
  HostWork* finish_host_function() noexcept;
  /// Parks this stream until `timeline` reaches `target`. Returns false if it has been reached.
  bool park(Timeline& timeline, std::uint64_t target) noexcept { return timeline.park(wakeup_, target); }
  Progress spread(Spreadable& work, const Spreadable::Extent& extent) noexcept { return spread_.begin(work, extent); }
  SpreadJob& spread_job() noexcept { return spread_; }
  Scheduler& scheduler() const noexcept { return scheduler_; }

  // -- For a host that waits for `target` (help.h).
  /// Runs this stream's commands up to the target, if it is ready. Returns false if it isn't, or if another
  /// thread has it.
  bool help(std::uint64_t target) noexcept;
  /// Dependencies are the record that the stream is or was parked on, and those of the last waits that were submitted
  /// among its commands up to `target`.
  struct Dependencies {
    static constexpr unsigned most = 5;
    Record records[most];
  };
  Dependencies dependencies(std::uint64_t target) noexcept;

 private:
  friend class Device;
  friend class StreamPool;
  ~Stream() override = default;  // It is never called.

  enum class End { idle, elsewhere, ready, few_ready };
  class Wakeup final : public Waiter {
   public:
    explicit Wakeup(Stream& stream) noexcept : stream_(stream) {}

   private:
    void wake(Stream*& next) noexcept override {
      if (next == nullptr) {
        next = &stream_;
      } else {
        stream_.scheduler_.enqueue_woken(stream_);
      }
    }
    Stream& stream_;
  };

  template <class Submit>
  std::uint64_t ordered(Submit&& submit);

  template <class Write>
  std::uint64_t push(Write&& write) {
    std::uint64_t number = 0;
    bool was_active = false;
    {
      std::lock_guard lock(lock_);
      was_active = active_.load(std::memory_order_relaxed);
      if (!was_active) scheduler_.start();  // It comes first, so that nothing is submitted that no thread would run.
      write();
      number = submitted_.load(std::memory_order_relaxed) + 1;
      asked_for_.store(number, std::memory_order_relaxed);
      backend::release_to_sanitizer(&submitted_);
      submitted_.store(number, std::memory_order_release);
      if (!was_active) active_.store(true, std::memory_order_relaxed);
    }
    if (!was_active) scheduler_.enqueue_submitted(*this);
    return number;
  }

  /// One thread's uninterrupted execution of the stream's commands.
  struct Slice {
    std::uint64_t target;        // The slice ends at this number.
    bool by_host;                // It says whether a host thread that helps runs the slice.
    std::uint64_t commands = 0;  // It counts the commands that were run.
    Stream* next = nullptr;      // The slice has woken this stream; the caller has to run or ready it.
  };
  std::uint64_t push_wait(const Record& record);
  End run_slice(Slice& slice) noexcept;
  bool parks_next() noexcept;
  void describe_front(Operation& out);
  HostWork* complete_front(bool keeps_host_work) noexcept;
  void help_run(std::uint64_t target) noexcept;
  bool execute(Entry& entry) noexcept;
  bool wait(Timeline& timeline, std::uint64_t target) noexcept;
  bool go_idle(std::uint64_t retired) noexcept;
  void recycle() noexcept;

  // Submitting threads use these. All of it is on one cache line, which the owner doesn't touch until it has run all
  // commands that it knows of.
  alignas(64) SpinLock lock_;
  std::atomic<bool> active_{false};  // It is written under lock_.
  Rule rule_ = Rule::none;
  std::uint8_t next_wait_ = 0;               // lock_ guards it; it is an index in waits_.
  std::uint32_t handles_ = 0;                // lock_ guards it.
  std::atomic<std::uint64_t> submitted_{0};  // It is written under lock_.
  std::atomic<std::uint64_t> asked_for_{0};  // It is written under lock_.
  // lock_ guards it; it has the marks of the kernels that were launched since the stream was idle.
  std::uint64_t kernels_ = 0;
  CommandQueue queue_{front_};

  // The owner and waiting threads use these.
  alignas(64) Timeline timeline_{this};
  std::uint64_t seen_ = 0;  // The owner has read this from submitted_.
  Scheduler& scheduler_;
  CommandQueue::Front front_;
  RecordCell waits_for_;
  Wakeup wakeup_;
  SpreadJob spread_;

  // lock_ guards this ring of the last waits that were submitted.
  struct SubmittedWait {
    Record record;
    std::uint64_t number = 0;
  };
  static constexpr unsigned waits = Dependencies::most - 1;
  SubmittedWait waits_[waits];

  StreamPool& pool_;
  std::uint64_t cookie_ = 0;
  Device* device_ = nullptr;
  std::uint64_t id_ = 0;       // It is written under the pool's lock; 0 means that the first handle is gone.
  std::uint64_t number_ = 0;   // It is the last id_ that isn't 0, and written with it.
  std::uint64_t stepped_ = 0;  // It counts the operations of the deterministic mode; the owner writes it.

  // Device::mutex_ guards these.
  Link<Stream> in_device_{this};   // It links the stream into the list of all streams of the device.
  Link<Stream> in_pending_{this};  // It links the streams whose work the null stream has yet to be ordered after.
  std::uint64_t null_seen_ = 0;    // The stream is ordered after this number of the null stream.

  Stream* next_free_ = nullptr;  // The pool's lock guards it.
  Stream* next_made_ = nullptr;  // The pool's lock guards it.
};

}  // namespace anyplace::cpu_sim

#include "device.h"

namespace anyplace::cpu_sim {

template <class Submit>
std::uint64_t Stream::ordered(Submit&& submit) {
  if (rule_ == Rule::none) return submit();
  std::lock_guard lock(device_->mutex());
  device_->order_after_null_rule(*this);
  return submit();
}

}  // namespace anyplace::cpu_sim
