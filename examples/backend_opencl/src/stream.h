// SPDX-License-Identifier: Apache-2.0
//
// Stream: an in-order command queue, and the commands in it whose end nobody has looked at yet.
//
// Each submission, query and wait looks how far the queue got, and keeps the commands that aren't over. So the stream
// is done exactly when nothing is kept, and no command that failed counts as complete: seeing one loses the device.
//
// Lock order: NullRule's, Stream's, Kernel's, then the leaves (Watcher's, HostThread's).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "deadline.h"
#include "host_thread.h"
#include "null_rule.h"
#include "opencl.h"

namespace opencl_backend {

class Device;
class Stream;

/// A place in a stream's order: its `number`-th command. Without an event: all up to it was over when this was taken.
struct Record {
  std::shared_ptr<Stream> stream;
  EventRef event;
  std::uint64_t number = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  /// `foreign`: the queue is the user's, who may submit to it without us.
  Stream(Device& device, Queue queue, StreamKind kind, bool foreign);
  Stream(const Stream&) = delete;  // handles and records point at it
  Stream& operator=(const Stream&) = delete;

  Device& device() noexcept { return device_; }
  StreamKind kind() const noexcept { return kind_; }
  /// From now on the user may submit to the queue without us.
  cl_command_queue native();

  /// enqueue(cl_command_queue, cl_event*) makes one OpenCL call, named `call`, and returns what that does.
  template <class Enqueue>
  void submit(const char* call, Enqueue&& enqueue) {
    const auto order = enter_null_rule();
    const std::lock_guard lock(mutex_);
    look();
    push(call, std::forward<Enqueue>(enqueue));
  }

  /// Holds back what is submitted later until the record is over. The record may be of any device.
  void wait_for(const Record& record);
  /// The same for an event of this device's context, also one that the host opens.
  void wait_for(const EventRef& event);
  /// The same past the null stream's rule: for NullRule.
  void wait_past_rule(const std::vector<EventRef>& events);
  void run_on_host(anyplace_host_function function, void* user);
  /// `timed`: the event tells the time at which its place came.
  Record record(bool timed);

  bool query();
  /// Whether all that we submitted is over; what the user submitted himself doesn't count.
  bool is_idle();
  /// The last command that isn't over.
  Record last();
  /// Whether all up to the record, one of this stream's, is over. Throws DEVICE_LOST if some of it failed.
  bool is_over(const Record& record);
  /// Returns when it is; false if time ran out first.
  bool wait_until_over(const Record& record, const Deadline& deadline);

  NullRule::Member null_rule_member;

 private:
  std::unique_lock<std::mutex> enter_null_rule();
  // The rest is called with mutex_ held.
  /// Lets go of the commands that are over. Throws DEVICE_LOST if one failed, now or before.
  void look();
  Record back();
  void push_marker();
  void push_barrier(const std::vector<cl_event>& events);
  template <class Enqueue>
  void push(const char* call, Enqueue&& enqueue) {
    commands_.emplace_back();  // first: a command in the queue must not be lost for want of memory
    try {
      check(enqueue(queue_.get(), commands_.back().out()), call);
    } catch (...) {
      commands_.pop_back();
      throw;
    }
    ++submitted_;
    check(api().Flush(queue_.get()), "clFlush");
  }

  Device& device_;
  const Queue queue_;
  const StreamKind kind_;

  std::mutex mutex_;  // guards all below, and that submissions are in the same order here and in the queue
  std::deque<EventRef> commands_;
  std::uint64_t submitted_ = 0;
  bool foreign_ = false;
};

}  // namespace opencl_backend
