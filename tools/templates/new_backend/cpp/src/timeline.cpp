// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

namespace newname_backend {

Deadline::Deadline(std::uint64_t timeout_ns) noexcept {
  const Clock::time_point now = Clock::now();
  const auto room = static_cast<std::uint64_t>((Clock::time_point::max() - now).count());
  if (timeout_ns < room) end_ = now + std::chrono::nanoseconds(timeout_ns);
}

void Timeline::advance() {
  const std::lock_guard lock(mutex_);
  ++value_;
  changed_.notify_all();
}

bool Timeline::reached(std::uint64_t target) const {
  const std::lock_guard lock(mutex_);
  return value_ >= target;
}

bool Timeline::wait(std::uint64_t target, const Deadline& deadline) const {
  std::unique_lock lock(mutex_);
  return deadline.wait(changed_, lock, [&] { return value_ >= target; });
}

}  // namespace newname_backend
