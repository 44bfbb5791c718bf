// SPDX-License-Identifier: Apache-2.0
#include "memory/event_pool.h"

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace anyplace::detail {

struct EventPool {
  std::mutex mutex;  // guards idle; a leaf
  std::vector<std::unique_ptr<EventState>> idle;
};

namespace {

constexpr std::size_t max_idle_events = 256;

}  // namespace

EventPool* make_event_pool() { return new EventPool; }

std::unique_ptr<EventState> take_event(DeviceState& device) {
  EventPool& pool = *device.event_pool;
  {
    const std::lock_guard lock(pool.mutex);
    if (!pool.idle.empty()) {
      std::unique_ptr<EventState> event = std::move(pool.idle.back());
      pool.idle.pop_back();
      return event;
    }
  }
  return make_event(device, 0, "Buffer: freeing memory");
}

void give_event(std::unique_ptr<EventState> event) noexcept {
  EventPool& pool = *event->device->event_pool;
  try {
    const std::lock_guard lock(pool.mutex);
    if (pool.idle.size() < max_idle_events) pool.idle.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    // Without memory for the list, the event is destroyed instead of kept.
  }
}

void drop_idle_events(DeviceState& device) noexcept {
  std::vector<std::unique_ptr<EventState>> idle;
  const std::lock_guard lock(device.event_pool->mutex);
  idle.swap(device.event_pool->idle);
}

}  // namespace anyplace::detail
