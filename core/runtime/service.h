// SPDX-License-Identifier: Apache-2.0
//
// The core's two threads, which are started with the first handle.
//
// The service thread does work that may not be done where the need arises: destroying objects from inside a host
// function, submitting what was held back. Its tasks run in order. The polling thread repeats queries for events that
// nobody announces. It never blocks, so that the completion of anything that the service thread waits for is always
// noticed.
//
// Handing over work can't fail, because destructors do it. So a call that may throw starts the threads and allocates
// the room in their queues beforehand. If a thread is missing all the same, the work stays queued and each later call
// tries again to start the thread; at exit the exiting thread does what is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "runtime/process.h"

namespace anyplace::detail {

/// A closure of three words at most, which can be moved about as bytes.
template <class Result>
class SmallTask {
 public:
  SmallTask() noexcept = default;
  template <class Function>
  explicit SmallTask(const Function& function) noexcept
      : call_([](void* bytes) noexcept -> Result { return (*static_cast<Function*>(bytes))(); }) {
    static_assert(std::is_trivially_copyable_v<Function> && sizeof(Function) <= sizeof(bytes_));
    std::memcpy(bytes_, &function, sizeof(function));
  }
  Result operator()() noexcept { return call_(bytes_); }

 private:
  Result (*call_)(void*) noexcept = nullptr;
  alignas(void*) unsigned char bytes_[3 * sizeof(void*)] = {};
};
using ServiceTask = SmallTask<void>;
using PollStep = SmallTask<bool>;

/// Called once before making an object that may later be handed over to one of the threads. Starts the threads unless
/// they run, and makes room for one more object. Throws an Error if no thread can be started, and bad_alloc.
void make_service_room(const char* operation);
/// Tells that such an object is gone.
void give_service_room() noexcept;

/// Makes room for one object, for as long as it lives.
class ServiceRoom {
 public:
  explicit ServiceRoom(const char* operation) { make_service_room(operation); }
  ServiceRoom(const ServiceRoom&) = delete;  // given back once
  ServiceRoom& operator=(const ServiceRoom&) = delete;
  ~ServiceRoom() { give_service_room(); }
};

void post_task(const ServiceTask& task, bool is_release = false) noexcept;
void post_step(const PollStep& step) noexcept;

/// Runs `task` on the service thread. May be called on any thread, also inside callbacks. The task doesn't throw. A
/// task that is posted after stop_service() is run by finish_service(), and one that is posted later never.
template <class Function>
void post_to_service(Function task) noexcept {
  post_task(ServiceTask(task));
}

/// post_to_service() for a task that gives up memory and doesn't depend on tasks before it. A thread that needs the
/// memory runs it by finish_releases().
template <class Function>
void post_release(Function task) noexcept {
  post_task(ServiceTask(task), true);
}
/// Runs the tasks of post_release() that aren't done, and waits for those that another thread is doing just now, unless
/// the calling thread is inside of such a task itself. False if there was nothing. Not called inside callbacks.
bool finish_releases() noexcept;
/// finish_releases() also waits for what the calling thread does while this lives.
class ReleaseScope {
 public:
  ReleaseScope() noexcept;
  ReleaseScope(const ReleaseScope&) = delete;  // bound to its scope
  ReleaseScope& operator=(const ReleaseScope&) = delete;
  ~ReleaseScope();
};

/// Calls `step` on the polling thread, less and less often, until it returns true. The step neither throws nor blocks.
/// After stop_service() it isn't called any more.
template <class Function>
void poll_in_service(Function step) noexcept {
  post_step(PollStep(step));
}

/// Runs what is queued and stops both threads. False if `timeout` ran out first; a thread that is still busy is then
/// left running. Called once, at exit, while the process still counts as running; the backends are shut down
/// afterwards.
bool stop_service(std::chrono::nanoseconds timeout) noexcept;
/// Runs what a last step of the polling thread handed over when the service thread had ended. Called after
/// stop_service(), and not on the thread that exits: its thread-local objects, which layers have too, are gone.
void finish_service() noexcept;

/// Whether a destructor or one of the core's threads may call a backend's entry: not in a forked child, and not once
/// the backends are being shut down.
inline bool backends_callable() noexcept { return process_running(); }

}  // namespace anyplace::detail
