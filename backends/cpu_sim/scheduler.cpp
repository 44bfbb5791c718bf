// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include "failure.h"
#include "thread.h"

namespace anyplace::cpu_sim {

Scheduler::Scheduler(uint32_t workers) : limit_(workers) { threads_.reserve(workers); }

void Scheduler::start_first() {
  std::lock_guard threads_lock(threads_mutex_);
  if (started_any_.load(std::memory_order_relaxed)) return;
  threads_.push_back(start_thread("cpu_sim worker", [this] { work(); }));
  {
    std::lock_guard lock(mutex_);
    ++started_;
  }
  started_any_.store(true, std::memory_order_release);
}

void Scheduler::start_worker() {
  std::lock_guard threads_lock(threads_mutex_);
  threads_.push_back(start_thread("cpu_sim worker", [this] { work(); }));
}

void Scheduler::enqueue(Task& task) noexcept {
  {
    std::lock_guard lock(mutex_);
    ready_.push(task);
    if (idle_ > 0) {
      --idle_;
      ++wakeups_;
      wake_.notify_one();
      return;
    }
    if (started_ == limit_ || stopping_) return;
    ++started_;
  }
  try {
    start_worker();
  } catch (const std::exception&) {
    // start() saw to it that there is at least one, so the work still runs.
    std::lock_guard lock(mutex_);
    --started_;
  }
}

void Scheduler::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (Task* task = ready_.pop()) {
      lock.unlock();
      task->run();
      lock.lock();
      continue;
    }
    if (stopping_) break;
    ++idle_;
    wake_.wait(lock, [this] { return wakeups_ > 0 || stopping_; });
    if (wakeups_ > 0) {
      --wakeups_;
    } else {
      --idle_;
    }
  }
  ++ended_;
  end_.notify_all();
}

bool Scheduler::stop(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  if (!deadline.wait(end_, lock, [this] { return ended_ == started_; })) return false;
  lock.unlock();
  std::lock_guard threads_lock(threads_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return true;
}

}  // namespace anyplace::cpu_sim
