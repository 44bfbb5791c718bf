// SPDX-License-Identifier: Apache-2.0
//
// Event: a hipEvent_t and the device that it is of. HIP's events are anyplace's: an event that was never recorded is
// complete and no wait, a wait takes the most recent record at the call, destroying one that is waited for is safe.
//
// EventPool and Marker: events of the backend's own, used again and again, to know when work is over.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
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
  hipEvent_t native() const noexcept { return current_.load(std::memory_order_acquire)->native; }
  /// native() for others, who may keep it: it stays the same from now on.
  hipEvent_t hand_out() noexcept;

  /// What a record goes to. Null while somebody waits with a limit for what it has: record_apart().
  hipEvent_t native_to_record() const noexcept {
    const Turn& current = *current_.load(std::memory_order_acquire);
    return current.waiting.load(std::memory_order_relaxed) == 0 ? current.native : nullptr;
  }
  void record_apart(const Stream& stream);

  bool query() const;
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns);
  /// Milliseconds until `end`. Both have timing and are complete.
  double milliseconds_to(const Event& end) const;
  /// Ends what it is made of. Silent for a lost device.
  void destroy();

 private:
  /// HIP has no wait with a limit, and its query is of the newest record: who waits for an older one asks a hipEvent_t
  /// that isn't recorded again before it is through. A record meanwhile takes another one.
  struct Turn {
    hipEvent_t native = nullptr;
    std::atomic<unsigned> waiting{0};
  };

  hipEvent_t make() const;
  Turn& idle_turn();
  Device& device_;
  const std::uint32_t flags_;
  Turn first_;
  std::atomic<Turn*> current_{&first_};
  std::mutex mutex_;        // guards all below, and writing current_; a leaf
  std::list<Turn> others_;  // not first_; where they lie is kept
  bool handed_out_ = false;
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
