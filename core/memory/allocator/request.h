// SPDX-License-Identifier: Apache-2.0
//
// Request: finds memory for a request that the bins couldn't serve. Its steps are in the order of their cost. Each is
// taken only when those before it found nothing.
#pragma once

#include <cstdint>
#include <mutex>

#include "memory/allocator/device_allocator_state.h"

namespace anyplace::detail {

class Request {
 public:
  Request(DeviceAllocator::State& state, StreamState& stream, std::uint64_t pool, std::uint64_t bytes,
          const char* operation);

  /// Returns a block that is counted in the statistics. Throws out_of_memory, or the backend's failure.
  Block* serve();
  /// Serves the request without asking the device for memory; null if nothing fits. Throws out_of_memory if nothing
  /// ever could.
  Block* serve_cached();

 private:
  void begin();
  Block* end(Block* block);
  Block* at_hand();
  Block* take(Reach reach);
  bool segments_instead(Reach reach);
  Block* from_finished();
  Block* from_bins();
  Block* from_idle_lender();
  Block* from_busy_lender();
  Block* after_releasing();
  Block* after_waiting();
  Block* from_pinned();
  Block* after_pressure();

  Block* borrow(Arena& lender);
  /// Empties the calling thread's bins of the arena; returns false if there was nothing in them.
  bool drain_own();
  /// Whether the pool and the heap still exist; a reset ends the heap.
  bool is_alive() const;
  bool is_possible();
  bool waiting_could_help() const;
  void wait_for_streams();
  [[noreturn]] void fail_for_good();
  [[noreturn]] void fail_backend();

  DeviceAllocator::State& state_;
  DeviceState& device_;
  StreamState& stream_;
  ArenaKey key_;  ///< the arena's
  const std::uint64_t bytes_;
  const std::uint64_t size_;  ///< rounded
  const char* const operation_;
  bool refused_ = false;  ///< an attempt failed and may have left a message
  std::unique_lock<std::mutex> lock_;
};

}  // namespace anyplace::detail
