// SPDX-License-Identifier: Apache-2.0
//
// DeviceAllocator::State: the parts of a device's allocator. Its functions are in four files: device_allocator.cpp
// hands out and takes back memory, request.cpp finds memory that the bins don't have, bins_life.cpp has the bins, and
// allocator_statistics.cpp the statistics and pools.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "memory/allocator/bins.h"
#include "memory/allocator/device_allocator.h"
#include "memory/allocator/heap.h"
#include "memory/allocator/history.h"
#include "memory/allocator/source.h"
#include "memory/allocator/stream_work.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// A lent block whose free was asked for. It goes back to its arena when the borrower's work is done.
struct Returning {
  Block* block = nullptr;
  std::unique_ptr<EventState> behind;  ///< null if it waits until the borrower is idle
};

/// The device's memory source with a switch. Once abandoned it gives nothing and takes nothing back, because the memory
/// that it gave is gone, or there is no time to give it back.
class GuardedSource final : public MemorySource {
 public:
  using Clock = std::chrono::steady_clock;
  explicit GuardedSource(std::unique_ptr<MemorySource> source) noexcept : source_(std::move(source)) {}
  void abandon() noexcept { abandoned_ = true; }
  /// Memory that isn't given back by the deadline is left to the end of the process.
  void abandon_at(Clock::time_point deadline) noexcept { deadline_ = deadline; }

  std::uint64_t page_bytes() noexcept override { return source_->page_bytes(); }
  SourceResult allocate(std::uint64_t bytes, anyplace_address* address) noexcept override;
  void free(anyplace_address address, std::uint64_t bytes) noexcept override;
  SourceResult reserve(std::uint64_t bytes, anyplace_address* address) noexcept override;
  void release(anyplace_address address, std::uint64_t bytes) noexcept override;
  SourceResult create(std::uint64_t bytes, anyplace_physical* physical) noexcept override;
  void destroy(anyplace_physical physical) noexcept override;
  SourceResult map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                       std::uint64_t* mapped) noexcept override;
  bool unmap(anyplace_address address, std::uint64_t bytes) noexcept override;
  anyplace_status last_status() const noexcept override { return source_->last_status(); }

 private:
  bool is_abandoned() noexcept {
    if (deadline_ && Clock::now() >= *deadline_) abandoned_ = true;
    return abandoned_;
  }

  std::unique_ptr<MemorySource> source_;
  bool abandoned_ = false;
  std::optional<Clock::time_point> deadline_;
};

/// A heap and its source.
struct HeapOnSource {
  std::unique_ptr<GuardedSource> source;
  std::unique_ptr<Heap> heap;

  /// Ends the heap first, because it gives its memory back to the source.
  void close() noexcept {
    heap.reset();
    source.reset();
  }
};

struct DeviceAllocator::State final : HeapUser {
  explicit State(DeviceState& of) : device(of), work(of) {}

  DeviceState& device;
  std::size_t number = 0;

  mutable std::mutex mutex;  // guards everything below except the contents of bins (bins.h)
  std::optional<AllocatorConfig> config;
  HeapOnSource memory;                  ///< made at the first allocation
  std::vector<HeapOnSource> abandoned;  ///< heaps before a reset; their blocks may still be out
  StatTable stats;
  StreamWork work;
  History history;
  ThreadBins* all_bins = nullptr;
  bool bins_off = false;
  std::deque<Returning> returning;
  std::uint64_t pending_bytes = 0;  ///< of blocks whose free was asked for but isn't complete
  std::uint64_t limit = UINT64_MAX;
  struct Pool {
    std::uint64_t limit = UINT64_MAX;
  };
  std::map<std::uint64_t, Pool> pools;  ///< pools that haven't ended
  std::uint64_t last_pool = 0;
  /// Bytes of the device when it was asked last; UINT64_MAX if it doesn't tell.
  std::uint64_t known_total = 0;
  bool closed = false;
  bool segments_only = false;  ///< virtual memory was given up

  /// All blocks that were ever handed out lie between these two, which are read without the lock.
  std::atomic<anyplace_address> lowest{UINT64_MAX};
  std::atomic<anyplace_address> end{0};
  /// Called for a block that is about to be handed out for the first time.
  void note_span(const Block& block) noexcept {
    if (block.address < lowest.load(std::memory_order_relaxed)) {
      lowest.store(block.address, std::memory_order_relaxed);
    }
    if (block.address + block.bytes > end.load(std::memory_order_relaxed)) {
      end.store(block.address + block.bytes, std::memory_order_relaxed);
    }
  }

