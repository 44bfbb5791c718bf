// SPDX-License-Identifier: Apache-2.0
#include "waiter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "anyplace/backend/kit/start_thread.h"
#include "device_base.h"

namespace anyplace::levelzero {
namespace {

/// The number of failed queries in a row about one job after which its device counts as lost.
constexpr int most_refusals = 100;

}  // namespace

Waiter::~Waiter() {
  // The thread still runs only if the exit had to leave it behind, since the backend is never destroyed.
  if (thread_.joinable()) thread_.detach();
}

Waiter::JobRef Waiter::make_job(SignalRef before, SignalRef after, Step step, std::uint64_t cookie) {
  start();
  JobRef made;
  made.list_.push_back(Job{std::move(before), std::move(after), std::move(step), cookie, 0});
  return made;
}

void Waiter::add(JobRef job) noexcept {
  const std::lock_guard lock(mutex_);
  added_.splice(added_.end(), job.list_);
  changed_.notify_one();
}

void Waiter::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  thread_ = backend::start_thread(name_, [this] { run(); });
}

void Waiter::wake() noexcept {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

/// Waits until the flag, which the mutex guards, is set. Returns false if time ran out.
bool Waiter::wait_until(std::unique_lock<std::mutex>& lock, const Deadline& deadline, const bool& flag,
                        bool value) noexcept {
  while (flag != value) {
    const auto left = deadline.left(std::chrono::seconds(1));
    if (left.count() == 0) return false;
    changed_.wait_for(lock, left);
  }
  return true;
}

bool Waiter::stop(const Deadline& deadline) noexcept {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  if (!thread_.joinable()) return true;
  if (!wait_until(lock, deadline, ended_, true)) return false;
  std::thread ended;
  ended.swap(thread_);
  lock.unlock();
  ended.join();
  return true;
}

void Waiter::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  abandoned_.store(true);
  stopping_ = true;
  changed_.notify_all();
  if (thread_.joinable()) thread_.detach();
}

bool Waiter::wait_for_last_call(const Deadline& deadline) noexcept {
  std::unique_lock lock(mutex_);
  return wait_until(lock, deadline, calling_, false);
}

/// Returns false if the waiter was abandoned; then Level Zero must not be called nor its memory touched any more.
bool Waiter::begin_calls() noexcept {
  const std::lock_guard lock(mutex_);
  calling_ = !abandoned_.load();
  return calling_;
}

void Waiter::end_calls() noexcept {
  const std::lock_guard lock(mutex_);
  calling_ = false;
  if (abandoned_.load()) changed_.notify_all();
}

bool Waiter::is_due(Job& job) noexcept {
  if (!job.before || job.before->is_known_complete()) return true;
  try {
    const bool due = job.before->is_complete();
    job.refusals = 0;
    return due;
  } catch (const Failure& failure) {
    if (job.before->device().lost()) return false;
    // The query itself may have failed, so it is repeated a number of times.
    if (++job.refusals > most_refusals) job.before->device().lose(static_cast<ze_result_t>(failure.vendor_code()));
    return false;
  } catch (...) {
    return false;
  }
}

/// The status for a loss: if a job here waited for another device that was lost, this device isn't lost.
anyplace_status Waiter::status_of_loss(const DeviceBase& lost) const noexcept {
  return &lost == &device_ ? ANYPLACE_STATUS_DEVICE_LOST : ANYPLACE_STATUS_BACKEND_FAILED;
}

/// Reports the reason as a fault of the stream before the step is called, so that the core knows it.
void Waiter::report_loss(const Job& job, const DeviceBase& lost) const noexcept {
  const anyplace_status status = status_of_loss(lost);
  if (!lost.lost()) {
    device_.host().stream_fault(job.cookie, ANYPLACE_STATUS_BACKEND_FAILED,
                                "the process ends, and the driver never said that the work before this step is done");
    return;
  }
  try {
    const std::string text = lost.place() + ": " + Results::text_of(lost.loss());
    device_.host().stream_fault(job.cookie, status, text.c_str(), lost.loss(), Results::name_of(lost.loss()).c_str());
  } catch (...) {  // there is no memory for the message
    device_.host().stream_fault(job.cookie, status, "a device was lost");
  }
}

/// Called between begin_calls() and end_calls(), except that the user's step runs outside of the two.
void Waiter::finish(Job& job, const DeviceBase* lost) noexcept {
  if (lost != nullptr) report_loss(job, *lost);
  if (job.step) {
    const anyplace_status status = lost == nullptr ? ANYPLACE_STATUS_OK : status_of_loss(*lost);
    if (steps_ == Steps::users) end_calls();
    job.step(status);
    job.step = nullptr;
    if (steps_ == Steps::users && !begin_calls()) return;
  }
  if (!job.after || abandoned_.load()) return;
  DeviceBase& device = job.after->device();
  const ze_result_t result = job.after->signal_from_host();
  // Without the signal the stream would never go on, so the device is marked lost.
  if (result != ZE_RESULT_SUCCESS && !device.lost()) device.lose(result);
}

bool Waiter::look_at(Jobs& jobs) noexcept {
  bool done_any = false;
  for (auto job = jobs.begin(); job != jobs.end() && !abandoned_.load();) {
    const bool due = is_due(*job);
    const DeviceBase* lost = device_.lost() ? &device_ : nullptr;
    if (lost == nullptr && job->before && !due && job->before->device().lost()) lost = &job->before->device();
    if (!due && lost == nullptr) {
      ++job;
      continue;
    }
    finish(*job, lost);
    if (abandoned_.load()) break;  // releasing its signals would call the driver
    job = jobs.erase(job);
    done_any = true;
  }
  return done_any;
}

void Waiter::run() noexcept {
  constexpr std::chrono::microseconds shortest_pause{5};
  constexpr std::chrono::microseconds longest_pause{500};
  constexpr int looks_between_health_checks = 200;
  Jobs jobs;
  auto pause = shortest_pause;
  int looks = 0;
  std::unique_lock lock(mutex_);
  while (!abandoned_.load() && (!stopping_ || !jobs.empty() || !added_.empty())) {
    jobs.splice(jobs.end(), added_);
    woken_ = false;
    calling_ = true;
    lock.unlock();
    const bool done_any = look_at(jobs);
    if (!abandoned_.load() && !jobs.empty() && ++looks % looks_between_health_checks == 0) device_.check_health();
    lock.lock();
    calling_ = false;
    if (abandoned_.load()) break;
    const auto due = [this] { return woken_ || stopping_ || !added_.empty(); };
    if (done_any) {
      pause = shortest_pause;
    } else if (jobs.empty()) {
      changed_.wait(lock, due);
      pause = shortest_pause;
    } else {
      pause = changed_.wait_for(lock, pause, [this] { return woken_ || !added_.empty(); })
                  ? shortest_pause
                  : std::min(pause * 2, longest_pause);
      if (stopping_) break;  // jobs that aren't done now are of a lost device, or will never be done
    }
  }
  if (!abandoned_.load()) {
    calling_ = true;
    lock.unlock();
    while (!abandoned_.load() && !jobs.empty()) {
      finish(jobs.front(), &device_);
      if (!abandoned_.load()) jobs.pop_front();
    }
    lock.lock();
    calling_ = false;
  }
  // Jobs that are left aren't destroyed, because releasing their signals would call the driver.
  left_behind_.splice(left_behind_.end(), jobs);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace anyplace::levelzero
