// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_progress.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "ranks/host_group.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

using Clock = Deadline::Clock;
/// The progress thread sleeps this long, and tests nothing, while other threads are in help() or have been within this
/// time.
constexpr std::chrono::microseconds pause_while_helped{2000};
/// After the last job it looks for new ones so many times, with these sleeps between, before it waits until it is
/// woken.
constexpr int looks_before_sleep = 100;

NoDestructor<HostProgress> only;  // its thread may outlive main

std::int64_t now_ticks() noexcept { return Clock::now().time_since_epoch().count(); }

}  // namespace

HostProgress& HostProgress::get() noexcept { return only.value; }

std::unique_lock<std::mutex> HostProgress::lock_to_look() noexcept {
  while (wanting_.load(std::memory_order_relaxed) > 0) sched_yield();
  return std::unique_lock(calls_);
}

std::unique_lock<std::mutex> HostProgress::lock_soon() {
  constexpr std::chrono::seconds longest{1};
  std::unique_lock lock(calls_, std::try_to_lock);
  if (lock) return lock;
  const auto until = Clock::now() + longest;
  wanting_.fetch_add(1, std::memory_order_relaxed);
  while (!lock && Clock::now() < until) {
    sched_yield();
    static_cast<void>(lock.try_lock());
  }
  if (!lock) lock.lock();
  wanting_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

void HostProgress::start(const std::string& place, const char* operation) {
  const std::lock_guard lock(calls_);
  if (!stopped_) return;
  const backend::SignalsBlocked scope;  // A thread inherits the mask of its maker.
  stopped_ = false;
  std::string problem;
  try {
    std::thread([this] { progress(); }).detach();
  } catch (const std::exception& error) {
    stopped_ = true;
    problem = error.what();
  }
  if (!stopped_) return;
  fail(ErrorCode::out_of_memory, place, operation, fmt::format("no thread can be started: {}", problem));
}

void HostProgress::add(std::shared_ptr<HostGroup> group) {
  if (!group->listed_) {
    group->listed_ = true;
    groups_.push_back(std::move(group));
  }
  if (thread_sleeps_) changed_.notify_all();
}

void HostProgress::leave(std::shared_ptr<HostJob> job) {
  const Calls calls;
  left_.push_back(std::move(job));
  if (thread_sleeps_) changed_.notify_all();
}

void HostProgress::end_left() noexcept {
  std::vector<std::shared_ptr<HostJob>> left;  // ends after the lock, which a job's end may take
  const std::lock_guard lock(calls_);
  left.swap(left_);
}

void HostProgress::forget_last(std::uint64_t stream_id, const HostJob* job) {
  const auto found = last_.find(stream_id);
  if (found != last_.end() && found->second.get() == job) last_.erase(found);
}

bool HostProgress::step(bool by_waiter) noexcept {
  std::vector<std::pair<std::shared_ptr<HostGroup>, HostGroup::Signals>> done;
  bool running = false;
  {
    const std::unique_lock lock = lock_to_look();
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < groups_.size();) {
      HostGroup::Signals signals;
      running = groups_[i]->step(now, by_waiter, signals) || running;
      const bool over = !groups_[i]->has_jobs();
      if (over) groups_[i]->listed_ = false;
      if (!signals.empty()) {
        done.emplace_back(groups_[i], std::move(signals));
      } else if (over) {
        done.emplace_back(groups_[i], HostGroup::Signals());  // it is kept, because its destructor takes the lock
      }
      if (over) {
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  for (const auto& [group, signals] : done) group->signal(signals);
  return running;
}

void HostProgress::help() noexcept {
  helpers_.fetch_add(1, std::memory_order_relaxed);
  const bool running = step(true);
  helped_at_.store(now_ticks(), std::memory_order_relaxed);
  helpers_.fetch_sub(1, std::memory_order_relaxed);
  if (running) return;
  std::unique_lock lock(calls_);
  // No operation is started. wake() ends this wait when a job becomes ready; the limit is for a job that became ready,
  // or was done, just before it.
  if (!groups_.empty()) changed_.wait_for(lock, std::chrono::milliseconds(1));
}

void HostProgress::progress() noexcept {
  pthread_setname_np(pthread_self(), "anyplace-ranks");
  int idle_looks = 0;
  while (true) {
    end_left();
    {
      std::unique_lock lock(calls_);
      if (stopping_) break;
      if (groups_.empty() && ++idle_looks > looks_before_sleep) {
        thread_sleeps_ = true;
        changed_.wait(lock, [this] { return stopping_ || !groups_.empty() || !left_.empty(); });
        thread_sleeps_ = false;
        idle_looks = 0;
        continue;
      }
      if (!groups_.empty()) idle_looks = 0;
      const std::int64_t helped_ago = now_ticks() - helped_at_.load(std::memory_order_relaxed);
      const bool helped = helpers_.load(std::memory_order_relaxed) > 0 ||
                          helped_ago < std::chrono::nanoseconds(pause_while_helped).count();
      if (groups_.empty() || helped) {
        lock.unlock();
        std::this_thread::sleep_for(pause_while_helped);
        continue;
      }
    }
    if (step(false)) continue;
    std::unique_lock lock(calls_);
    if (!groups_.empty() && !stopping_) changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
  const std::lock_guard lock(calls_);
  stopped_ = true;
  changed_.notify_all();
}

bool HostProgress::drain(const Deadline& deadline) noexcept {
  std::unique_lock lock(calls_);
  const auto until = [&](auto&& predicate) {
    while (!predicate() && !deadline.passed()) changed_.wait_for(lock, std::chrono::milliseconds(1));
  };
  until([this] { return groups_.empty() && left_.empty(); });
  stopping_ = true;
  changed_.notify_all();
  until([this] { return stopped_; });
  return stopped_ && groups_.empty();
}

}  // namespace anyplace::detail
