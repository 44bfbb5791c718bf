// SPDX-License-Identifier: Apache-2.0
#include "timeline_pool.h"

namespace anyplace::cpu_sim {

Timeline& TimelinePool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.reserve(made_ + 1);  // Giving back allocates nothing then.
    free_.push_back(new Timeline(nullptr));
    ++made_;
  }
  Timeline& taken = *free_.back();
  free_.pop_back();
  return taken;
}

void TimelinePool::give_back(Timeline& timeline) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(&timeline);
}

}  // namespace anyplace::cpu_sim
