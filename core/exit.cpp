// SPDX-License-Identifier: Apache-2.0
//
// The order at exit: wait for the devices (host functions may still hand handles to the service thread), let the
// service thread finish what is queued, close the API, shut the backends down. One deadline for all of it. Each backend
// has a thread of its own for it, so that one that hangs costs the others nothing and the process no more than the
// deadline.
#include "exit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/device_allocator.h"
#include "allocator/host_pool.h"
#include "call.h"
#include "copy.h"
#include "deferred_free.h"
#include "registry.h"
#include "service.h"
#include "shortage.h"
#include "stream_state.h"

namespace anyplace::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds total_time{5};  // as the texts below say
/// For the devices alone, so that time is left for the backends that aren't stuck.
constexpr std::chrono::seconds device_time{3};
/// For giving back what is idle, which goes with the process in any case.
constexpr std::chrono::milliseconds give_back_time{500};
/// What a call that was given a timeout may be late.
constexpr std::chrono::milliseconds grace{250};

/// From now on every call fails, but those that are under way.
void close_api() noexcept {
  process_phase.store(Phase::exiting, std::memory_order_seq_cst);
  bar_short_calls(nullptr);
}

std::uint64_t nanoseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<std::uint64_t>(left) : 0;
}

/// Calls, each on a thread of its own, and who of them is done. Shared with the threads: those that hang outlive it.
struct Calls {
  std::mutex mutex;  // guards done; no other lock is taken under it
  std::condition_variable changed;
  std::vector<bool> done;
};

/// Those that nobody joined are left alone: they hang, or the exit must not wait for them.
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

/// Runs call(i, own_thread) for i below `count` side by side and returns those that weren't done at `deadline`. One for
/// which there is no thread to be had is run on this one, and has to keep to its own deadline. Throws bad_alloc before
/// anything is called.
std::vector<std::size_t> run_until(Clock::time_point deadline, std::size_t count,
                                   const std::function<void(std::size_t, bool)>& call) {
  const auto calls = std::make_shared<Calls>();
  calls->done.resize(count, false);
  std::vector<std::size_t> late, alone;
  late.reserve(count);
  alone.reserve(count);
  Threads threads;
  threads.all.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto run = [calls, call, i](bool own_thread) {
      call(i, own_thread);
      const std::lock_guard lock(calls->mutex);
      calls->done[i] = true;
      calls->changed.notify_all();
    };
    try {
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
  // Done is not gone: a thread that is still ending would meet what else runs at exit (a leak check, an unloading).
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

/// Whether there is something to wait for: asking a device that nobody used could make a vendor's context.
bool is_busy(const DeviceState& device) noexcept {
  return device.used.load(std::memory_order_relaxed) && !device.lost.load(std::memory_order_relaxed);
}

/// While the API is open: also what the core itself holds back.
void synchronize_used(Backend& backend, Clock::time_point deadline) noexcept {
  bool all_idle = true;
  for (const auto& device : backend.devices) {
    if (!is_busy(*device)) continue;
    try {
      if (!synchronize(*device, nanoseconds_until(deadline), "exit")) all_idle = false;
    } catch (...) {  // a device that fails here has nothing more to wait for; its shutdown says what is wrong
      all_idle = all_idle && !is_busy(*device);
    }
  }
  // Memory that waited for work to end, on any of them, waits no longer. What still runs keeps its memory.
  for (const auto& device : backend.devices) {
    if (!device->used.load(std::memory_order_relaxed)) continue;
    drain_deferred_frees(*device);
    // What no event says to be over is so when nothing runs.
    if (all_idle) wait_for_deferred_frees(*device);
    device->idle_at_exit.store(all_idle, std::memory_order_release);
  }
}

/// What the core keeps to use again, as far as there is time. When no free and no copy is to come any more.
void drop_kept(const std::vector<Backend*>& backends, Clock::time_point deadline) noexcept {
  for (const Backend* const backend : backends) {
    for (const auto& device : backend->devices) {
      if (!device->used.load(std::memory_order_relaxed)) continue;
      device->allocator->shut_down(deadline, device->idle_at_exit.load(std::memory_order_acquire));
      drop_idle_events(*device);
      device->host_pool->close(deadline);
    }
  }
}

/// Ends handles that were destroyed and what copies keep, then gives back what is idle. False if time ran out for the
/// former: the latter may take long, has little time of its own, and may be left.
bool end_unused(const std::vector<Backend*>& backends, Clock::time_point deadline) {
  const Clock::time_point handles_deadline = Clock::now() + (deadline - Clock::now()) / 2;
  const auto end_handles = [](std::size_t, bool) {
    let_go_of_all_unused();
    drop_staging();
  };
  if (!run_until(handles_deadline, 1, end_handles).empty()) return false;
  // The backends are still to be asked whether they are done.
  const Clock::time_point give_back_deadline = Clock::now() + give_back_time;
  run_until(std::min(deadline, give_back_deadline + grace), 1,
            [backends, give_back_deadline](std::size_t, bool) { drop_kept(backends, give_back_deadline); });
  return true;
}

/// For a backend without shutdown. One that can't wait for a limited time waits without a limit, if it has a thread of
/// its own for that; run_until has a limit.
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
  Message why;  ///< written before status, by the one thread that has this backend
};

void shut_down(Backend& backend, Clock::time_point deadline, bool own_thread, Outcome& outcome) noexcept {
  if (backend.table.shutdown == nullptr) {
    wait_for_used(backend, deadline, own_thread);
    return;
  }
  const anyplace_status status = backend.table.shutdown(backend.table.self, nanoseconds_until(deadline));
  if (status == ANYPLACE_STATUS_OK) return;
  outcome.why = take_message();
  outcome.status.store(status, std::memory_order_release);
}

void shut_down_all(const std::vector<Backend*>& backends) {
  const Clock::time_point deadline = Clock::now() + total_time;
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
  bool flushed = stop_service(std::chrono::nanoseconds(nanoseconds_until(deadline) / 2));
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

/// Looks at what there is to end, and ends it. Throws bad_alloc before any backend was shut down.
void end_everything() {
  const std::vector<Backend*> backends = loaded_backends();
  // exit() called from inside a host function or kernel: a backend can't wait for the thread that waits for it.
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
  constexpr int attempts = 10;  // memory can be short for a moment
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

}  // namespace anyplace::detail
