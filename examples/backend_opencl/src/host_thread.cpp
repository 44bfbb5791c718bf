// SPDX-License-Identifier: Apache-2.0
#include "host_thread.h"

#include "anyplace/backend/kit/signals_blocked.h"
#include "device.h"

namespace opencl_backend {

void HostThread::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return;
  const anyplace::backend::SignalsBlocked blocked;  // they are the application's; the new thread inherits this
  thread_ = std::thread([this] { run(); });
}

void HostThread::push(const Node& task) noexcept {
  const std::lock_guard lock(mutex_);
  tasks_.splice(tasks_.end(), *task);
  changed_.notify_one();
}

void HostThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void HostThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::list<Task> task;
    task.splice(task.end(), tasks_, tasks_.begin());
    lock.unlock();
    const bool lost = device_.lost();
    task.front().function(task.front().user, lost ? ANYPLACE_STATUS_DEVICE_LOST : ANYPLACE_STATUS_OK);
    open(task.front().done);
    task.clear();
    lock.lock();
  }
}

}  // namespace opencl_backend
