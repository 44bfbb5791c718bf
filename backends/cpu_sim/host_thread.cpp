// SPDX-License-Identifier: Apache-2.0
#include "host_thread.h"

#include "thread.h"

namespace anyplace::cpu_sim {

void HostThread::start() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = start_thread("cpu_sim host", [this] { work(); });
}

void HostThread::post(HostWork& function) noexcept {
  std::lock_guard lock(mutex_);
  functions_.push_back(function.queued_);
  wake_.notify_one();
}

void HostThread::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !functions_.empty(); });
    HostWork* function = functions_.pop_front();
    if (function == nullptr) break;
    lock.unlock();
    function->call();  // this completes the function's command and so destroys it
    lock.lock();
  }
  ended_ = true;
  end_.notify_all();
}

bool HostThread::stop(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return true;
  stopping_ = true;
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
