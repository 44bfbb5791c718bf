// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations of fixed size. Where the device has memory pools, device memory comes from one pool of
// our own, in a stream's order or not: so either free takes what either allocation gave. Where it has none, from
// hipMalloc, and hipFree waits for the device: the core keeps what is freed and calls it seldom.
//
// Why a pool of our own and not the device's default one: other libraries in the process use that, and its settings are
// theirs. Two of ours differ from HIP's defaults. What is freed stays in the pool, up to a share of the device,
// because else every synchronisation gives it back to the system, and taking it again costs a thousand times more. And
// the pool makes no dependencies between streams to use memory again: a stream held back would hold back one that only
// allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::hip {

class Device;
class Stream;

class Memory {
 public:
  /// Of all that is allocated here. HIP promises none, so each address is looked at: where a runtime's is no multiple
  /// of it, more is asked for, and an aligned address within is given out.
  static constexpr std::uint64_t alignment = 256;

  /// `device` knows its id already.
  explicit Memory(Device& device);
  Memory(const Memory&) = delete;  // it owns the pool
  Memory& operator=(const Memory&) = delete;

  // -- What the driver and the device have.
  bool has_pools() const noexcept { return has_pools_.load(std::memory_order_relaxed); }
  /// The same, once a pool was made and destroyed: a runtime may export that and not have it.
  bool try_pools();
  bool has_managed() const noexcept { return has_managed_; }

  /// `kind` is ANYPLACE_MEMORY_*. Usable at once, by every stream.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// In the stream's order. The device has pools; should it turn out not to, the memory can be used at once.
  anyplace_address allocate_async(const Stream& stream, std::uint64_t bytes);
  /// Throws UNSUPPORTED where there turned out to be no pools: the memory is freed by free().
  void free_async(const Stream& stream, anyplace_address address);

  void register_host(void* address, std::uint64_t bytes);
  void unregister_host(void* address);

  /// What the pool holds and could give at once.
  std::uint64_t idle_in_pool() const noexcept;
  /// Gives that to the system: for whoever got nothing from there.
  void trim() noexcept;
  /// For the pool, if there is one already, and the reader whose call it is. Called by Sharing.
  void set_access(const hipMemAccessDesc& access, Device& reader);
  hipError_t close() noexcept;

 private:
  hipMemPool_t pool();
  hipMemPool_t make_pool();
  hipError_t allocate_from_pool(void*& address, std::uint64_t bytes, hipStream_t stream);
  /// For later work of all streams: from the pool, or by hipMalloc.
  hipError_t allocate_device(void*& address, std::uint64_t bytes, const char*& call);
  /// allocate(address, bytes) and release(address) are the runtime's; what is left in `address` is aligned.
  template <class Allocate, class Release>
  hipError_t aligned(void*& address, std::uint64_t bytes, Allocate&& allocate, Release&& release);
  using Originals = std::map<anyplace_address, void*>;
  /// The runtime's own of an address that is to be freed, out of originals_; empty where they are the same.
  Originals::node_type take_original(anyplace_address address) noexcept;

  Device& device_;
  std::atomic<bool> has_pools_;
  const bool has_managed_;
  std::atomic<bool> pads_{false};            ///< the runtime's addresses aren't all aligned
  std::mutex mutex_;                         // guards originals_; a leaf
  Originals originals_;                      ///< the runtime's, by the aligned one that was given out instead
  std::atomic<hipMemPool_t> pool_{nullptr};  ///< made under Sharing's mutex
};

}  // namespace anyplace::hip
