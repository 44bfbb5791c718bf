// SPDX-License-Identifier: Apache-2.0
//
// One stream: a queue of commands, executed in order, by one thread at a time.
//
// A stream is idle (its queue is empty) or active. An active one is always in exactly one place: in the scheduler's
// queue, on a worker, parked on a timeline, in its device's host thread, or spread over workers. That place has "the
// turn": it alone executes, retires and passes the stream on, so most of a stream needs no lock. While active a stream
// holds a reference to itself, so destroying its handle leaves its work alone.
//
// Completion is the timeline's count of retired commands; a command's number is the count that completes it. A command
// is destroyed (its references dropped, its faults reported) before it counts as complete.
//
// Lock order, for all of this backend; a lock may be taken under those before it:
//   1. Device::mutex_ (the null stream's rule and the list of streams)
//   2. Stream::mutex_, Event::mutex_
//   3. Timeline::mutex_, HostThread::mutex_, DeviceMemory::mutex_, the engine's small tables
//   4. Scheduler::threads_mutex_, then Scheduler::mutex_
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
#include "ref.h"
#include "scheduler.h"
#include "spread.h"
#include "task.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

class Device;

/// How a stream stands to its device's null stream.
enum class Rule { kNone, kBlocking, kNull };

class Stream final : public Task, public RefCounted<Stream> {
 public:
  /// `id` is unique in the process and doubles as the native handle.
  Stream(Device& device, uint64_t id, int32_t priority, Rule rule);

  Device& device() const noexcept { return device_; }
  uint64_t id() const noexcept { return id_; }
  const Ref<Timeline>& timeline() const noexcept { return timeline_; }
  uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_seq_cst); }
  bool done() const noexcept { return timeline_->reached(submitted()); }

  /// Appends a command in the null stream's order. `fill` writes its tail of `tail_bytes` and must not throw. Returns
  /// its number. Throws when there is no memory or no thread; then the command was not submitted.
  template <class T, class Fill, class... Args>
  uint64_t submit_with_tail(std::size_t tail_bytes, Fill&& fill, Args&&... args) {
    return ordered([&] { return push<T>(tail_bytes, std::forward<Fill>(fill), std::forward<Args>(args)...); });
  }
  template <class T, class... Args>
  uint64_t submit(Args&&... args) {
    return submit_with_tail<T>(
        0, [](T&, void*) {}, std::forward<Args>(args)...);
  }

  /// A place in the order without a command: the number that completes all that was submitted before.
  uint64_t mark() {
    return ordered([this] { return submitted(); });
  }

  /// Holds back what is submitted later until `timeline` reaches `target`.
  void submit_wait(Ref<Timeline> timeline, uint64_t target);

  // -- For the holder of the turn.
  void run() noexcept override;
  /// Completes the command that went elsewhere, and hands the stream on.
  void finish_elsewhere() noexcept;
  /// Parks this stream until `timeline` reaches `target`; false if it is there already.
  bool park(Timeline& timeline, uint64_t target) noexcept { return timeline.park(wakeup_, target); }
  void spread(Spreadable& work, const Spreadable::Extent& extent) noexcept { spread_.begin(work, extent); }
  Scheduler& scheduler() const noexcept { return scheduler_; }
  Command& front() noexcept;

 private:
  friend class RefCounted<Stream>;
  friend class Device;
  class Wakeup final : public Waiter {
   public:
    explicit Wakeup(Stream& stream) noexcept : stream_(stream) {}

   private:
    void wake() noexcept override { stream_.scheduler_.enqueue(stream_); }
    Stream& stream_;
  };

  ~Stream() override;

  template <class Submit>
  uint64_t ordered(Submit&& submit);

  template <class T, class Fill, class... Args>
  uint64_t push(std::size_t tail_bytes, Fill&& fill, Args&&... args) {
    scheduler_.start();
    uint64_t number = 0;
    bool was_active = false;
    {
      std::lock_guard lock(mutex_);
      T& command = queue_.emplace<T>(tail_bytes, std::forward<Args>(args)...);
      fill(command, CommandQueue::tail_of(command));
      number = submitted_.load(std::memory_order_relaxed) + 1;
      submitted_.store(number, std::memory_order_seq_cst);
      was_active = std::exchange(active_, true);
    }
    if (!was_active) {
      retain();
      scheduler_.enqueue(*this);
    }
    return number;
  }

  Command* retire(Command& command) noexcept;

  Device& device_;
  Scheduler& scheduler_;
  const uint64_t id_;
  const Rule rule_;
  const Ref<Timeline> timeline_;
  std::atomic<uint64_t> submitted_{0};  // written under mutex_
  uint64_t retired_ = 0;                // of the turn's holder
  Wakeup wakeup_;                       // of the turn's holder
  SpreadJob spread_;                    // of the turn's holder

  std::mutex mutex_;
  CommandQueue queue_;   // guarded by mutex_, see there
  bool active_ = false;  // guarded by mutex_

  // Guarded by Device::mutex_.
  Link<Stream> in_device_{this};   // all streams of the device
  Link<Stream> in_pending_{this};  // blocking streams with work that the null stream has not been ordered after
  uint64_t null_seen_ = 0;         // up to where this blocking stream is ordered after the null stream
};

}  // namespace anyplace::cpu_sim

#include "device.h"

namespace anyplace::cpu_sim {

template <class Submit>
uint64_t Stream::ordered(Submit&& submit) {
  if (rule_ == Rule::kNone) return submit();
  std::lock_guard lock(device_.mutex());
  device_.order_after_null_rule(*this);
  return submit();
}

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_STREAM_H
