// SPDX-License-Identifier: Apache-2.0
//
// DeviceAllocator: the caching allocator of one device. One lock guards the heap, the statistics and what is known of
// streams. A thread's bins (bins.h) serve sizes that repeat without it.
//
// This header is the door of its folder: files outside include no other header of it, and scripts/check-includes says
// so.
//
// Lock order. The allocator's lock comes before the leaves (stream_state.h) and after nothing of the core's; a
// backend's entries for memory, for queries and for recording events are called under it, the user never. Under it no
// pin of a stream is let go of: the last one would come back here (stream_ends).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "anyplace/allocator.h"
#include "memory/allocator/block.h"
#include "memory/allocator/most_bytes.h"
#include "memory/figures/statistics.h"

namespace anyplace::detail {

struct DeviceState;
struct StreamState;
class ThreadBins;
struct Line;
class Request;

class DeviceAllocator {
 public:
  /// It is made with the device and never destroyed. It asks the backend nothing before the first allocation.
  explicit DeviceAllocator(DeviceState& device);
  DeviceAllocator(const DeviceAllocator&) = delete;  // blocks and bins lead to it
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // -- Configuration; fixed at the first allocation.
  void configure(const AllocatorConfig& config, const char* operation);  ///< throws not_permitted once it is in use
  AllocatorConfig config() const;
  /// Whether Buffers come from here; from then on the configuration is fixed. Throws for a bad environment.
  bool caching(const char* operation) {
    const Mode mode = mode_.load(std::memory_order_acquire);
    if (mode == Mode::open) [[unlikely]]
      return fix_config(operation);
    return mode == Mode::caching;
  }

  // -- Memory by the fast path: no lock is taken. Null or false: go the slow path. Inline, in fast_path.h, for
  // caching_allocator.cpp; what follows below begins with it.
  Block* allocate_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t bytes) noexcept;
  /// It checks all that deallocate() does.
  bool free_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept;
  /// If the block is of that pool; the calling thread's current one is the likeliest.
  bool free_quickly(std::uint64_t pool, Block* block) noexcept;

  // -- Memory.
  /// `pool` is 0 or a MemoryPool's. `bytes` isn't 0. Throws out_of_memory with the figures, after all that can be done.
  /// Not inside callbacks; not_permitted inside a pressure callback of the device. The caller has pinned the stream.
  Block* allocate(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// The same from what is at hand; null if the device would have to be asked for memory.
  Block* allocate_cached(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// The block's stream may use it until what it has been given by now is done. Any thread, not inside callbacks.
  void free(Block* block) noexcept;
  /// The same for memory that other streams use too: begin_free now, finish_free when their work is done.
  void begin_free(Block* block) noexcept;
  void finish_free(Block* block) noexcept;
  /// free() of what was allocated on that stream with that many bytes, or invalid_argument that says what is wrong:
  /// never ours, inside a block, freed already, another stream's, another size.
  void deallocate(std::uint64_t stream_id, std::uint64_t address, std::uint64_t bytes, const char* operation);
  /// The block that begins there and is handed out, or invalid_argument as above.
  Block* taken_at(std::uint64_t address, const char* operation);

  /// The allocation that has the address, which may be anywhere in it. False if it is in none that is handed out.
  bool find_allocation(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes) const noexcept;

  // -- Statistics.
  StatTable stats();
  /// One figure of all sizes. Leaves the bins as they are.
  Stat total(StatKind kind);
  Snapshot snapshot();
  void reset_peak();
  void reset_accumulated();
  void record_history(bool enabled, std::uint64_t max_entries);
  void empty_cache();
  void set_limit(std::uint64_t bytes);  ///< of what is reserved; UINT64_MAX lifts it
  std::uint64_t cached_bytes();
  std::uint64_t allocated_bytes();

  // -- Pools.
  std::uint64_t make_pool(std::optional<std::uint64_t> limit);
  void end_pool(std::uint64_t pool) noexcept;
  std::uint64_t pool_reserved_bytes(std::uint64_t pool);
  std::uint64_t pool_allocated_bytes(std::uint64_t pool);
  void release_pool(std::uint64_t pool);

  // -- What the rest of the core tells it.
  /// The backend's stream is about to go; nobody can submit to it any more. Puts an event behind its work. Not inside
  /// callbacks.
  void stream_ends(StreamState& stream) noexcept;
  /// The device is about to be reset: what was handed out is no memory then, and is not handed out again. What is free
  /// goes back before.
  void device_resets() noexcept;
  void thread_ends(ThreadBins& bins) noexcept;
  /// The device was waited for, so lent blocks whose borrowers are done go back to their lenders.
  void settle() noexcept;
  /// Gives free and idle memory back to the device, as much of it as there is time for. Called at exit, when all work
  /// is done or given up. `synchronized`: the device was waited for, so that a stream without a marker has no work
  /// either.
  void shut_down(std::chrono::steady_clock::time_point deadline, bool synchronized) noexcept;

  struct State;

 private:
  enum class Mode : int { open, caching, raw };
  bool fix_config(const char* operation);
  /// Once all that is wrong with the arguments has been refused.
  Request request(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// free_quickly() where the address has to be looked up. Leaves the bins.
  static bool free_in_line(ThreadBins& bins, Line& line, std::uint64_t address, std::uint64_t bytes) noexcept;

  State* const state_;
  const std::size_t number_;  ///< of the device, for bins
  std::atomic<Mode> mode_{Mode::open};
};

/// What a DeviceState points to.
DeviceAllocator* make_device_allocator(DeviceState& device);

/// The device's allocator as applications see it. It calls no entry of the backend yet.
std::shared_ptr<Allocator> make_caching_allocator(DeviceState& device);

}  // namespace anyplace::detail
