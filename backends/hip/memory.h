// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations of fixed size. If the device has memory pools, all device memory comes from the
// backend's own pool, whether allocated in a stream's order or not, so that either free takes memory of either
// allocation. Otherwise it comes from hipMalloc; hipFree then waits for the device, so the core keeps freed memory and
// calls it seldom.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "anyplace/backend/kit/memory_pool.h"
#include "sharing.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/memory_pool.h for HIP.
struct PoolCalls : Calls {
  using Sharing = hip::Sharing;
  using Pool = hipMemPool_t;
  static constexpr hipError_t out_of_memory = hipErrorOutOfMemory;

  static Called<hipError_t> total_memory(hipDevice_t device, std::size_t& bytes) noexcept;
  static Called<hipError_t> create(hipDevice_t device, hipMemPool_t& pool) noexcept;
  static Called<hipError_t> destroy(hipMemPool_t pool) noexcept;
  static Called<hipError_t> set_up(hipMemPool_t pool, std::uint64_t kept) noexcept;
  static Called<hipError_t> set_access(hipMemPool_t pool, const hipMemAccessDesc* access, std::size_t count) noexcept;
  static bool figures(hipMemPool_t pool, std::uint64_t& reserved, std::uint64_t& used) noexcept;
  static void trim(hipMemPool_t pool) noexcept;
};

class Memory {
 public:
  /// The alignment of all memory that is allocated here. HIP promises none, so each address is checked: if a runtime's
  /// isn't aligned, more is allocated, and an aligned address within is given out.
  static constexpr std::uint64_t alignment = 256;

  Memory(DeviceBase& device, Sharing& sharing);

  // -- Support by the driver and the device.
  bool has_pools() const noexcept { return has_pools_.load(std::memory_order_relaxed); }
  /// Makes and destroys a pool to find out whether the device has pools: a runtime may export the calls without having
  /// them.
  bool try_pools();
  bool has_managed() const noexcept { return has_managed_; }

  /// `kind` is ANYPLACE_MEMORY_*. Every stream may use the memory at once.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// Allocates in the stream's order. The device must have pools; if the runtime turns out to have none, the memory can
  /// be used at once.
  anyplace_address allocate_async(hipStream_t stream, std::uint64_t bytes);
  /// Throws UNSUPPORTED if the runtime turned out to have no pools; then free() has to free the memory.
  void free_async(hipStream_t stream, anyplace_address address);

  void register_host(void* address, std::uint64_t bytes);
  void unregister_host(void* address);

  // -- Forwarded to the pool.
  std::uint64_t idle_in_pool() const noexcept { return pool_.idle(); }
  void trim() noexcept { pool_.trim(); }
  void set_access(const hipMemAccessDesc& access, DeviceBase& reader) { pool_.set_access(access, reader); }
  hipError_t close() noexcept { return pool_.close(); }

 private:
  hipError_t allocate_from_pool(void*& address, std::uint64_t bytes, hipStream_t stream);
  /// Allocates memory that all streams may use, from the pool or by hipMalloc.
  hipError_t allocate_device(void*& address, std::uint64_t bytes, const char*& call);
  /// allocate(address, bytes) and release(address) call the runtime; the resulting `address` is aligned.
  template <class Allocate, class Release>
  hipError_t aligned(void*& address, std::uint64_t bytes, Allocate&& allocate, Release&& release);
  using Originals = std::map<anyplace_address, void*>;
  /// Removes from originals_ the runtime's own address of memory that is to be freed; empty if the two are the same.
  Originals::node_type take_original(anyplace_address address) noexcept;

  DeviceBase& device_;
  std::atomic<bool> has_pools_;
  const bool has_managed_;
  backend::MemoryPool<PoolCalls> pool_;
  std::atomic<bool> pads_{false};  ///< whether some of the runtime's addresses aren't aligned
  std::mutex mutex_;               // guards originals_; a leaf
  Originals originals_;            ///< the runtime's addresses by the aligned ones that were given out
};

}  // namespace anyplace::hip
