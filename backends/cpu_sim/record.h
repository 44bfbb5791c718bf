// SPDX-License-Identifier: Apache-2.0
//
// A Record is a number on a timeline. A RecordCell holds a record for many readers, such as an event's most recent
// record or what a stream waits for.
#pragma once

#include <atomic>
#include <cstdint>

#include "spin_lock.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

/// A Record is empty if the timeline is null. It holds no reference, because streams' timelines
/// are never destroyed.
struct Record {
  Timeline* timeline = nullptr;
  std::uint64_t target = 0;

  bool complete() const noexcept { return timeline == nullptr || timeline->reached(target); }
};

/// A RecordCell is a sequence lock. Invariant: version_ is odd while the two numbers may belong to different records.
///
/// A reader never accepts a mixture of two records, and this is why. The writer stores the odd version before the
/// numbers, each with release order; so a reader that sees a number of a newer record (an acquire load) sees at least
/// that record's odd version when it reads the version again, and starts over. The even version is stored after the
/// numbers (a release), so a reader that begins with it (an acquire) sees these numbers or newer ones.
class RecordCell {
 public:
  /// One writer at a time calls it.
  void write(const Record& record) noexcept {
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
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
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    out = {timeline_.load(std::memory_order_acquire), target_.load(std::memory_order_acquire)};
    return (version & 1) == 0 && version_.load(std::memory_order_relaxed) == version;
  }

  std::atomic<std::uint32_t> version_{0};
  std::atomic<Timeline*> timeline_{nullptr};
  std::atomic<std::uint64_t> target_{0};
};

}  // namespace anyplace::cpu_sim
