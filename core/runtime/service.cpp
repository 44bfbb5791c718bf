// SPDX-License-Identifier: Apache-2.0
// The service thread and the polling thread. Each has a queue whose memory is allocated before it is needed.
#include "runtime/service.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"

namespace anyplace::detail {
namespace {

using Clock = Deadline::Clock;

// ---- Queues --------------------------------------------------------------------------------------------------------

/// A ring: first in, first out. Items can also be removed from the middle.
template <class Item>
class Queue {
 public:
  constexpr Queue() noexcept = default;
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  Item& at(std::size_t i) noexcept { return items_[(first_ + i) % capacity_]; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    std::unique_ptr<Item[]> larger(new Item[capacity]);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    items_ = std::move(larger);
    capacity_ = capacity;
    first_ = 0;
  }
  /// The caller has made sure that there is room.
  void push(const Item& item) noexcept { at(size_++) = item; }
  Item pop() noexcept {
    const Item first = at(0);
    first_ = (first_ + 1) % capacity_;
    --size_;
    return first;
  }
  /// Removes item i and returns it; the others stay in their order.
  Item pop_at(std::size_t i) noexcept {
    const Item item = at(i);
    for (; i + 1 < size_; ++i) at(i) = at(i + 1);
    --size_;
    return item;
  }
  /// Removes item i; the last item takes its position.
  void take_out(std::size_t i) noexcept {
    at(i) = at(size_ - 1);
    --size_;
  }

 private:
  std::unique_ptr<Item[]> items_;
  std::size_t capacity_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

// ---- Threads -------------------------------------------------------------------------------------------------------

/// One of the two threads and its queue. Never destroyed: the thread may outlive main. Items that are never run stay in
/// the queue.
template <class Item, class Body>
struct Worker {
  std::mutex mutex;  // guards everything below; a leaf
  std::condition_variable changed;
  Queue<Item> queue;
  bool started = false;
  bool stopping = false;
  bool ended = false;
  bool lost_some = false;  ///< an item was dropped for want of memory, which make_service_room() should have prevented

  /// Starts the thread unless it runs. Called under the mutex. Returns 0 or the error of pthread_create. The thread
  /// blocks all signals but those of its own faults, so the application's signal handlers don't run on it otherwise.
  int start() noexcept {
    if (started || stopping) return 0;
    const backend::SignalsBlocked scope;  // A thread inherits the mask of its maker.
    pthread_t thread{};
    const int error = pthread_create(
        &thread, nullptr,
        [](void* self) -> void* {
          Body::run(*static_cast<Worker*>(self));
          return nullptr;
        },
        this);
    if (error == 0) {
      pthread_setname_np(thread, Body::name);
      pthread_detach(thread);
      started = true;
    }
    return error;
  }
  int make_room(std::size_t room) {
    const std::lock_guard lock(mutex);
    if (queue.capacity() < room) queue.reserve(std::max<std::size_t>(64, 2 * room));
    return start();
  }
  void add(const Item& item) noexcept {
    const std::lock_guard lock(mutex);
    if (queue.size() == queue.capacity()) {
      try {
        queue.reserve(2 * queue.capacity() + 16);
      } catch (...) {
        lost_some = true;
        return;
      }
    }
    queue.push(item);
    static_cast<void>(start());
    changed.notify_all();
  }
  bool stop(const Deadline& deadline) noexcept {
    std::unique_lock lock(mutex);
    stopping = true;
    changed.notify_all();
    if (!started) {
      lock.unlock();
      return Body::run_until(*this, deadline) && !lost_some;
    }
    return wait_for_condition(changed, lock, deadline, [this] { return ended; }) && !lost_some;
  }
};

/// A task, and whether it is a release.
struct Posted {
  ServiceTask task;
  bool is_release = false;
};

int releasing = 0;                              // guarded by the service's mutex; releases that threads are doing
thread_local constinit int releasing_here = 0;  ///< the releases that this thread is doing

/// The service thread. It ends when nothing is left to do.
struct Serve {
  static constexpr const char* name = "anyplace-serve";  // The system takes 15 characters.
  using Service = Worker<Posted, Serve>;

  /// Called under the lock, which it releases while the task runs.
  static void run(Service& me, std::unique_lock<std::mutex>& lock, Posted posted) noexcept {
    const int release = posted.is_release ? 1 : 0;
    count_releases(me, release);
    lock.unlock();
    posted.task();
    lock.lock();
    count_releases(me, -release);
  }
  /// Adds to the number of releases that are being done. Called under the lock.
  static void count_releases(Service& me, int added) noexcept {
    releasing += added;
    releasing_here += added;
    if (added < 0) me.changed.notify_all();
  }
  static void run_first(Service& me, std::unique_lock<std::mutex>& lock) noexcept { run(me, lock, me.queue.pop()); }
  /// Runs the releases that are queued now. False if there are none. Called under the lock, which it releases while a
  /// task runs.
  static bool run_releases(Service& me, std::unique_lock<std::mutex>& lock) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < me.queue.size();) {
      if (!me.queue.at(i).is_release) {
        ++i;
        continue;
      }
      any = true;
      run(me, lock, i == 0 ? me.queue.pop() : me.queue.pop_at(i));
      i = 0;  // others may have taken some meanwhile
    }
    return any;
  }
  static void run(Service& me) noexcept {
    std::unique_lock lock(me.mutex);
    while (true) {
      me.changed.wait(lock, [&] { return me.stopping || me.queue.size() != 0; });
      // Once the process is exiting, tasks must not call backends any more.
      if (me.queue.size() == 0 || !process_running()) break;
      run_first(me, lock);
    }
    me.ended = true;
    me.changed.notify_all();
  }
  /// Runs the queue on the calling thread, where the service thread was never started.
  static bool run_until(Service& me, const Deadline& deadline) noexcept {
    std::unique_lock lock(me.mutex);
    while (me.queue.size() != 0 && deadline.left() != 0) run_first(me, lock);
    return me.queue.size() == 0;
  }
};

struct Poll {
  PollStep step;
  Clock::time_point next;
  Clock::duration pause{};
};
constexpr Clock::duration first_pause = std::chrono::microseconds(10);
constexpr Clock::duration longest_pause = std::chrono::milliseconds(1);

/// The polling thread. It ends at once when it is told to stop; unfinished steps stay in the queue, where a leak
/// checker finds them.
struct AskAgain {
  static constexpr const char* name = "anyplace-poll";
  using Poller = Worker<Poll, AskAgain>;

