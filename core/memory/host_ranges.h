// SPDX-License-Identifier: Apache-2.0
//
// HostRanges: the host memory that belongs to HostBuffers, so that a copy can note that its stream uses some. Every
// copy of host memory looks here, and most are of other memory: a lookup takes no lock, and only a load and a
// comparison if no HostBuffer is near.
//
// Ranges change only when a device gives memory to its HostPool or gets it back, which is rare. They are in one sorted
// array of atomics. A reader that meets a change looks again. Arrays that grew too small are kept, because readers may
// still be in one.
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
  /// Adds a range, whose memory stays until remove(). Throws bad_alloc.
  void add(HostBlock& block);
  void remove(const HostBlock& block) noexcept;

  /// Whether a copy of that stream from or to the address needs no note_use(): the address is in no range, or the
  /// stream is the last one that was noted there.
  bool is_noted(std::uintptr_t address, std::uint64_t stream_id) const noexcept {
    if (address < lowest_.load(std::memory_order_relaxed) || address >= end_.load(std::memory_order_relaxed)) [[likely]]
      return true;
    return look_up(address, stream_id);
  }
  /// Notes that work of the stream uses the memory, until the memory is freed. Does nothing for an address that is in
  /// no range. Throws bad_alloc.
  void note_use(std::uintptr_t address, StreamState& stream, const char* operation);
  /// Calls note_use() unless is_noted().
  void note_use_once(std::uintptr_t address, StreamState& stream, const char* operation);
  /// Called when the block's uses are over or were taken over: the next use is noted again.
  void forget_uses(const HostBlock& block) noexcept;
  /// Finds the HostBuffer that contains the address. Returns false if none does, also for memory that is kept for the
  /// next one.
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
  /// The index of the range that contains the address, or the count. Called under the lock, or checked with version_
  /// afterwards.
  static std::size_t find(const Array& array, std::uintptr_t address) noexcept;
  // -- Called under the lock.
  /// The block's index; the count if it isn't there.
  std::size_t index_of(const HostBlock& block) const noexcept;
  void move(Array& from, std::size_t first, Array& to, std::size_t target) noexcept;
  void begin_change() noexcept;
  void end_change() noexcept;

  std::atomic<std::uintptr_t> lowest_{UINTPTR_MAX};  ///< of all ranges that ever were; only falls
  std::atomic<std::uintptr_t> end_{0};               ///< of all ranges that ever were; only rises
  std::atomic<Array*> array_{nullptr};
  std::atomic<std::uint64_t> version_{0};  ///< odd while the array is being changed

  mutable std::mutex mutex_;                    // guards everything below, and changes of what is above
  std::vector<std::unique_ptr<Array>> arrays_;  ///< array_ and the arrays before it
  std::vector<HostBlock*> blocks_;              ///< the blocks of the ranges, in their order
};

extern constinit NoDestructor<HostRanges> host_range_table;
inline HostRanges& host_ranges() noexcept { return host_range_table.value; }

}  // namespace anyplace::detail
