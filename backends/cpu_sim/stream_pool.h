// SPDX-License-Identifier: Apache-2.0
//
// StreamPool owns the memory of streams. It is never freed but reused for later streams, so an event's record, a queued
// wait or a helping host may point to a stream whose handle is gone, without a reference and without a locked
// instruction. A reused stream goes on counting from where it was, so what was complete stays complete.
#pragma once
#include <cstdint>

#include "spin_lock.h"

namespace anyplace::cpu_sim {

class Scheduler;
class Stream;

class StreamPool {
 public:
  explicit StreamPool(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}
  StreamPool(const StreamPool&) = delete;  // Streams hold its address.
  StreamPool& operator=(const StreamPool&) = delete;
  ~StreamPool() = default;  // Only an unused pool is destroyed (see Engine).

  /// Takes an unused stream, or makes one. Throws std::bad_alloc.
  Stream& take();
  void give_back(Stream& stream) noexcept;

  /// Gives the stream a number that is never reused. find() finds it by that number until forget().
  void name(Stream& stream) noexcept;
  void forget(Stream& stream) noexcept;
  /// Returns the stream of that number, with one more handle, which the caller drops later; null if there is none. It
  /// searches all streams.
  Stream* find(std::uint64_t id) noexcept;

 private:
  Scheduler& scheduler_;
  SpinLock lock_;
  Stream* free_ = nullptr;   // lock_ guards it.
  std::uint64_t names_ = 0;  // lock_ guards it.
  Stream* made_ = nullptr;   // lock_ guards it; it has all streams, so that a leak checker finds those in use.
};

}  // namespace anyplace::cpu_sim
