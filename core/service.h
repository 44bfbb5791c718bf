// SPDX-License-Identifier: Apache-2.0
//
// Two threads of the core's own, started with the first handle.
//
// The service thread does what may not be done where it comes up: destroying from inside a host function, submitting
// what was held back. Tasks run in order. The polling thread asks again and again about what nobody announces, and
// never does anything that could block, so that what the service thread waits for can always be found to be done.
//
// Handing over work can't fail, because destructors do it: the threads are started, and the room for what they may be
// given is made, where a call may throw. If a thread ends up missing all the same, the work is kept, each later call
// tries again to start it, and what is left at exit is done by the thread that exits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "process.h"

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

/// Before something is made that may later be handed over to one of the threads, once: starts the threads, unless they
/// run, and makes room for one more. Throws an Error that says so if there is no thread to be had, and bad_alloc.
void make_service_room(const char* operation);
/// Such a thing is gone.
void give_service_room() noexcept;

/// Room for as long as it lives.
class ServiceRoom {
 public:
  explicit ServiceRoom(const char* operation) { make_service_room(operation); }
  ServiceRoom(const ServiceRoom&) = delete;  // given back once
  ServiceRoom& operator=(const ServiceRoom&) = delete;
  ~ServiceRoom() { give_service_room(); }
};

void post_task(const ServiceTask& task) noexcept;
void post_step(const PollStep& step) noexcept;

/// Any thread, also inside callbacks. The task doesn't throw. What is posted after stop_service() is never run.
template <class Function>
void post_to_service(Function task) noexcept {
  post_task(ServiceTask(task));
}

/// Calls `step` on the polling thread, less and less often, until it returns true. It neither throws nor blocks. After
/// stop_service() it isn't called any more.
template <class Function>
void poll_in_service(Function step) noexcept {
  post_step(PollStep(step));
}

/// Lets streams that are held and waits between backends finish, runs what is queued, and stops both threads; false if
/// `timeout` ran out first (a thread that is still at something is then left alone). Called once, at exit, while the
/// process still counts as running; the backends are shut down afterwards.
bool stop_service(std::chrono::nanoseconds timeout) noexcept;

/// Whether a backend's entry may be called from a destructor or a thread of the core's: not in a forked child, and not
/// once the backends are being shut down.
inline bool backends_callable() noexcept { return process_running(); }

}  // namespace anyplace::detail
