// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations of fixed size. Where the device has memory pools, device memory comes from one pool of
// our own, in a stream's order or not: so either free takes what either allocation gave. Where it has none, from
// hipMalloc, and hipFree waits for the device: the core keeps what is freed and calls it seldom.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "anyplace/backend/kit/memory_pool.h"
#include "sharing.h"

namespace anyplace::hip {

/// HIP's calls, as anyplace/backend/kit/memory_pool.h asks for them.
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
  /// Of all that is allocated here. HIP promises none, so each address is looked at: where a runtime's is no multiple
  /// of it, more is asked for, and an aligned address within is given out.
  static constexpr std::uint64_t alignment = 256;

  Memory(DeviceBase& device, Sharing& sharing);

  // -- What the driver and the device have.
  bool has_pools() const noexcept { return has_pools_.load(std::memory_order_relaxed); }
  /// The same, once a pool was made and destroyed: a runtime may export that and not have it.
  bool try_pools();
  bool has_managed() const noexcept { return has_managed_; }

  /// `kind` is ANYPLACE_MEMORY_*. Usable at once, by every stream.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// In the stream's order. The device has pools; should it turn out not to, the memory can be used at once.
  anyplace_address allocate_async(hipStream_t stream, std::uint64_t bytes);
  /// Throws UNSUPPORTED where there turned out to be no pools: the memory is freed by free().
  void free_async(hipStream_t stream, anyplace_address address);

  void register_host(void* address, std::uint64_t bytes);
  void unregister_host(void* address);

  // -- The pool's.
  std::uint64_t idle_in_pool() const noexcept { return pool_.idle(); }
  void trim() noexcept { pool_.trim(); }
  void set_access(const hipMemAccessDesc& access, DeviceBase& reader) { pool_.set_access(access, reader); }
  hipError_t close() noexcept { return pool_.close(); }

 private:
  hipError_t allocate_from_pool(void*& address, std::uint64_t bytes, hipStream_t stream);
  /// For later work of all streams: from the pool, or by hipMalloc.
  hipError_t allocate_device(void*& address, std::uint64_t bytes, const char*& call);
  /// allocate(address, bytes) and release(address) are the runtime's; what is left in `address` is aligned.
  template <class Allocate, class Release>
  hipError_t aligned(void*& address, std::uint64_t bytes, Allocate&& allocate, Release&& release);
  using Originals = std::map<anyplace_address, void*>;
  /// The runtime's own of an address that is to be freed, out of originals_; empty where they are the same.
  Originals::node_type take_original(anyplace_address address) noexcept;

  DeviceBase& device_;
  std::atomic<bool> has_pools_;
  const bool has_managed_;
  backend::MemoryPool<PoolCalls> pool_;
  std::atomic<bool> pads_{false};  ///< the runtime's addresses aren't all aligned
  std::mutex mutex_;               // guards originals_; a leaf
  Originals originals_;            ///< the runtime's, by the aligned one that was given out instead
};

}  // namespace anyplace::hip
