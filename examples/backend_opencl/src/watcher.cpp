// SPDX-License-Identifier: Apache-2.0
#include "watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "device.h"

namespace opencl_backend {

Watcher& Watcher::instance() {
  static Watcher* const watcher = new Watcher;
  return *watcher;
}

void Watcher::watch(Device& device, const EventRef& event, std::function<void()> action) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      const anyplace::backend::SignalsBlocked blocked;  // they are the application's; the new thread inherits this
      thread_ = std::thread([this] { look_while_watching(); });
    }
    number = ++last_number_;
    watches_.emplace(number, Watch{&device, event, std::move(action)});
    if (watches_.size() == 1) changed_.notify_all();
  }
  // Where the command is over already, some drivers call back from within this call.
  const cl_int code =
      api().SetEventCallback(event.get(), CL_COMPLETE, on_event, reinterpret_cast<void*>(std::uintptr_t{number}));
  if (code == CL_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  // If the thread has found it over meanwhile, the action ran, and nothing failed for the caller.
  if (watches_.erase(number) == 1) fail_call(code, "clSetEventCallback");
}

void Watcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CL_CALLBACK Watcher::on_event(cl_event, cl_int status, void* number) noexcept {
  instance().run(reinterpret_cast<std::uintptr_t>(number), status);
}

void Watcher::look_while_watching() {
  constexpr std::chrono::milliseconds interval(100);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watches_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, interval);
    const std::vector<End> found = ends();
    lock.unlock();
    for (const End& end : found) run(end.number, end.status);
    lock.lock();
  }
}

std::vector<Watcher::End> Watcher::ends() const {
  std::vector<End> found;
  for (const auto& [number, watch] : watches_) {
    cl_int status = CL_QUEUED;
    const cl_int code =
        api().GetEventInfo(watch.event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
    if (code == CL_SUCCESS && status <= CL_COMPLETE) found.push_back({number, status});
  }
  return found;
}

void Watcher::run(std::uint64_t number, cl_int status) noexcept {
  Watch watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(number);
    if (found == watches_.end()) return;
    watch = std::move(found->second);
    watches_.erase(found);
  }
  if (status < CL_COMPLETE) watch.device->lose(status);
  watch.action();
}

void Watcher::give_up(const Device& device) noexcept {
  std::vector<std::uint64_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, watch] : watches_) {
      if (watch.device == &device) numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());  // host functions of a stream in their order
  for (const std::uint64_t number : numbers) run(number, CL_COMPLETE);
}

}  // namespace opencl_backend
