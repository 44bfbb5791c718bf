// SPDX-License-Identifier: Apache-2.0
#include "traced_backend.h"

#include <cstring>
#include <new>
#include <utility>

namespace anyplace::trace {
namespace {

constinit std::atomic<const TracedBackend*> virtual_backend{nullptr};

}  // namespace

std::uint64_t now_ns() noexcept {
  const TracedBackend* const backend = virtual_backend.load(std::memory_order_acquire);
  return backend == nullptr ? monotonic_ns() : backend->virtual_now_ns();
}

bool is_time_virtual() noexcept { return virtual_backend.load(std::memory_order_acquire) != nullptr; }

void TimingPool::give_back(const Timing& timing) noexcept {
  const std::lock_guard lock(mutex);
  try {
    returned.push_back(timing);
  } catch (const std::bad_alloc&) {  // the pair is used no more
  }
}

TracedDevice& TracedBackend::device_of(std::int32_t device) {
  std::unique_ptr<TracedDevice>& found = devices_[device];
  if (found == nullptr) {
    found = std::make_unique<TracedDevice>();
    found->index = device;
  }
  return *found;
}

void TracedBackend::note_properties(std::int32_t device, const anyplace_device_properties& properties) {
  const bool has_timed_events = (properties.capabilities & ANYPLACE_FOR(TIMED_EVENTS)) != 0;
  const std::lock_guard lock(mutex_);
  TracedDevice& known = device_of(device);
  known.name.assign(properties.name, ::strnlen(properties.name, sizeof(properties.name)));
  if (has_timed_events && known.generation == 0) known.is_timed = true;
}

bool TracedBackend::has_virtual_time(const anyplace_device_properties& properties) const noexcept {
  const std::uint32_t virtual_time = ANYPLACE_FEATURE_VIRTUAL_TIME;
  return (properties.features & properties.features_known & virtual_time) != 0 && has_clock();
}

std::uint64_t TracedBackend::use_virtual_time(std::int32_t device, bool as_it_is) noexcept {
  const std::lock_guard lock(mutex_);
  anyplace_clock clock;
  if (!is_time_virtual() && read_clock(device, clock)) {
    virtual_device_ = device;
    virtual_offset_ns_ = as_it_is ? 0 : static_cast<std::int64_t>(monotonic_ns() - clock.device);
    virtual_backend.store(this, std::memory_order_release);
  }
  return now_ns();
}

bool TracedBackend::has_virtual_time() const noexcept {
  return virtual_backend.load(std::memory_order_acquire) == this;
}

std::uint64_t TracedBackend::virtual_now_ns() const noexcept {
  anyplace_clock clock;
  if (is_open() && read_clock(virtual_device_, clock)) {
    last_virtual_ns_ = clock.device + static_cast<std::uint64_t>(virtual_offset_ns_);
  }
  return last_virtual_ns_;
}

std::string TracedBackend::device_title(std::int32_t device) const {
  std::string title = std::string(name()) + ":" + std::to_string(device);
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  if (found != devices_.end() && !found->second->name.empty()) title += " " + found->second->name;
  return title;
}

void TracedBackend::add_stream(anyplace_stream stream, std::int32_t device) {
  const std::lock_guard lock(mutex_);
  streams_[stream] = device;
  streams_version_.fetch_add(1, std::memory_order_release);
}

void TracedBackend::remove_stream(anyplace_stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (streams_.erase(stream) != 0) streams_version_.fetch_add(1, std::memory_order_release);
}

TimingPool* TracedBackend::pool_of(anyplace_stream stream, std::vector<TimingPool*>& owned) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  TracedDevice& device = device_of(found->second);
  if (!device.is_timed) return nullptr;
  for (TimingPool* const pool : owned) {
    if (pool->device == &device) return pool;
  }
  owned.reserve(owned.size() + 1);
  for (const auto& pool : pools_) {
    if (pool->is_owned || pool->device != &device) continue;
    pool->is_owned = true;
    return owned.emplace_back(pool.get());
  }
  pools_.push_back(std::make_unique<TimingPool>());
  pools_.back()->device = &device;
  return owned.emplace_back(pools_.back().get());
}

void TracedBackend::release(const std::vector<TimingPool*>& pools) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& mine : pools_) {
    for (const TimingPool* const pool : pools) {
      if (pool == mine.get()) mine->is_owned = false;
    }
  }
}

bool TracedBackend::make_pair(const TracedDevice& device, Timing& timing) const noexcept {
  const anyplace_event_desc desc{sizeof(desc), ANYPLACE_EVENT_TIMING};
  timing = {0, 0, device.generation};
  if (next_.event_create(next_.self, device.index, &desc, &timing.begin) != ANYPLACE_STATUS_OK) return false;
  if (next_.event_create(next_.self, device.index, &desc, &timing.end) == ANYPLACE_STATUS_OK) return true;
  next_.event_destroy(next_.self, timing.begin);
  return false;
}

