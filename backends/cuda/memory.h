// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations of fixed size. Where the device has memory pools, device memory comes from one pool of
// our own, in a stream's order or not: so either free takes what either allocation gave. Where it has none, from
// cuMemAlloc.
//
// Why a pool of our own and not the device's default one: other libraries in the process use that, and its settings are
// theirs. Two of ours differ from CUDA's defaults. What is freed stays in the pool, up to a share of the device,
// because else every synchronisation gives it back to the system, and taking it again costs a thousand times more. And
// the pool makes no dependencies between streams to use memory again: a stream held back would hold back one that only
// allocates.
#pragma once

#include <atomic>
#include <cstdint>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::cuda {

class Device;
class Stream;

class Memory {
 public:
  /// `device` knows its id already.
  explicit Memory(Device& device);
  Memory(const Memory&) = delete;  // it owns the pool
  Memory& operator=(const Memory&) = delete;

  // -- What the driver and the device have.
  bool has_pools() const noexcept { return has_pools_; }
  bool has_managed() const noexcept { return has_managed_; }

  /// `kind` is ANYPLACE_MEMORY_*. Usable at once, by every stream.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// In the stream's order. The device has pools.
  anyplace_address allocate_async(const Stream& stream, std::uint64_t bytes);
  void free_async(const Stream& stream, anyplace_address address);

  void register_host(void* address, std::uint64_t bytes);
  void unregister_host(void* address);

  /// What the pool holds and could give at once.
  std::uint64_t idle_in_pool() const noexcept;
  /// Gives that to the system: for whoever got nothing from there.
  void trim() noexcept;
  /// For the pool, if there is one already, and the reader whose call it is. Called by Sharing.
  void set_access(const CUmemAccessDesc& access, Device& reader);
  CUresult close() noexcept;

 private:
  CUmemoryPool pool();
  CUmemoryPool make_pool();
  CUresult allocate_from_pool(CUdeviceptr& address, std::uint64_t bytes, CUstream stream);

  Device& device_;
  const bool has_pools_;
  const bool has_managed_;
  std::atomic<CUmemoryPool> pool_{nullptr};  ///< made under Sharing's mutex
};

}  // namespace anyplace::cuda
