// SPDX-License-Identifier: Apache-2.0
//
// Where streams live. Their memory is never given back, and serves later streams: so a record of an event, a queued
// wait or a helping host may point to a stream whose handle is gone, without a reference and without a locked
// instruction. A stream that is used again counts on from where it was: what was complete stays complete.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H
#define ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H
#include <cstdint>

#include "spin_lock.h"

namespace anyplace::cpu_sim {

class Scheduler;
class Stream;

class StreamPool {
 public:
  explicit StreamPool(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}
  StreamPool(const StreamPool&) = delete;  // streams hold its address
  StreamPool& operator=(const StreamPool&) = delete;
  ~StreamPool() = default;  // only of an unused one; see Engine

  /// One that nobody uses. Throws std::bad_alloc.
  Stream& take();
  void give_back(Stream& stream) noexcept;

  /// A number for a stream, never used again, by which find() knows it until forget().
  void name(Stream& stream) noexcept;
  void forget(Stream& stream) noexcept;
  /// With a handle more, which the caller drops; null if there is none of that number. Goes over all streams.
  Stream* find(uint64_t id) noexcept;

 private:
  Scheduler& scheduler_;
  SpinLock lock_;
  Stream* free_ = nullptr;  // guarded by lock_
  uint64_t names_ = 0;      // guarded by lock_
  Stream* made_ = nullptr;  // guarded by lock_; all of them: so that a leak checker finds those in use
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_STREAM_POOL_H
