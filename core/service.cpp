// SPDX-License-Identifier: Apache-2.0
// The service thread and the polling thread: the same loop over tasks that each have a time before which they don't
// run.
#include "service.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cross_wait.h"
#include "deadline.h"
#include "process.h"

namespace anyplace::detail {
namespace {

using Clock = Deadline::Clock;

/// A thread that is started by the first work it gets. `Loop` is its body; it ends when `stopping` is set.
template <class Queue>
struct Worker {
  std::mutex mutex;  // guards everything below; a leaf
  std::condition_variable changed;
  Queue queue;
  bool started = false;
  bool stopping = false;
  bool ended = false;

  /// Under the mutex. The application's signal handlers are never run here.
  void start(void (*loop)(Worker&), const char* name) {
    if (started) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread thread(loop, std::ref(*this));
      pthread_setname_np(thread.native_handle(), name);
      thread.detach();
      started = true;
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void end(std::unique_lock<std::mutex>& lock) noexcept {
    ended = true;
    changed.notify_all();
    lock.unlock();
  }
  bool stop(const Deadline& deadline) {
    std::unique_lock lock(mutex);
    stopping = true;
    changed.notify_all();
    return wait_for_condition(changed, lock, deadline, [this] { return !started || ended; });
  }
};

// ---- The service thread --------------------------------------------------------------------------------------------

using Service = Worker<std::deque<std::function<void()>>>;
/// Never destroyed: the thread may outlive main. What is never run stays in it.
Service& service() {
  static Service* const made = new Service;
  return *made;
}

void serve(Service& me) {
  std::unique_lock lock(me.mutex);
  while (true) {
    me.changed.wait(lock, [&] { return me.stopping || !me.queue.empty(); });
    if (me.queue.empty() || !process_running()) break;  // the backends belong to their shutdown then
    std::function<void()> task = std::move(me.queue.front());
    me.queue.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  me.end(lock);
}

// ---- The polling thread --------------------------------------------------------------------------------------------

struct Poll {
  std::function<bool()> step;
  Clock::time_point next;
  Clock::duration pause;
};
constexpr Clock::duration first_pause = std::chrono::microseconds(10);
constexpr Clock::duration longest_pause = std::chrono::milliseconds(1);

using Poller = Worker<std::vector<Poll>>;
Poller& poller() {
  static Poller* const made = new Poller;
  return *made;
}

void poll(Poller& me) {
  const CallbackScope scope;  // what is let go of here is destroyed by the service thread: destroying could block
  std::vector<Poll> mine;
  std::unique_lock lock(me.mutex);
  while (true) {
    for (Poll& added : me.queue) mine.push_back(std::move(added));
    me.queue.clear();
    if (me.stopping) break;
    if (mine.empty()) {
      me.changed.wait(lock, [&] { return me.stopping || !me.queue.empty(); });
      continue;
    }
    lock.unlock();
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    for (std::size_t i = 0; i < mine.size();) {
      Poll& asked = mine[i];
      if (asked.next <= now) {
        if (asked.step()) {
          if (i + 1 != mine.size()) asked = std::move(mine.back());
          mine.pop_back();
          continue;
        }
        asked.next = now + asked.pause;
        asked.pause = std::min(asked.pause * 2, longest_pause);
      }
      next = std::min(next, asked.next);
      ++i;
    }
    lock.lock();
    if (!mine.empty()) me.changed.wait_until(lock, next, [&] { return me.stopping || !me.queue.empty(); });
  }
  // What was not answered stays where a leak checker finds it: its captures may own a lost device's helpers.
  me.queue = std::move(mine);
  me.end(lock);
}

}  // namespace

void post_to_service(std::function<void()> task) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  Service& me = service();
  const std::lock_guard lock(me.mutex);
  me.queue.push_back(std::move(task));
  if (!me.stopping) me.start(serve, "anyplace-service");
  me.changed.notify_all();
}

void poll_in_service(std::function<bool()> step) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  Poller& me = poller();
  const std::lock_guard lock(me.mutex);
  me.queue.push_back({std::move(step), Clock::now() + first_pause, first_pause});
  if (!me.stopping) me.start(poll, "anyplace-poll");
  me.changed.notify_all();
}

bool stop_service(std::chrono::nanoseconds timeout) noexcept {
  const Deadline deadline(to_timeout_ns(timeout));
  const bool settled = settle_cross_waits(std::chrono::nanoseconds(deadline.left()));
  const bool served = service().stop(deadline);
  const bool polled = poller().stop(deadline);
  return settled && served && polled;
}

}  // namespace anyplace::detail
