// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses and, separately, the memory behind them (CUDA's virtual memory management).
#pragma once

#include "anyplace/backend/kit/virtual_memory.h"
#include "memory.h"
#include "sharing.h"

namespace anyplace::cuda {

/// The `Vendor` of anyplace/backend/kit/virtual_memory.h for CUDA.
struct VirtualMemoryCalls : Calls {
  using Sharing = cuda::Sharing;
  using Memory = cuda::Memory;
  using Physical = CUmemGenericAllocationHandle;
  static constexpr CUresult out_of_memory = CUDA_ERROR_OUT_OF_MEMORY;
  static constexpr bool one_access_for_several = true;  // cuMemSetAccess takes a range of adjoining mappings

  static bool is_supported(const DeviceBase& device);
  static Called<CUresult> granularity(CUdevice device, std::uint64_t& bytes) noexcept;
  static Called<CUresult> reserve(anyplace_address& address, std::uint64_t bytes) noexcept;
  static Called<CUresult> release(anyplace_address address, std::uint64_t bytes) noexcept;
  static bool is_shareable(const DeviceBase& device);
  static Called<CUresult> create(CUdevice device, Physical& physical, std::uint64_t bytes, bool& shareable) noexcept;
  static Called<CUresult> destroy(Physical physical) noexcept;
  static Called<CUresult> map(anyplace_address address, std::uint64_t bytes, Physical physical) noexcept;
  static Called<CUresult> unmap(anyplace_address address, std::uint64_t bytes) noexcept;
  static Called<CUresult> set_access(anyplace_address address, std::uint64_t bytes, const CUmemAccessDesc* access,
                                     std::size_t count) noexcept;
  static Called<CUresult> export_at(anyplace_address address, int& descriptor) noexcept;
  static Called<CUresult> import(int descriptor, Physical& physical) noexcept;
};

}  // namespace anyplace::cuda
