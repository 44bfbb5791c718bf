// SPDX-License-Identifier: Apache-2.0
//
// One stream: a queue of commands, executed in order, by one thread at a time.
//
// A stream is idle (its queue is empty) or active. An active one is always in exactly one place: in the scheduler's
// queue, on a thread (a worker, or a host that synchronises), parked on a timeline, in its device's host thread, or
// spread over threads. That place has "the turn": it alone executes, retires and passes the stream on, so most of a
// stream needs no lock.
//
// Completion is the timeline's count of retired commands; a command's number is the count that completes it. A command
// is destroyed (its references dropped, its faults reported) before it counts as complete.
//
// Streams live in a pool (stream_pool.h) and are never freed: who looks at one that it holds no reference to sees, at
// worst, another stream's state.
//
// Lock order, for all of this backend; a lock may be taken under those before it:
//   1. Device::mutex_ (the null stream's rule and the list of streams)
//   2. Stream::lock_, Event::lock_
//   3. Timeline::lock_, HostThread::mutex_, DeviceMemory::mutex_, the engine's small tables
//   4. Scheduler::threads_mutex_, then Scheduler::lock_
// Code of the user's (kernels, host functions, release functions, a module's constructors and destructors) runs under
// none of them; so does the last Ref of anything that may run such code.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_STREAM_H
#define ANYPLACE_BACKENDS_CPU_SIM_STREAM_H

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

/// How a stream stands to its device's null stream.
enum class Rule : uint8_t { kNone, kBlocking, kNull };

class Stream final : public Task {
 public:
  // -- For the pool.
  Stream(StreamPool& pool, Scheduler& scheduler) noexcept;
  /// Begins a life, with one handle. `cookie` is that handle's.
  void open(Device& device, uint64_t cookie, int32_t priority, Rule rule) noexcept;

  // -- Handles. Work goes on after the last is gone.
  void add_handle() noexcept;
  void drop_handle() noexcept;

  Device& device() const noexcept { return *device_; }
  /// Unique in the process; the native handle. Until the first handle is gone.
  uint64_t id() const noexcept { return id_; }
  uint64_t cookie() const noexcept { return cookie_; }
  Timeline& timeline() noexcept { return timeline_; }
  /// The number of what was submitted last.
  uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  /// The same, but for what nobody asked for (let_go): what was done stays done.
  uint64_t asked_for() const noexcept { return asked_for_.load(std::memory_order_acquire); }
  /// Whether a number is that of its last work, and not known to be done. It says less than the timeline, but looks at
  /// nothing that the thread which executes writes all the time.
  bool works_at(uint64_t number) const noexcept {
    return active_.load(std::memory_order_relaxed) && asked_for_.load(std::memory_order_relaxed) == number;
  }
  bool done() const noexcept { return timeline_.reached(asked_for()); }

  // -- Submitting. Each puts something into the order, with the null stream's rule in front of it, and returns its
  // number. Each throws when there is no memory or no thread; then nothing was submitted.
  /// A kernel over one block, without arguments. No reference is counted: see let_go().
  uint64_t submit_launch(Kernel& kernel, uint64_t mark, uint32_t packed_block) {
    const auto write = [&] {
      queue_.emplace_launch(kernel, packed_block);
      remember(mark);
    };
    if (rule_ == Rule::kNone) [[likely]]
      return push(write);
    return ordered([&] { return push(write); });
  }
  /// The mark of a kernel (Kernel::mark), while a launch of it is written.
  void remember(uint64_t mark) noexcept { kernels_ |= mark; }
  /// A T, with a tail of `tail_bytes` that `fill` writes; it must not throw.
  template <class T, class Fill, class... Args>
  uint64_t submit_with_tail(std::size_t tail_bytes, Fill&& fill, Args&&... args) {
    return ordered([&] {
      return push([&] {
        T& command = queue_.emplace<T>(tail_bytes, std::forward<Args>(args)...);
        fill(command, CommandQueue::tail_of(command));
      });
    });
  }
  template <class T, class... Args>
  uint64_t submit(Args&&... args) {
    return submit_with_tail<T>(
        0, [](T&, void*) {}, std::forward<Args>(args)...);
  }
  /// A place in the order without a command: the number that completes all that was submitted before.
  uint64_t mark() {
    if (rule_ == Rule::kNone) [[likely]]
      return asked_for();
    return ordered([this] { return asked_for(); });
  }
  /// Holds back what is submitted later until another stream's timeline reaches `target`.
  void submit_wait(const Record& record);

