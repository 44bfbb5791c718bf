// SPDX-License-Identifier: Apache-2.0
#include "host_thread.h"

#include "director.h"
#include "spin_lock.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::int64_t host_thread_polls_ns = 20'000;  // The thread polls so long before it sleeps.

}  // namespace

void HostThread::start_thread_once() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = start_thread("cpu_sim host", [this] { work(); });
  started_.store(true, std::memory_order_release);
}

void HostThread::post(HostWork& function) noexcept {
  if (Director* const director = Director::get()) director->host_work_posted(this);
  std::lock_guard lock(mutex_);
  functions_.push_back(function.queued_);
  waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (sleeps_) wake_.notify_one();
}

void HostThread::poll() const noexcept {
  const std::int64_t began = now_ns();
  for (std::int64_t now = began; now < began + host_thread_polls_ns; now = now_ns()) {
    for (int i = 0; i < 8; ++i) pause_briefly();
    if (waiting_.load(std::memory_order_relaxed) != 0 || stopping_.load(std::memory_order_relaxed)) return;
    give_up_core(now - began);
  }
}

/// Waits for the next function and returns it, or null when the thread has to end.
HostWork* HostThread::take() noexcept {
  if (polls_ && waiting_.load(std::memory_order_relaxed) == 0) poll();
  std::unique_lock lock(mutex_);
  sleeps_ = true;
  wake_.wait(lock, [this] { return stopping_.load(std::memory_order_relaxed) || !functions_.empty(); });
  sleeps_ = false;
  HostWork* const function = functions_.pop_front();
  if (function != nullptr) waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return function;
}

void HostThread::work() noexcept {
  Director* const director = Director::get();
  if (director != nullptr) director->add_host_thread(this);
  while (HostWork* function = take()) {
    if (director != nullptr) director->host_work_begun(this);
    do {
      function = function->call();  // This completes the function's command and so destroys it.
      if (function != nullptr && waiting_.load(std::memory_order_relaxed) != 0) {
        post(*function);  // Those that waited came before.
        function = nullptr;
      }
    } while (function != nullptr);
    if (director != nullptr) director->host_work_done(this);
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  end_.notify_all();
}

bool HostThread::stop(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return true;
  stopping_.store(true, std::memory_order_relaxed);
  wake_.notify_one();
  if (!deadline.wait(end_, lock, [this] { return ended_; })) {
    thread_.detach();  // nobody will join it
    return false;
  }
  lock.unlock();
  thread_.join();
  return true;
}

}  // namespace anyplace::cpu_sim
