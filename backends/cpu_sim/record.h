// SPDX-License-Identifier: Apache-2.0
//
// A place in a timeline, and a cell that holds one for many readers: what an event recorded last, what a stream waits
// for.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_RECORD_H
#define ANYPLACE_BACKENDS_CPU_SIM_RECORD_H

#include <atomic>
#include <cstdint>

#include "spin_lock.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

/// A place in a stream's timeline, or nowhere. Needs no reference: those timelines are never destroyed.
struct Record {
  Timeline* timeline = nullptr;
  uint64_t target = 0;

  bool complete() const noexcept { return timeline == nullptr || timeline->reached(target); }
};

/// A sequence lock. Invariant: version_ is odd while the two numbers may belong to different records.
///
/// Why a reader that accepts what it read read one record. The writer stores the odd version before the numbers, each a
/// release; so a reader that sees a number of a newer record (an acquire) sees at least that record's odd version at
/// its second look, and reads again. The even version is stored after the numbers (a release), so a reader that begins
/// with it (an acquire) sees these numbers or newer ones.
class RecordCell {
 public:
  /// By one writer at a time.
  void write(const Record& record) noexcept {
    const uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    timeline_.store(record.timeline, std::memory_order_release);
    target_.store(record.target, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  Record read() const noexcept {
    Record record;
    if (!try_read(record)) [[unlikely]] {
      Backoff backoff;
      while (!try_read(record)) backoff.rest();
    }
    return record;
  }

 private:
  bool try_read(Record& out) const noexcept {
    const uint32_t version = version_.load(std::memory_order_acquire);
    out = {timeline_.load(std::memory_order_acquire), target_.load(std::memory_order_acquire)};
    return (version & 1) == 0 && version_.load(std::memory_order_relaxed) == version;
  }

  std::atomic<uint32_t> version_{0};
  std::atomic<Timeline*> timeline_{nullptr};
  std::atomic<uint64_t> target_{0};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_RECORD_H