  /// Keeps a reference to the kernel until all that is submitted now is done; none if that is so already. A queued
  /// launch holds none: counting it on one thread and back on another would cost more than the launch. Instead, who
  /// lets go of a kernel leaves a reference in each stream that may have launches of it, behind all there are.
  void let_go(const Ref<Kernel>& kernel) noexcept;

  // -- For the holder of the turn.
  Done run() noexcept override;
  /// Completes the command that went elsewhere, and hands the stream on.
  void finish_elsewhere() noexcept;
  /// Parks this stream until `timeline` reaches `target`; false if it is there already.
  bool park(Timeline& timeline, uint64_t target) noexcept { return timeline.park(wakeup_, target); }
  void spread(Spreadable& work, const Spreadable::Extent& extent) noexcept { spread_.begin(work, extent); }
  Scheduler& scheduler() const noexcept { return scheduler_; }

  // -- For a host that waits for `target` (help.h).
  /// Runs what is ready of this stream, up to the target. False if there was nothing, or it was somebody else's.
  bool help(uint64_t target) noexcept;
  /// What the stream is, or was, parked on, and the last of what its commands up to `target` wait for.
  struct Dependencies {
    static constexpr unsigned kMost = 5;
    Record records[kMost];
  };
  Dependencies dependencies(uint64_t target) noexcept;

 private:
  friend class Device;
  friend class StreamPool;
  ~Stream() override = default;  // never called

  enum class End { kIdle, kElsewhere, kReady, kFewReady };
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
  uint64_t ordered(Submit&& submit);

  template <class Write>
  uint64_t push(Write&& write) {
    uint64_t number = 0;
    bool was_active = false;
    {
      std::lock_guard lock(lock_);
      was_active = active_.load(std::memory_order_relaxed);
      if (!was_active) scheduler_.start();  // first: what was submitted must run
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

  struct Turn {
    uint64_t target;         // where it ends
    bool helps;              // a host that helps
    uint64_t commands = 0;   // that were run
    Stream* next = nullptr;  // when it is over: woken by this stream, and to be run or readied
  };
  uint64_t push_wait(const Record& record);
  End take_turn(Turn& turn) noexcept;
  bool parks_next() noexcept;
  void help_with_turn(uint64_t target) noexcept;
  bool execute(Entry& entry) noexcept;
  bool wait(Timeline& timeline, uint64_t target) noexcept;
  bool go_idle(uint64_t retired) noexcept;
  void recycle() noexcept;

  // Of those who submit: all of it on one cache line, which the turn's holder leaves alone until it has run all that it
  // knows of.
  alignas(64) SpinLock lock_;
  std::atomic<bool> active_{false};  // written under lock_
  Rule rule_ = Rule::kNone;
  uint8_t next_wait_ = 0;               // guarded by lock_; in waits_
  uint32_t handles_ = 0;                // guarded by lock_
  std::atomic<uint64_t> submitted_{0};  // written under lock_
  std::atomic<uint64_t> asked_for_{0};  // likewise
  uint64_t kernels_ = 0;                // guarded by lock_; the marks of those launched since it was idle
  CommandQueue queue_{front_};          // see there

  // Of the turn's holder, and of who waits.
  alignas(64) Timeline timeline_{this};
  uint64_t seen_ = 0;  // submitted_ when it was read last
  Scheduler& scheduler_;
  CommandQueue::Front front_;
  RecordCell waits_for_;
  Wakeup wakeup_;
  SpreadJob spread_;

  // The last waits that were submitted: a ring. Guarded by lock_.
  struct SubmittedWait {
    Record record;
    uint64_t number = 0;
  };
  static constexpr unsigned kWaits = Dependencies::kMost - 1;
  SubmittedWait waits_[kWaits];

  StreamPool& pool_;
  uint64_t cookie_ = 0;
  Device* device_ = nullptr;
  uint64_t id_ = 0;  // written under the pool's lock; 0: no first handle

  // Guarded by Device::mutex_.
  Link<Stream> in_device_{this};   // all streams of the device
  Link<Stream> in_pending_{this};  // blocking streams with work that the null stream has not been ordered after
  uint64_t null_seen_ = 0;         // up to where this blocking stream is ordered after the null stream

  Stream* next_free_ = nullptr;  // guarded by the pool
  Stream* next_made_ = nullptr;  // likewise
};

}  // namespace anyplace::cpu_sim

#include "device.h"

namespace anyplace::cpu_sim {

template <class Submit>
uint64_t Stream::ordered(Submit&& submit) {
  if (rule_ == Rule::kNone) return submit();
  std::lock_guard lock(device_->mutex());
  device_->order_after_null_rule(*this);
  return submit();
}

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_STREAM_H
