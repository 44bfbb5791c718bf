// SPDX-License-Identifier: Apache-2.0
//
// Event: a hipEvent_t and the device that it is of. HIP's events are anyplace's: an event that was never recorded is
// complete and no wait, a wait takes the most recent record at the call, destroying one that is waited for is safe.
//
// EventPool and Marker: events of the backend's own, used again and again, to know when work is over.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::hip {

class Device;
class Stream;

class Event {
 public:
  /// `flags` are ANYPLACE_EVENT_*.
  Event(Device& device, std::uint32_t flags);
  Event(const Event&) = delete;  // it owns the hipEvent_t
  Event& operator=(const Event&) = delete;
  /// What fails is dropped; destroy() tells.
  ~Event();

  Device& device() const noexcept { return device_; }
  hipEvent_t native() const noexcept { return native_; }

  bool query() const;
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  /// Milliseconds until `end`. Both have timing and are complete.
  double milliseconds_to(const Event& end) const;
  /// Ends the hipEvent_t. Silent for a lost device.
  void destroy();

 private:
  Device& device_;
  hipEvent_t native_ = nullptr;
};

/// A moment in a stream: whether the work before it is over. Its event goes back to the pool.
class Marker {
 public:
  Marker(Device& device, hipEvent_t event) noexcept : device_(device), event_(event) {}
  Marker(const Marker&) = delete;  // it gives the event back once
  Marker& operator=(const Marker&) = delete;
  ~Marker();

  hipEvent_t event() const noexcept { return event_; }
  bool is_over() const;

 private:
  Device& device_;
  const hipEvent_t event_;
};

class EventPool {
 public:
  explicit EventPool(Device& device) noexcept : device_(device) {}
  EventPool(const EventPool&) = delete;  // it owns events
  EventPool& operator=(const EventPool&) = delete;

  hipEvent_t take();
  void give(hipEvent_t event) noexcept;
  /// The first failure.
  hipError_t close() noexcept;

 private:
  Device& device_;
  std::mutex mutex_;  // guards idle_; a leaf
  std::vector<hipEvent_t> idle_;
};

}  // namespace anyplace::hip
