// SPDX-License-Identifier: Apache-2.0
#include "host_thread.h"

#include <exception>

#include "stream.h"
#include "thread.h"

namespace anyplace::cpu_sim {

Progress HostFunction::execute(Stream& stream) noexcept {
  stream.device().host_thread().post(*this);
  return Progress::kElsewhere;
}

void HostFunction::call() noexcept {
  // The core catches what its users throw; this is for hosts that don't.
  try {
    function_(user_, ANYPLACE_STATUS_OK);
  } catch (const std::exception& exception) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, exception.what());
  } catch (...) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, "it threw something that is no std::exception");
  }
  stream_.finish_elsewhere();
}

void HostThread::start() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = start_thread("cpu_sim host", [this] { work(); });
}

void HostThread::post(HostFunction& function) noexcept {
  std::lock_guard lock(mutex_);
  functions_.push_back(function.queued_);
  wake_.notify_one();
}

void HostThread::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !functions_.empty(); });
    HostFunction* function = functions_.pop_front();
    if (function == nullptr) break;
    lock.unlock();
    function->call();  // which completes, and so destroys, it
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
    thread_.detach();  // nobody comes for it any more
    return false;
  }
  lock.unlock();
  thread_.join();
  return true;
}

}  // namespace anyplace::cpu_sim
