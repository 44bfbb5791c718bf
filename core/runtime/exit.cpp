// SPDX-License-Identifier: Apache-2.0
//
// The order at exit: wait for the devices (host functions may still give handles to the service thread), let the
// service thread finish what is queued, close the API, shut the backends down. One deadline covers all of it. Each
// backend is waited for and shut down on a thread of its own, so a backend that hangs takes no time from the others,
// and the process ends by the deadline.
#include "runtime/exit.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/signals_blocked.h"
#include "runtime/backend.h"
#include "runtime/call.h"
#include "runtime/service.h"
#include "runtime/shortage.h"
#include "runtime/subsystem.h"

namespace anyplace::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds total_time{5};  // the texts below name it, too
/// The limit for waiting for devices. It is less than the total, so that time is left to shut down the other backends.
constexpr std::chrono::seconds device_time{3};
/// The limit in virtual time, once all work is done. An emulator on a busy machine takes a minute.
constexpr std::chrono::minutes virtual_time{10};
/// How late a call that was given a timeout may return.
constexpr std::chrono::milliseconds grace{250};

/// From now on every new call fails; calls under way go on.
void close_api() noexcept {
  process_phase.store(Phase::exiting, std::memory_order_seq_cst);
  close_fast_path(nullptr);
}

std::uint64_t nanoseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<std::uint64_t>(left) : 0;
}

/// Which of the calls of run_until() are done. The threads share it, because one that hangs outlives run_until().
struct Calls {
  /// Kept once, before anything is called: each further copy of a function may fail for want of memory.
  std::function<void(std::size_t, bool)> call;
  std::mutex mutex;  // guards done; no other lock is taken under it
  std::condition_variable changed;
  std::vector<bool> done;
};

/// Threads that are detached in the end unless they were joined: they hang, or the exit must not wait for them.
struct Threads {
  std::vector<std::thread> all;

  Threads() = default;
  Threads(const Threads&) = delete;  // each thread is joined or left once
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    for (std::thread& thread : all) {
      if (thread.joinable()) thread.detach();
    }
  }
};

/// Runs call(i, own_thread) for each i below `count`, each on a thread of its own, and returns the i that weren't done
/// at `deadline`. If no thread can be started for one, this thread runs it with own_thread false; such a call must keep
/// to the deadline itself. Throws bad_alloc before anything is called.
std::vector<std::size_t> run_until(Clock::time_point deadline, std::size_t count,
                                   const std::function<void(std::size_t, bool)>& call) {
  const auto calls = std::make_shared<Calls>();
  calls->call = call;
  calls->done.resize(count, false);
  std::vector<std::size_t> late, alone;
  late.reserve(count);
  alone.reserve(count);
  Threads threads;
  threads.all.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto run = [calls, i](bool own_thread) {
      calls->call(i, own_thread);
      const std::lock_guard lock(calls->mutex);
      calls->done[i] = true;
      calls->changed.notify_all();
    };
    try {
      const backend::SignalsBlocked scope;  // A thread inherits the mask of its maker.
      threads.all[i] = std::thread(run, true);
    } catch (const std::exception&) {
      alone.push_back(i);
    }
  }
  for (const std::size_t i : alone) {
    call(i, false);
    const std::lock_guard lock(calls->mutex);
    calls->done[i] = true;
  }
  std::unique_lock lock(calls->mutex);
  calls->changed.wait_until(lock, deadline, [&] {
    late.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (!calls->done[i]) late.push_back(i);
    }
    return late.empty();
  });
  lock.unlock();
  // A thread that is done may still be ending, and would then run beside what follows at exit (a leak check, an
  // unloading). So it is joined.
  for (std::size_t i = 0; i < count; ++i) {
    if (threads.all[i].joinable() && std::find(late.begin(), late.end(), i) == late.end()) threads.all[i].join();
  }
  return late;
}

void report_left_behind(const std::string& place, ErrorCode code, const char* why) noexcept {
  report(error_or_shortage([&] {
    ErrorDetails details;
    details.code = code;
    details.place = place;
    details.operation = "exit";
    details.text = why;
    return Error(std::move(details));
  }));
}

/// Whether the device may have work. A device that nobody used isn't asked, because asking could make a vendor's
/// context.
bool is_busy(const DeviceState& device) noexcept {
  return device.used.load(std::memory_order_relaxed) && !device.lost.load(std::memory_order_relaxed);
}

