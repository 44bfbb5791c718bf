// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <thread>

#include "device.h"
#include "watcher.h"

namespace opencl_backend {

Stream::Stream(Device& device, Queue queue, StreamKind kind, bool foreign)
    : device_(device), queue_(std::move(queue)), kind_(kind), foreign_(foreign) {}

cl_command_queue Stream::native() {
  const std::lock_guard lock(mutex_);
  foreign_ = true;
  return queue_.get();
}

std::unique_lock<std::mutex> Stream::enter_null_rule() { return device_.null_rule().enter(*this); }

// ---- Commands

void Stream::look() {
  if (device_.lost()) device_.refuse_lost();
  while (!commands_.empty()) {
    const cl_int status = status_of(commands_.front());
    if (status > CL_COMPLETE) return;
    if (status < CL_COMPLETE) {
      device_.lose(status);
      device_.refuse_lost();
    }
    commands_.pop_front();
  }
}

void Stream::push_marker() {
  push("clEnqueueMarkerWithWaitList", [](cl_command_queue queue, cl_event* event) {
    return api().EnqueueMarkerWithWaitList(queue, 0, nullptr, event);
  });
}

void Stream::push_barrier(const std::vector<cl_event>& events) {
  push("clEnqueueBarrierWithWaitList", [&](cl_command_queue queue, cl_event* event) {
    return api().EnqueueBarrierWithWaitList(queue, static_cast<cl_uint>(events.size()), events.data(), event);
  });
}

// ---- Order

void Stream::wait_past_rule(const std::vector<EventRef>& events) {
  std::vector<cl_event> raw;
  for (const EventRef& event : events) raw.push_back(event.get());
  const std::lock_guard lock(mutex_);
  look();
  push_barrier(raw);
}

void Stream::wait_for(const EventRef& event) {
  submit("clEnqueueBarrierWithWaitList", [raw = event.get()](cl_command_queue queue, cl_event* barrier) {
    return api().EnqueueBarrierWithWaitList(queue, 1, &raw, barrier);
  });
}

void Stream::wait_for(const Record& record) {
  if (!record.event || record.stream.get() == this || status_of(record.event) <= CL_COMPLETE) return;
  if (&record.stream->device() == &device_) return wait_for(record.event);
  // Events of another context are no good here: one of ours is opened when that one is over.
  const EventRef relay = make_user_event(device_.context());
  wait_for(relay);
  try {
    Watcher::instance().watch(record.stream->device(), record.event, [relay] { open(relay); });
  } catch (...) {
    open(relay);
    throw;
  }
}

void Stream::run_on_host(anyplace_host_function function, void* user) {
  device_.host_thread().start();
  const EventRef done = make_user_event(device_.context());
  const auto task = std::make_shared<std::list<HostThread::Task>>(1, HostThread::Task{function, user, done});
  HostThread* const thread = &device_.host_thread();

  const auto order = enter_null_rule();
  const std::lock_guard lock(mutex_);
  look();
  if (foreign_) push_marker();
  const EventRef before = commands_.empty() ? EventRef() : commands_.back();
  push_barrier({done.get()});
  try {
    if (before) {
      Watcher::instance().watch(device_, before, [thread, task] { thread->push(task); });
    } else {
      thread->push(task);
    }
  } catch (...) {
    open(done);
    throw;
  }
}

Record Stream::record(bool timed) {
  const auto order = enter_null_rule();
  const std::lock_guard lock(mutex_);
  look();
  if (timed || foreign_) push_marker();
  return back();
}

// ---- State

bool Stream::query() {
  std::unique_lock lock(mutex_);
  look();
  if (!foreign_) return commands_.empty();
  // Only a marker that is over says that the user's own work is, too; it gets the moment that it takes on an idle
  // queue.
  push_marker();
  const Deadline moment(200'000);
  while (!commands_.empty() && moment.left().count() > 0) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    look();
  }
  return commands_.empty();
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  look();
  return commands_.empty();
}

Record Stream::back() { return {shared_from_this(), commands_.empty() ? EventRef() : commands_.back(), submitted_}; }

Record Stream::last() {
  const std::lock_guard lock(mutex_);
  if (foreign_) push_marker();
  look();
  return back();
}

bool Stream::is_over(const Record& record) {
  if (!record.event) return true;
  if (status_of(record.event) > CL_COMPLETE) return false;
  const std::lock_guard lock(mutex_);
  look();
  return true;
}

bool Stream::wait_until_over(const Record& record, const Deadline& deadline) {
  if (!record.event) return true;
  if (!wait_for_event(record.event, deadline)) return false;
  const std::lock_guard lock(mutex_);
  look();
  return true;
}

}  // namespace opencl_backend
