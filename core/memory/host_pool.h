// SPDX-License-Identifier: Apache-2.0
//
// HostPool: the pinned host memory of a device. Pinning costs as much as allocating on a device and may synchronise, so
// memory that a HostBuffer frees is kept by size for the next one.
//
// Copies note the streams that use a HostBuffer's memory (host_ranges.h). Memory that no work uses is reused at once;
// other memory waits among the deferred frees (deferred_free.h) first. Invariant: the backend is called with no lock
// held, and freeing waits for no device, so a HostBuffer may be destroyed anywhere, also inside a host function.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "anyplace/allocator.h"
#include "anyplace/memory_stats.h"
#include "memory/host_block.h"
#include "runtime/backend.h"

namespace anyplace::detail {

struct BufferState;

class HostPool {
 public:
  explicit HostPool(DeviceState& device) noexcept : device_(device) {}
  HostPool(const HostPool&) = delete;  // it owns memory
  HostPool& operator=(const HostPool&) = delete;

  /// What was kept and fits, else memory from the device. bytes isn't 0. Kept memory goes back to the device before
  /// out_of_memory is thrown. Throws capturing where a capture forbids to ask the device.
  anyplace_address allocate(std::uint64_t bytes, const char* operation);
  /// Takes back what was allocated. Any thread may call it, also inside callbacks.
  void free(anyplace_address address) noexcept;
  /// Keeps the allocation at the address until drop_hold(), even if it is freed before. Returns false if there is none.
  bool hold(anyplace_address address) noexcept;
  void drop_hold(anyplace_address address) noexcept;
  /// Frees memory that a capture kept (graph_pool.h).
  void free_kept_back(std::unique_ptr<BufferState> kept) noexcept;
  /// Takes back memory that waited among the deferred frees and that no work uses any more.
  void take_back(std::unique_ptr<BufferState> waited) noexcept;
  /// Gives kept memory back to the device. Must not be called inside callbacks.
  void release() noexcept;
  /// Gives kept memory back at exit, as much as there is time for; from then on nothing is kept.
  void close(std::chrono::steady_clock::time_point deadline) noexcept;

  HostMemoryStats stats() const;
  void reset_peak() noexcept;
  void reset_accumulated() noexcept;

 private:
  /// A class number has three bits after the leading one, so a class is at most an eighth larger than a request in it.
  static constexpr std::size_t class_count = 64 * 8;
  static constexpr std::size_t no_class = SIZE_MAX;

  using Chain = std::unique_ptr<HostBlock>;

  static std::uint64_t rounded(std::uint64_t bytes) noexcept;
  static std::size_t class_of(std::uint64_t bytes) noexcept;

  static Chain block_of(BufferState& waited) noexcept;
  anyplace_address allocate_new(std::uint64_t bytes, const AllocatorConfig& config, const char* operation);

  // -- Each of these takes the lock.
  anyplace_address take_kept(std::size_t size_class, std::uint64_t requested);
  bool reserve(std::uint64_t bytes, std::optional<std::uint64_t> limit) noexcept;
  void unreserve(std::uint64_t bytes) noexcept;
  anyplace_address hand_out(std::unique_ptr<HostBlock> block);
  /// The block that was freed; null if it is held, or isn't there.
  Chain take_out(anyplace_address address) noexcept;
  void free_block(Chain block) noexcept;
  void count_pending(const HostBlock& block, bool begins) noexcept;
  Chain take_all_kept() noexcept;
  void keep(Chain block) noexcept;
  // -- The lock is held.
  void count_out(std::uint64_t requested) noexcept;

  void free_behind_work(Chain block) noexcept;
  anyplace_status pin_block(HostBlock& block, std::optional<std::uint64_t> limit);
  anyplace_status ask_device(HostBlock& block, std::optional<std::uint64_t> limit);
  [[noreturn]] void refuse(std::uint64_t bytes, std::optional<std::uint64_t> limit, const char* operation);
  /// Returns the blocks for which there was no time.
  Chain give_back(Chain blocks, std::optional<std::chrono::steady_clock::time_point> deadline = {}) noexcept;

  DeviceState& device_;
  mutable std::mutex mutex_;  // guards everything below; a leaf
  std::unordered_map<anyplace_address, std::unique_ptr<HostBlock>> out_;
  std::array<Chain, class_count> kept_;
  bool closed_ = false;
  Chain left_;  ///< blocks that close() had no time for; the process's end frees them
  HostMemoryStats stats_;
};

HostPool* make_host_pool(DeviceState& device);

/// Calls HostPool::release, for code that gives memory back to the device.
void release_host_pool(DeviceState& device) noexcept;

}  // namespace anyplace::detail