/// Waits for the backend's used devices, including submissions that the core holds back. The API is still open.
void synchronize_used(Backend& backend, Clock::time_point deadline) noexcept {
  bool all_idle = true;
  for (const auto& device : backend.devices) {
    if (!is_busy(*device)) continue;
    try {
      for (const Subsystem* const subsystem : subsystems()) {
        if (subsystem->wait_for_device == nullptr) continue;
        if (!subsystem->wait_for_device(*device, nanoseconds_until(deadline))) all_idle = false;
      }
    } catch (...) {  // there is nothing to wait for on a device that fails here; its shutdown reports what is wrong
      all_idle = all_idle && !is_busy(*device);
    }
  }
  for (const auto& device : backend.devices) {
    if (!device->used.load(std::memory_order_relaxed)) continue;
    for (const Subsystem* const subsystem : subsystems()) {
      if (subsystem->after_wait != nullptr) subsystem->after_wait(*device, all_idle);
    }
    device->idle_at_exit.store(all_idle, std::memory_order_release);
  }
}

/// Frees what the core keeps for reuse, as far as there is time. No free and no copy comes after this.
void drop_kept(const std::vector<Backend*>& backends, Clock::time_point deadline) noexcept {
  for (const Backend* const backend : backends) {
    for (const auto& device : backend->devices) {
      if (!device->used.load(std::memory_order_relaxed)) continue;
      for (const Subsystem* const subsystem : subsystems()) {
        if (subsystem->give_back != nullptr) subsystem->give_back(*device, deadline);
      }
    }
  }
}

/// Releases the objects of closed handles and the memory that copies keep, then frees idle memory. False if the first
/// part ran out of time. The second part may be left unfinished, because the process's end frees the rest.
bool end_unused(const std::vector<Backend*>& backends, Clock::time_point deadline) {
  // Each part has half of what is left: time must be left for the backends' shutdown.
  const auto half_way = [deadline] {
    const Clock::time_point now = Clock::now();
    return now + (deadline - now) / 2;
  };
  const auto end_handles = [](std::size_t, bool) {
    finish_service();
    for (const Subsystem* const subsystem : subsystems()) {
      if (subsystem->end_unused != nullptr) subsystem->end_unused();
    }
  };
  if (!run_until(half_way(), 1, end_handles).empty()) return false;
  const Clock::time_point give_back_deadline = half_way();
  run_until(std::min(deadline, give_back_deadline + grace), 1,
            [backends, give_back_deadline](std::size_t, bool) { drop_kept(backends, give_back_deadline); });
  return true;
}

/// Waits for a backend without a shutdown entry. A backend that can't wait for a limited time waits without a limit,
/// but only on a thread of its own: run_until() then ends the wait for that thread.
void wait_for_used(Backend& backend, Clock::time_point deadline, bool own_thread) noexcept {
  for (const auto& device : backend.devices) {
    if (!is_busy(*device)) continue;
    const anyplace_backend_table& table = *device->table;
    if (table.device_synchronize(device->self, device->index, nanoseconds_until(deadline)) !=
        ANYPLACE_STATUS_UNSUPPORTED) {
      continue;
    }
    if (!own_thread) {
      report_left_behind(device->place, ErrorCode::timeout,
                         "no thread could be started to wait for its work: what isn't done is left behind");
    } else {
      table.device_synchronize(device->self, device->index, ANYPLACE_FOREVER);
    }
  }
}

bool any_used(const Backend& backend) noexcept {
  for (const auto& device : backend.devices) {
    if (is_busy(*device)) return true;
  }
  return false;
}

struct Outcome {
  std::atomic<anyplace_status> status{ANYPLACE_STATUS_OK};
  Message why;  ///< written before status, by the one thread that shuts this backend down
};

void shut_down(Backend& backend, Clock::time_point deadline, bool own_thread, Outcome& outcome) noexcept {
  if (backend.table.shutdown == nullptr) {
    wait_for_used(backend, deadline, own_thread);
  } else {
    const anyplace_status status = backend.table.shutdown(backend.table.self, nanoseconds_until(deadline));
    if (status != ANYPLACE_STATUS_OK) outcome.why = take_message();
    outcome.status.store(status, std::memory_order_release);
  }
  end_layers(backend);
}

bool settle_all(Clock::time_point deadline) noexcept {
  bool settled = true;
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->settle == nullptr) continue;
    settled = subsystem->settle(std::chrono::nanoseconds(nanoseconds_until(deadline))) && settled;
  }
  return settled;
}

/// Whether the used devices take virtual time and are idle, so that nothing is left that could hang.
bool are_idle_in_virtual_time(const std::vector<Backend*>& used) noexcept {
  const auto is_idle = [](const auto& device) {
    return !device->used.load(std::memory_order_relaxed) ||
           (device->idle_at_exit.load(std::memory_order_acquire) && is_known_in_virtual_time(*device));
  };
  return std::all_of(used.begin(), used.end(), [&](const Backend* backend) {
    return std::all_of(backend->devices.begin(), backend->devices.end(), is_idle);
  });
}

