// SPDX-License-Identifier: Apache-2.0
// What a forwarding plugin counts, and what a test tells it. A test gets at it with controls_of (memory_support.h).
#pragma once

#include <atomic>
#include <cstdint>

struct Controls {
  // -- Counted.
  std::atomic<std::uint64_t> allocations{0};  ///< memory_allocate of device and managed memory
  std::atomic<std::uint64_t> pinned_allocations{0};
  std::atomic<std::uint64_t> async_allocations{0};  ///< memory_allocate_async
  std::atomic<std::uint64_t> frees{0};              ///< memory_free of any kind
  std::atomic<std::uint64_t> async_frees{0};        ///< memory_free_async
  std::atomic<std::uint64_t> batches_mapped{0};     ///< virtual_map_all
  std::atomic<std::uint64_t> copies{0};             ///< memory_copy
  std::atomic<std::uint64_t> copies_2d{0};          ///< memory_copy_2d
  std::atomic<std::uint64_t> peer_copies{0};        ///< memory_copy_peer
  std::atomic<std::uint64_t> launches{0};           ///< kernel_launch
  std::atomic<std::uint64_t> kernel_lookups{0};     ///< module_kernel
  std::atomic<std::uint64_t> events{0};             ///< event_create
  std::atomic<std::uint64_t> streams_destroyed{0};  ///< stream_destroy
  std::atomic<std::uint64_t> modules_unloaded{0};   ///< module_unload
  std::atomic<std::uint64_t> modules_loaded{0};     ///< module_load
  std::atomic<std::uint32_t> last_format{0};        ///< of module_load
  /// kernel_launch on another stream than that of the latest memory_allocate_async, which wasn't synchronised since
  std::atomic<std::uint64_t> launches_beside_allocation{0};

  // -- Told.
  std::atomic<bool> lost{false};                  ///< entries that submit answer DEVICE_LOST
  std::atomic<bool> lost_in_free{false};          ///< so does memory_free, having freed
  std::atomic<bool> memory_unknown{false};        ///< device_memory tells nothing
  std::atomic<bool> free_synchronises{false};     ///< memory_free first waits for the device, as a vendor's may
  std::atomic<std::uint64_t> failing_records{0};  ///< so many event_record fail
  std::atomic<std::uint64_t> failing_batches{0};  ///< so many virtual_map_all fail
  std::atomic<std::uint64_t> failing_pinned{0};   ///< so many memory_allocate of pinned memory are out of memory
  std::atomic<std::uint64_t> aligned_to{0};  ///< device memory: to exactly that power of two; 0: as the engine has it
  std::atomic<std::uint64_t> slow_give_back_ms{0};  ///< so long each call takes that frees, unmaps or destroys memory
  std::atomic<bool> tell_at_shutdown{false};        ///< what was allocated and freed, in a line on standard error
};
