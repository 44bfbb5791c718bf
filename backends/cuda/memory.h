// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations of fixed size. If the device has memory pools, all device memory comes from the
// backend's own pool, whether allocated in a stream's order or not, so that either free takes memory of either
// allocation. Otherwise it comes from cuMemAlloc.
#pragma once

#include "anyplace/backend/kit/memory_pool.h"
#include "sharing.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/memory_pool.h for CUDA.
struct PoolCalls : Calls {
  using Sharing = cuda::Sharing;
  using Pool = CUmemoryPool;
  static constexpr CUresult out_of_memory = CUDA_ERROR_OUT_OF_MEMORY;

  static Called<CUresult> total_memory(CUdevice device, std::size_t& bytes) noexcept;
  static Called<CUresult> create(CUdevice device, CUmemoryPool& pool) noexcept;
  static Called<CUresult> destroy(CUmemoryPool pool) noexcept;
  static Called<CUresult> set_up(CUmemoryPool pool, std::uint64_t kept) noexcept;
  static Called<CUresult> set_access(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) noexcept;
  static bool figures(CUmemoryPool pool, std::uint64_t& reserved, std::uint64_t& used) noexcept;
  static void trim(CUmemoryPool pool) noexcept;
};

class Memory {
 public:
  Memory(DeviceBase& device, Sharing& sharing);

  // -- Support by the driver and the device.
  bool has_pools() const noexcept { return has_pools_; }
  bool has_managed() const noexcept { return has_managed_; }

  /// `kind` is ANYPLACE_MEMORY_*. Every stream may use the memory at once.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// Allocates in the stream's order. The device must have pools.
  anyplace_address allocate_async(CUstream stream, std::uint64_t bytes);
  void free_async(CUstream stream, anyplace_address address);

  void register_host(void* address, std::uint64_t bytes);
  void unregister_host(void* address);

  // -- Forwarded to the pool.
  std::uint64_t idle_in_pool() const noexcept { return pool_.idle(); }
  void trim() noexcept { pool_.trim(); }
  void set_access(const CUmemAccessDesc& access, DeviceBase& reader) { pool_.set_access(access, reader); }
  CUresult close() noexcept { return pool_.close(); }

 private:
  CUresult allocate_from_pool(CUdeviceptr& address, std::uint64_t bytes, CUstream stream);

  DeviceBase& device_;
  const bool has_pools_;
  const bool has_managed_;
  backend::MemoryPool<PoolCalls> pool_;
};

}  // namespace anyplace::cuda
