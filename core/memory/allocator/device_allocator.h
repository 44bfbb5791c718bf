// SPDX-License-Identifier: Apache-2.0
//
// DeviceAllocator: the caching allocator of one device. One lock guards the heap, the statistics and the state of
// streams. A thread's bins (bins.h) serve repeated sizes without the lock.
//
// Lock order: the allocator's lock is taken before the leaves (stream_state.h), and none of the core's locks is held
// when it is taken. A backend's entries for memory, queries and recording events are called under it, the user's code
// never. No pin of a stream is released under it, because the last one would call stream_ends().
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
  DeviceAllocator(const DeviceAllocator&) = delete;  // blocks and bins point to it
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // -- Configuration, which is fixed at the first allocation.
  void configure(const AllocatorConfig& config, const char* operation);  ///< throws not_permitted once fixed
  AllocatorConfig config() const;
  /// Whether Buffers get their memory here; the call fixes the configuration. Throws if the environment is wrong.
  bool caching(const char* operation) {
    const Mode mode = mode_.load(std::memory_order_acquire);
    if (mode == Mode::open) [[unlikely]]
      return fix_config(operation);
    return mode == Mode::caching;
  }

  // -- The fast path, without a lock. Null or false means that the slow path has to be taken. Inline in fast_path.h.
  Block* allocate_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t bytes) noexcept;
  /// Checks everything that deallocate() checks.
  bool free_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t address, std::uint64_t bytes) noexcept;
  /// Frees a block if it belongs to that pool; the calling thread's current pool is the likeliest.
  bool free_quickly(std::uint64_t pool, Block* block) noexcept;

  // -- Memory.
  /// `pool` is 0 or a MemoryPool's number. `bytes` isn't 0. Throws out_of_memory with the figures, after everything
  /// else was tried. Not called inside callbacks; throws not_permitted inside a pressure callback of the device. The
  /// caller has pinned the stream.
  Block* allocate(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// Allocates from memory that the heap already has; null if the device would have to be asked for more.
  Block* allocate_cached(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// Frees a block. Its stream may use it until its present work is done. Thread-safe, but not called inside callbacks.
  void free(Block* block) noexcept;
  /// Free memory that other streams use too: begin_free() now, finish_free() when their work is done.
  void begin_free(Block* block) noexcept;
  void finish_free(Block* block) noexcept;
  /// Frees memory that was allocated on that stream with that many bytes. Otherwise throws invalid_argument that says
  /// what is wrong: the memory isn't from here, or the address is inside a block, freed already, another stream's or of
  /// another size.
  void deallocate(std::uint64_t stream_id, std::uint64_t address, std::uint64_t bytes, const char* operation);
  /// The block that begins at the address and is handed out. Throws invalid_argument as deallocate() does.
  Block* taken_at(std::uint64_t address, const char* operation);

  /// Finds the allocation that contains the address. Returns false if no allocation that is handed out does.
  bool find_allocation(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes) const noexcept;

  // -- Statistics.
  StatTable stats();
  /// One figure over all sizes. It leaves the bins as they are.
  Stat total(StatKind kind);
  Snapshot snapshot();
  void reset_peak();
  void reset_accumulated();
  void record_history(bool enabled, std::uint64_t max_entries);
  void empty_cache();
  void set_limit(std::uint64_t bytes);  ///< for reserved bytes; UINT64_MAX lifts it
  std::uint64_t cached_bytes();
  std::uint64_t allocated_bytes();

  // -- Pools.
  std::uint64_t make_pool(std::optional<std::uint64_t> limit);
  void end_pool(std::uint64_t pool) noexcept;
  std::uint64_t pool_reserved_bytes(std::uint64_t pool);
  std::uint64_t pool_allocated_bytes(std::uint64_t pool);
  void release_pool(std::uint64_t pool);

  // -- Notifications by the rest of the core.
  /// The backend's stream is about to be destroyed, and nobody can submit to it any more. Puts an event behind its
  /// work. Not called inside callbacks.
  void stream_ends(StreamState& stream) noexcept;
  /// The device is about to be reset. What was handed out isn't memory afterwards and is never handed out again; free
  /// memory is returned first.
  void device_resets() noexcept;
  void thread_ends(ThreadBins& bins) noexcept;
  /// The device was synchronised, so lent blocks whose borrowers are done go back to their lenders.
  void settle() noexcept;
  /// Gives free and idle memory back to the device, as much as there is time for. Called at exit, when all work is done
  /// or given up. `synchronized` says that the device was synchronised, so that a stream without a marker has no work
  /// either.
  void shut_down(std::chrono::steady_clock::time_point deadline, bool synchronized) noexcept;

  struct State;

 private:
  enum class Mode : int { open, caching, raw };
  bool fix_config(const char* operation);
  /// Called when the arguments have been checked.
  Request request(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation);
  /// Frees as free_quickly() does when the address has to be looked up, and leaves the bins.
  static bool free_in_line(ThreadBins& bins, Line& line, std::uint64_t address, std::uint64_t bytes) noexcept;

  State* const state_;
  const std::size_t number_;  ///< the device's, by which a thread finds its bins
  std::atomic<Mode> mode_{Mode::open};
};

/// Makes the allocator that a DeviceState points to.
DeviceAllocator* make_device_allocator(DeviceState& device);

/// The device's allocator as applications see it. It calls no entry of the backend yet.
std::shared_ptr<Allocator> make_caching_allocator(DeviceState& device);

}  // namespace anyplace::detail
