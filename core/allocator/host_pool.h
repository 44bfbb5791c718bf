// SPDX-License-Identifier: Apache-2.0
//
// HostPool: the pinned host memory of a device. Pinning costs as much as allocating on a device and may synchronise, so
// what a HostBuffer gives up is kept by size and given to the next.
//
// A HostBuffer outlives the copies that use it, so its memory is unused when it goes, and is given out again at once.
// Invariant: the backend is called with no lock held, and nothing here waits for a device, so a HostBuffer may go
// anywhere, also inside a host function.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "anyplace/memory_stats.h"
#include "backend.h"

namespace anyplace::detail {

struct BufferState;

class HostPool {
 public:
  explicit HostPool(DeviceState& device) noexcept : device_(device) {}
  HostPool(const HostPool&) = delete;  // it owns memory
  HostPool& operator=(const HostPool&) = delete;

  /// bytes isn't 0. Gives kept memory back to the device before it throws out_of_memory.
  anyplace_address allocate(std::uint64_t bytes, const char* operation);
  /// What allocate gave. Any thread, also inside callbacks.
  void free(anyplace_address address) noexcept;
  /// Gives what is kept back to the device. Not inside callbacks.
  void release() noexcept;
  /// The same, and from now on nothing is kept: for the exit.
  void close(std::chrono::steady_clock::time_point deadline) noexcept;

  HostMemoryStats stats() const;
  void reset_peak() noexcept;
  void reset_accumulated() noexcept;

 private:
  /// Three bits after the leading one: a class is at most an eighth larger than what it is used for.
  static constexpr std::size_t class_count = 64 * 8;
  static constexpr std::size_t no_class = SIZE_MAX;

  struct Block {
    anyplace_address address = 0;
    std::uint64_t bytes = 0;            ///< what the device was asked for
    std::uint64_t requested = 0;        ///< by the HostBuffer
    std::size_t size_class = no_class;  ///< where it is kept; no_class: nowhere
    std::unique_ptr<Block> next;
    std::unique_ptr<BufferState> later;  ///< for a free inside a callback, where nothing may fail

    Block();
    Block(const Block&) = delete;  // it owns memory
    Block& operator=(const Block&) = delete;
    ~Block();
  };
  using Chain = std::unique_ptr<Block>;

  static std::uint64_t rounded(std::uint64_t bytes) noexcept;
  static std::size_t class_of(std::uint64_t bytes) noexcept;

  // -- Each locks.
  anyplace_address take_kept(std::size_t size_class, std::uint64_t requested);
  bool reserve(std::uint64_t bytes, std::optional<std::uint64_t> limit) noexcept;
  void unreserve(std::uint64_t bytes) noexcept;
  anyplace_address hand_out(std::unique_ptr<Block> block);
  Chain take_all_kept() noexcept;
  // -- Under the lock.
  void count_out(std::uint64_t requested) noexcept;

  anyplace_status allocate_new(Block& block, std::optional<std::uint64_t> limit);
  anyplace_status ask_device(Block& block, std::optional<std::uint64_t> limit);
  [[noreturn]] void refuse(std::uint64_t bytes, std::optional<std::uint64_t> limit, const char* operation);
  /// Returns those for which there was no time.
  Chain give_back(Chain blocks, std::optional<std::chrono::steady_clock::time_point> deadline = {}) noexcept;

  DeviceState& device_;
  mutable std::mutex mutex_;  // guards everything below; a leaf
  std::unordered_map<anyplace_address, std::unique_ptr<Block>> out_;
  std::array<Chain, class_count> kept_;
  bool closed_ = false;
  Chain left_;  ///< when it was closed; goes with the process
  HostMemoryStats stats_;
};

HostPool* make_host_pool(DeviceState& device);

/// HostPool::release, for those who give memory back to the device.
void release_host_pool(DeviceState& device) noexcept;

}  // namespace anyplace::detail