  // -- The methods of HeapUser.
  bool idle(const ArenaKey& arena) noexcept override { return arena.stream == 0 || work.idle(arena.stream); }
  void note(TraceAction action, const ArenaKey& arena, std::uint64_t address, std::uint64_t bytes) noexcept override;

  // -- Called under the lock.
  Heap& open_heap(const AllocatorConfig& config);
  /// Ends a heap that never mapped anything, so nobody has memory of it. The next heap has classic segments. Logs that,
  /// with the reason that the source left.
  void give_up_virtual_memory(const char* operation);
  Heap& heap_of(const Block* block) noexcept;
  /// Adds the calling thread's counters to the statistics, with the peaks since the last collection.
  void look_at_counters() noexcept;
  void note_block(TraceAction action, Block& block) noexcept;
  /// These count a block in the statistics, and remove it from them.
  void count_allocation(Block* block, std::uint64_t requested) noexcept;
  void count_free_request(Block* block) noexcept;
  void count_free_completion(Block* block) noexcept;
  /// Frees a block that only its own stream uses.
  void give(Block* block) noexcept;
  /// Frees a taken block: now or, if it was lent, when the borrower's work is done.
  void free(Block* block) noexcept;
  void complete(Block* block) noexcept;
  Block* taken_at(std::uint64_t address, const char* operation) const;
  /// Takes back up to `budget` lent blocks whose borrowers are done, and the memory of streams that have ended.
  void settle_streams(std::size_t budget = 32) noexcept;
  void end_arenas(std::uint64_t stream) noexcept;

  // -- Bins; called under the lock.
  /// The calling thread's bins, made at first need; null if it can't have any.
  ThreadBins* bins_here() noexcept;
  void file_line(ArenaKey key, const Arena& arena) noexcept;  ///< later frees of the arena go into a bin
  void drain(Line& line) noexcept;
  void drain(Line& line, bool small) noexcept;
  void count_large(const ArenaKey& key, std::uint64_t requested) noexcept;  ///< counts a request or a free
  void set_bins_off() noexcept;
  void reclaim(ThreadBins& own) noexcept;
  bool any_unfenced() const noexcept;
  /// Empties all bins, and clears their lines for which fits(line) holds. An owner of unfenced bins does that itself
  /// (reclaim); until then its blocks count as handed out, so that their arenas stay.
  template <class Fits>
  void end_lines(Fits&& fits) noexcept;

  /// Whether the device has that many bytes in all. The device is asked again if the known figure is too small.
  bool device_has(std::uint64_t bytes) noexcept;
  /// The reason why a request can never be served, whatever is given back or waited for; empty if it could be.
  std::string hopeless(std::uint64_t pool, std::uint64_t bytes) const;
  [[noreturn]] void throw_out_of_memory(std::unique_lock<std::mutex>& lock, std::uint64_t pool, std::uint64_t bytes,
                                        const char* operation);
};

/// While it lives, no thread uses its bins. It empties the bins and brings the statistics up to date. The allocator's
/// lock is held.
class Revocation {
 public:
  /// Whether the blocks in the bins go to the heap, or only the counters are collected.
  enum class Bins { emptied, left_alone };
  explicit Revocation(DeviceAllocator::State& state, Bins contents = Bins::emptied) noexcept;
  Revocation(const Revocation&) = delete;  // it is bound to its scope
  Revocation& operator=(const Revocation&) = delete;
  ~Revocation();
  bool found_any() const noexcept { return found_any_; }

 private:
  DeviceAllocator::State& state_;
  bool found_any_ = false;
};

template <class Fits>
void DeviceAllocator::State::end_lines(Fits&& fits) noexcept {
  const Revocation revocation(*this);
  for (ThreadBins* bins = all_bins; bins != nullptr; bins = bins->next) {
    if (bins->is_unfenced()) continue;
    bins->for_each_line([&](Line& line) {
      if (fits(line)) line.stream = 0;
    });
  }
}

}  // namespace anyplace::detail