  /// Runs the steps that are due and returns when the next one is. Called under the lock, which it releases while a
  /// step runs; other threads may add steps meanwhile.
  static Clock::time_point ask(Poller& me, std::unique_lock<std::mutex>& lock) noexcept {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    for (std::size_t i = 0; i < me.queue.size();) {
      if (me.queue.at(i).next <= now) {
        PollStep step = me.queue.at(i).step;
        lock.unlock();
        const bool over = step();
        lock.lock();
        if (over) {
          me.queue.take_out(i);
          continue;
        }
        Poll& asked = me.queue.at(i);
        asked.next = now + asked.pause;
        asked.pause = std::min(asked.pause * 2, longest_pause);
      }
      next = std::min(next, me.queue.at(i).next);
      ++i;
    }
    return next;
  }
  static void run(Poller& me) noexcept {
    // Inside a callback, objects are destroyed by the service thread: destroying could block this one.
    const CallbackScope scope;
    std::unique_lock lock(me.mutex);
    while (!me.stopping) {
      if (me.queue.size() == 0) {
        me.changed.wait(lock, [&] { return me.stopping || me.queue.size() != 0; });
        continue;
      }
      const Clock::time_point next = ask(me, lock);
      if (me.queue.size() != 0 && !me.stopping) me.changed.wait_until(lock, next);
    }
    me.ended = true;
    me.changed.notify_all();
  }
  /// Runs each step once more on the calling thread, where the polling thread was never started.
  static bool run_until(Poller& me, const Deadline&) noexcept {
    const CallbackScope scope;
    std::unique_lock lock(me.mutex);
    for (std::size_t i = 0; i < me.queue.size(); ++i) me.queue.at(i).next = {};
    ask(me, lock);
    return me.queue.size() == 0;
  }
};

NoDestructor<Serve::Service> service;
NoDestructor<AskAgain::Poller> poller;

std::mutex room_mutex;  // guards room; taken before the workers'
std::size_t room = 0;   ///< number of objects that may be handed over at the same time
/// Tasks of the core that belong to no object: the sweep of deferred_release.cpp.
constexpr std::size_t core_tasks = 1;

}  // namespace

void make_service_room(const char* operation) {
  int error = 0;
  {
    const std::lock_guard lock(room_mutex);
    error = service.value.make_room(room + 1 + core_tasks);
    if (error == 0) error = poller.value.make_room(room + 1 + core_tasks);
    if (error == 0) ++room;
  }
  if (error == 0) return;
  ErrorDetails details;
  details.code = ErrorCode::backend_failed;
  details.operation = operation;
  details.vendor_code = error;
  details.vendor_name = "pthread_create";
  details.text =
      fmt::format("no thread could be started for what is to be done in the background: {}", std::strerror(error));
  details.remedy =
      "see the limits on processes (ulimit -u, the cgroup's pids.max) and on memory; the next use tries again";
  throw Error(std::move(details));
}

void give_service_room() noexcept {
  const std::lock_guard lock(room_mutex);
  --room;
}

void post_task(const ServiceTask& task, bool is_release) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  service.value.add({task, is_release});
}

bool finish_releases() noexcept {
  Serve::Service& me = service.value;
  std::unique_lock lock(me.mutex);
  if (!process_running()) return false;
  const bool any = Serve::run_releases(me, lock);
  if (releasing == 0 || releasing_here != 0) return any;
  me.changed.wait(lock, [] { return releasing == 0; });
  return true;
}

void post_step(const PollStep& step) noexcept {
  if (process_phase.load(std::memory_order_relaxed) == Phase::forked) return;
  poller.value.add({step, Clock::now() + first_pause, first_pause});
}

ReleaseScope::ReleaseScope() noexcept {
  const std::lock_guard lock(service.value.mutex);
  Serve::count_releases(service.value, 1);
}
ReleaseScope::~ReleaseScope() {
  const std::lock_guard lock(service.value.mutex);
  Serve::count_releases(service.value, -1);
}

bool stop_service(std::chrono::nanoseconds timeout) noexcept {
  const Deadline deadline(to_timeout_ns(timeout));
  const bool served = service.value.stop(deadline);
  const bool polled = poller.value.stop(deadline);
  return served && polled;
}

void finish_service() noexcept {
  Serve::Service& me = service.value;
  {
    const std::lock_guard lock(me.mutex);
    if (me.started && !me.ended) return;  // its own thread is late
  }
  Serve::run_until(me, Deadline(ANYPLACE_FOREVER));
}

}  // namespace anyplace::detail