bool TracedBackend::record(anyplace_event event, anyplace_stream stream) const noexcept {
  return next_.event_record(next_.self, event, stream) == ANYPLACE_STATUS_OK;
}

Timing TracedBackend::begin_timing(TimingPool& pool, anyplace_stream stream) const noexcept {
  TracedDevice& device = *pool.device;
  if (!device.is_timed.load(std::memory_order_relaxed)) return {};
  if (pool.free.empty()) {
    const std::lock_guard lock(pool.mutex);
    std::swap(pool.free, pool.returned);
  }
  Timing timing;
  const std::uint32_t generation = device.generation.load(std::memory_order_relaxed);
  while (timing.begin == 0 && !pool.free.empty()) {
    if (pool.free.back().generation == generation) {
      timing = pool.free.back();
    } else {
      --pool.made;
    }
    pool.free.pop_back();
  }
  if (timing.begin == 0) {
    if (pool.made == (has_virtual_time() ? most_kept : TimingPool::most)) return {};
    if (!make_pair(device, timing)) {
      withdraw_message();
      return {};
    }
    ++pool.made;
  }
  if (record(timing.begin, stream)) return timing;
  withdraw_message();
  pool.give_back(timing);
  return {};
}

bool TracedBackend::end_timing(TimingPool& pool, anyplace_stream stream, const Timing& timing,
                               bool succeeded) const noexcept {
  if (succeeded && record(timing.end, stream)) return true;
  if (succeeded) withdraw_message();
  pool.give_back(timing);
  return false;
}

/// In virtual time a query is a part of the schedule, which the layer must not change whenever it looks. Reading a time
/// is none.
TracedBackend::Done TracedBackend::has_timestamp(anyplace_event event) const noexcept {
  std::uint64_t nanoseconds = 0;
  const anyplace_status status = next_.event_timestamp(next_.self, event, &nanoseconds);
  if (status == ANYPLACE_STATUS_OK) return Done::yes;
  withdraw_message();
  return status == ANYPLACE_STATUS_NOT_READY ? Done::no : Done::failed;
}

TracedBackend::Done TracedBackend::is_done(anyplace_event event) const noexcept {
  if (has_virtual_time()) return has_timestamp(event);
  std::int32_t done = 0;
  if (next_.event_query(next_.self, event, &done) != ANYPLACE_STATUS_OK) return Done::failed;
  return done != 0 ? Done::yes : Done::no;
}

bool TracedBackend::read_clock(std::int32_t device, anyplace_clock& clock) const noexcept {
  clock = {};
  clock.struct_size = sizeof(clock);
  return next_.device_clock(next_.self, device, &clock) == ANYPLACE_STATUS_OK;
}

bool TracedBackend::timestamp(anyplace_event event, std::uint64_t& nanoseconds) const noexcept {
  return next_.event_timestamp(next_.self, event, &nanoseconds) == ANYPLACE_STATUS_OK;
}

bool TracedBackend::elapsed(anyplace_event from, anyplace_event to, double& milliseconds) const noexcept {
  return next_.event_elapsed != nullptr &&
         next_.event_elapsed(next_.self, from, to, &milliseconds) == ANYPLACE_STATUS_OK;
}

void TracedBackend::synchronize(std::chrono::nanoseconds limit) const noexcept {
  std::vector<std::int32_t> devices;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [index, device] : devices_) {
      if (device->is_timed) devices.push_back(index);
    }
  }
  for (const std::int32_t device : devices) {
    const auto nanoseconds = static_cast<std::uint64_t>(limit.count());
    if (next_.device_synchronize(next_.self, device, nanoseconds) != ANYPLACE_STATUS_OK) withdraw_message();
  }
}

void TracedBackend::lose(std::int32_t device) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  if (found != devices_.end()) found->second->is_timed = false;
}

void TracedBackend::lose_device_of(anyplace_stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  const auto device = found == streams_.end() ? devices_.end() : devices_.find(found->second);
  if (device != devices_.end()) device->second->is_timed = false;
}

void TracedBackend::reset(std::int32_t device) noexcept {
  const std::lock_guard no_call(calls_);
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(device);
  if (found != devices_.end()) ++found->second->generation;
}

void TracedBackend::close() noexcept {
  is_open_.store(false, std::memory_order_release);
  const std::lock_guard no_call(calls_);
  const std::lock_guard lock(mutex_);
  for (const auto& [index, device] : devices_) device->is_timed = false;
}

}  // namespace anyplace::trace
