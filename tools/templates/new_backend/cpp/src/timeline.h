// SPDX-License-Identifier: Apache-2.0
//
// Timeline: a number that only rises, and a way to wait until it has reached another. Everything that completes in this
// backend is a timeline: a stream's counts the commands that are over, an event's record is a stream's timeline and the
// number that completes it, a gate's goes from 0 to 1.
//
// On a device a timeline is what the vendor calls a semaphore, a fence or a signal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace newname_backend {

using Clock = std::chrono::steady_clock;

/// The time until which a call waits.
class Deadline {
 public:
  /// ANYPLACE_FOREVER never runs out, nor does a timeout that is too large for the clock.
  explicit Deadline(std::uint64_t timeout_ns) noexcept;

  /// Waits until `ready()`. False if time ran out first. `lock` is held whenever `ready` is called, and on return.
  template <class Ready>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) const {
    if (end_) return changed.wait_until(lock, *end_, ready);
    changed.wait(lock, ready);
    return true;
  }

 private:
  std::optional<Clock::time_point> end_;
};

class Timeline {
 public:
  Timeline() = default;
  Timeline(const Timeline&) = delete;  // those who wait point at it
  Timeline& operator=(const Timeline&) = delete;

  /// Raises the number. A thread that sees the new value sees all that was done before.
  void advance();
  bool reached(std::uint64_t target) const;
  /// Waits for the number `target`. False if time ran out first.
  bool wait(std::uint64_t target, const Deadline& deadline) const;

 private:
  mutable std::mutex mutex_;  // guards value_; a leaf: nothing is locked under it
  mutable std::condition_variable changed_;
  std::uint64_t value_ = 0;
};

/// A moment on a timeline. It keeps the timeline alive, which may so outlive its stream or gate. A point without a
/// timeline is always past.
struct Point {
  std::shared_ptr<Timeline> timeline;
  std::uint64_t target = 0;

  bool reached() const { return timeline == nullptr || timeline->reached(target); }
  bool wait(const Deadline& deadline) const { return timeline == nullptr || timeline->wait(target, deadline); }
};

}  // namespace newname_backend
