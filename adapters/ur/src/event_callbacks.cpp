// SPDX-License-Identifier: Apache-2.0
//
// One thread makes all callbacks. It asks after the events that are pending a few thousand times a second, and sleeps
// while there are none: a host function in the event's stream could not call the adapter, and would hold up what
// follows in the stream.
#include "event_callbacks.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include <anyplace/backend/kit/signals_blocked.h>
#include <anyplace/error.h>

namespace anyplace_ur {

namespace {

constexpr std::chrono::microseconds interval(200);

struct Pending {
  Hold<ur_event_handle_t_> event;
  ur_execution_info_t status;
  ur_event_callback_t callback;
  void* user_data;

  bool is_due() const {
    try {
      return status != UR_EXECUTION_INFO_COMPLETE || event->is_complete();
    } catch (const anyplace::Error&) {
      return true;  // a lost device completes nothing: whoever waits must not wait for ever
    }
  }
};

/// Never destroyed, as its thread never ends.
class Callbacks {
 public:
  void add(Pending pending) {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      const anyplace::backend::SignalsBlocked scope;  // A thread inherits the mask of its maker.
      std::thread([this] { run(); }).detach();
    }
    started_ = true;
    pending_.push_back(std::move(pending));
    added_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      added_.wait(lock, [this] { return !pending_.empty(); });
      std::list<Pending> due = take_due();
      lock.unlock();
      for (const Pending& one : due) one.callback(one.event.get(), one.status, one.user_data);
      const bool idle = due.empty();
      due.clear();
      if (idle) std::this_thread::sleep_for(interval);
      lock.lock();
    }
  }

  std::list<Pending> take_due() {
    std::list<Pending> due;
    for (auto one = pending_.begin(); one != pending_.end();) {
      const auto next = std::next(one);
      if (one->is_due()) due.splice(due.end(), pending_, one);
      one = next;
    }
    return due;
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::list<Pending> pending_;
  bool started_ = false;
};

Callbacks& callbacks() {
  static Callbacks* const instance = new Callbacks;
  return *instance;
}

}  // namespace

void call_when_reached(ur_event_handle_t event, ur_execution_info_t status, ur_event_callback_t callback,
                       void* user_data) {
  callbacks().add({Hold<ur_event_handle_t_>(event), status, callback, user_data});
}

}  // namespace anyplace_ur