void shut_down_all(const std::vector<Backend*>& backends) {
  Clock::time_point deadline = Clock::now() + total_time;
  const Clock::time_point devices_deadline = Clock::now() + device_time;

  std::vector<Backend*> used;
  for (Backend* const backend : backends) {
    if (any_used(*backend)) used.push_back(backend);
  }
  bool any_stuck = false;
  if (!used.empty()) {
    const std::vector<std::size_t> stuck =
        run_until(devices_deadline + grace, used.size(),
                  [used, devices_deadline](std::size_t i, bool) { synchronize_used(*used[i], devices_deadline); });
    any_stuck = !stuck.empty();
  }
  // Each free is a call in the reports and traces of virtual time, which are the same on a machine that is slow or
  // busy.
  if (!used.empty() && !any_stuck && are_idle_in_virtual_time(used)) deadline = Clock::now() + virtual_time;
  const Clock::time_point service_deadline = Clock::now() + (deadline - Clock::now()) / 2;
  bool flushed = settle_all(service_deadline);
  flushed = stop_service(std::chrono::nanoseconds(nanoseconds_until(service_deadline))) && flushed;
  if (!used.empty() && !any_stuck && !end_unused(used, deadline)) flushed = false;
  close_api();

  const auto outcomes = std::make_shared<std::vector<Outcome>>(backends.size());
  const std::vector<std::size_t> late =
      run_until(deadline + grace, backends.size(), [backends, deadline, outcomes](std::size_t i, bool own_thread) {
        shut_down(*backends[i], deadline, own_thread, (*outcomes)[i]);
      });
  for (const std::size_t i : late) {
    report_left_behind(backends[i]->name, ErrorCode::timeout,
                       "its work was not done 5 s into the exit: it is left behind");
  }
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const anyplace_status status = (*outcomes)[i].status.load(std::memory_order_acquire);
    if (status == ANYPLACE_STATUS_TIMEOUT) {
      report_left_behind(backends[i]->name, ErrorCode::timeout,
                         "work was still running 5 s into the exit: it is left behind");
    } else if (status != ANYPLACE_STATUS_OK) {
      report(error_or_shortage([&] { return error_of(status, (*outcomes)[i].why, backends[i]->name, "exit"); }));
    }
  }
  if (!flushed) {
    report_left_behind("", ErrorCode::timeout,
                       "handles that were destroyed inside host functions, or held back work, are left behind");
  }
}

/// Does all that has to be done at exit. Throws bad_alloc before any backend was shut down.
void end_everything() {
  const std::vector<Backend*> backends = accepted_backends();
  // exit() was called inside a host function or kernel. The backend can't wait for that work: the work waits for
  // exit().
  if (in_callback()) {
    close_api();
    for (const Backend* const backend : backends) {
      report_left_behind(backend->name, ErrorCode::not_permitted,
                         "exit was called inside a host function or kernel: all work is left behind");
    }
    return;
  }
  shut_down_all(backends);
}

}  // namespace

void shut_down_at_exit() {
  static std::atomic<bool> begun{false};
  if (!process_running() || begun.exchange(true)) return;
  constexpr int attempts = 10;  // the system may lack memory for a moment
  for (int i = 0; i < attempts; ++i) {
    try {
      end_everything();
      return;
    } catch (const std::exception&) {
    }
  }
  close_api();
  report_left_behind("", ErrorCode::out_of_memory, "there is no memory to end anything with: all work is left behind");
}

// ---- Watching ------------------------------------------------------------------------------------------------------
namespace {

/// How many backends are initialised, and how many threads load one.
std::atomic<int> initialised{0};

void before_fork() noexcept {
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->before_fork != nullptr) subsystem->before_fork();
  }
}

void after_fork() noexcept {
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->after_fork != nullptr) subsystem->after_fork();
  }
}

/// Runs in the child. Other threads of the parent may have held any lock at the fork, so this may not lock, allocate or
/// call a backend.
void in_child_of_fork() noexcept {
  after_fork();
  if (initialised.load(std::memory_order_relaxed) == 0) return;
  process_phase.store(Phase::forked, std::memory_order_relaxed);
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->forked != nullptr) subsystem->forked();
  }
}

}  // namespace

void watch_process() {
  // Not std::call_once, which reaches into the C++ library's own thread-local variables: with this library's TLS model
  // that would ask for static space of that library, which a program that opens both late has no more of.
  static const bool watched = [] {
    // If memory is lacking, the next use tries again. The handler at exit may be registered twice, but those of forks
    // lock, and so are registered last.
    if (std::atexit(shut_down_at_exit) != 0) throw std::bad_alloc();
    if (pthread_atfork(before_fork, after_fork, in_child_of_fork) != 0) throw std::bad_alloc();
    return true;
  }();
  static_cast<void>(watched);
}

void add_initialised() noexcept { initialised.fetch_add(1, std::memory_order_relaxed); }
void remove_initialised() noexcept { initialised.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace anyplace::detail
