// SPDX-License-Identifier: Apache-2.0
#include "memory/pressure.h"

#include <algorithm>
#include <utility>

#include "runtime/call.h"

namespace anyplace {

namespace detail {
namespace {

/// A callback that the thread is running; the list begins with the innermost.
struct Running {
  const DeviceState* device;
  std::uint64_t id;
  const Running* outer;
};
constinit thread_local const Running* running_here = nullptr;

class RunningScope {
 public:
  RunningScope(const DeviceState& device, std::uint64_t id) noexcept : running_{&device, id, running_here} {
    running_here = &running_;
  }
  RunningScope(const RunningScope&) = delete;  // it is bound to its scope
  RunningScope& operator=(const RunningScope&) = delete;
  ~RunningScope() { running_here = running_.outer; }

 private:
  Running running_;
};

bool is_running_here(const DeviceState& device, std::uint64_t id) noexcept {
  for (const Running* running = running_here; running != nullptr; running = running->outer) {
    if (running->device == &device && running->id == id) return true;
  }
  return false;
}

}  // namespace

std::uint64_t PressureCallbacks::add(PressureCallback callback) {
  auto entry = std::make_shared<Entry>();
  entry->callback = std::move(callback);
  const std::lock_guard lock(mutex_);
  entry->id = last_id_ + 1;
  entries_.push_back(std::move(entry));
  return ++last_id_;
}

void PressureCallbacks::remove(std::uint64_t id) noexcept {
  // Destroyed after the lock is released, because it is the user's code.
  std::shared_ptr<Entry> removed;
  std::unique_lock lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [id](const auto& entry) { return entry->id == id; });
  if (found == entries_.end()) return;
  removed = std::move(*found);
  entries_.erase(found);
  if (in_callback() || is_running_here(device_, id)) return;
  ended_.wait(lock, [&] { return removed->running == 0; });
}

std::shared_ptr<PressureCallbacks::Entry> PressureCallbacks::begin_next(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [id](const auto& entry) { return entry->id > id; });
  if (found == entries_.end()) return nullptr;
  ++(*found)->running;
  return *found;
}

void PressureCallbacks::end(Entry& entry) noexcept {
  const std::lock_guard lock(mutex_);
  --entry.running;
  ended_.notify_all();
}

bool PressureCallbacks::relieve(std::uint64_t bytes, const std::function<bool()>& retry) {
  if (in_pressure_callback(device_)) return false;
  std::uint64_t last = 0;
  while (const std::shared_ptr<Entry> entry = begin_next(last)) {
    last = entry->id;
    bool freed = false;
    try {
      const RunningScope scope(device_, entry->id);
      freed = entry->callback(Device(&device_), bytes);
    } catch (...) {
      report_current(device_.place, "pressure callback");
    }
    end(*entry);
    if (freed && retry()) return true;
  }
  return false;
}

bool in_pressure_callback(const DeviceState& device) noexcept {
  for (const Running* running = running_here; running != nullptr; running = running->outer) {
    if (running->device == &device) return true;
  }
  return false;
}

}  // namespace detail

PressureRegistration::PressureRegistration(const Device& device, PressureCallback callback) {
  constexpr const char* operation = "PressureRegistration";
  detail::enter(operation);
  if (!callback) {
    detail::fail(ErrorCode::invalid_argument, device.state()->place, operation, "the callback is empty");
  }
  id_ = detail::pressure_of(*device.state()).add(std::move(callback));
  device_ = device.state();
}

PressureRegistration::PressureRegistration(PressureRegistration&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)), id_(std::exchange(other.id_, 0)) {}

PressureRegistration& PressureRegistration::operator=(PressureRegistration&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::exchange(other.device_, nullptr);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

PressureRegistration::~PressureRegistration() { release(); }

void PressureRegistration::release() noexcept {
  if (device_ == nullptr) return;
  detail::DeviceState& device = *std::exchange(device_, nullptr);
  // In a forked child another thread may have held the lock, and at exit nobody calls it any more, so it isn't removed
  // then.
  if (detail::process_running()) detail::pressure_of(device).remove(std::exchange(id_, 0));
}

}  // namespace anyplace
