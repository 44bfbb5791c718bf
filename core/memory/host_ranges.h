// SPDX-License-Identifier: Apache-2.0
//
// HostRanges: which host memory belongs to HostBuffers, so that a copy can say that its stream uses some. Every copy
// from or to host memory asks, and most are of other memory: the question takes no lock, and a load and a comparison
// where there is no HostBuffer anywhere near.
//
// Ranges come and go with what a device gives to its HostPool and gets back, which is rare. They are in one sorted
// array of atomics. A reader that meets a change of it looks again; arrays that grew too small are kept, for readers
// that may still be in one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/backend.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {

struct FoundAddress;
struct HostBlock;
struct StreamState;

class HostRanges {
 public:
  /// The range's memory stays until remove(). Throws bad_alloc.
  void add(HostBlock& block);
  void remove(const HostBlock& block) noexcept;

  /// Whether a copy of that stream from or to this address needs no note_use(): it isn't in a range, or the stream is
  /// the last that was noted there.
  bool is_noted(std::uintptr_t address, std::uint64_t stream_id) const noexcept {
    if (address < lowest_.load(std::memory_order_relaxed) || address >= end_.load(std::memory_order_relaxed)) [[likely]]
      return true;
    return look_up(address, stream_id);
  }
  /// Notes that work of the stream, submitted up to the moment the memory is given up, uses it. Does nothing for an
  /// address that is in no range. Throws bad_alloc.
  void note_use(std::uintptr_t address, StreamState& stream, const char* operation);
  /// The same, unless is_noted().
  void note_use_once(std::uintptr_t address, StreamState& stream, const char* operation);
  /// The block's uses are over or were taken over: the next is noted again.
  void forget_uses(const HostBlock& block) noexcept;
  /// Finds the HostBuffer that has the address. False if none has; memory that is kept for the next one is nobody's.
  bool find(std::uintptr_t address, FoundAddress& found) const noexcept;
  /// Whether the address is in a range.
  bool contains(std::uintptr_t address) const noexcept;

 private:
  struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<std::uint64_t> last_stream{0};
  };
  struct Array {
    explicit Array(std::size_t count_at_most) : ranges(std::make_unique<Range[]>(count_at_most)), room(count_at_most) {}
    std::unique_ptr<Range[]> ranges;
    std::size_t room;
    std::atomic<std::size_t> count{0};
  };

  [[gnu::noinline]] bool look_up(std::uintptr_t address, std::uint64_t stream_id) const noexcept;
  /// The number of the range that has the address, or the count; under the lock, or to be checked with version_.
  static std::size_t find(const Array& array, std::uintptr_t address) noexcept;
  // -- Under the lock.
  /// The block's number; the count if it isn't there.
  std::size_t index_of(const HostBlock& block) const noexcept;
  void move(Array& from, std::size_t first, Array& to, std::size_t target) noexcept;
  void begin_change() noexcept;
  void end_change() noexcept;

  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX};  ///< of all ranges that ever were: only goes down
  std::atomic<std::uintptr_t> end_{0};               ///< likewise: only goes up
  std::atomic<Array*> array_{nullptr};
  std::atomic<std::uint64_t> version_{0};  ///< odd while the array is being changed

  mutable std::mutex mutex_;                    // guards everything below, and who changes what is above
  std::vector<std::unique_ptr<Array>> arrays_;  ///< array_, and those before it
  std::vector<HostBlock*> blocks_;              ///< of the ranges, in their order
};

extern constinit NoDestructor<HostRanges> host_range_table;
inline HostRanges& host_ranges() noexcept { return host_range_table.value; }

}  // namespace anyplace::detail
