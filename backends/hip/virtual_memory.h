// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses and, separately, the memory behind them (HIP's virtual memory management).
#pragma once

#include "anyplace/backend/kit/virtual_memory.h"
#include "memory.h"
#include "sharing.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/virtual_memory.h for HIP.
struct VirtualMemoryCalls : Calls {
  using Sharing = hip::Sharing;
  using Memory = hip::Memory;
  using Physical = hipMemGenericAllocationHandle_t;
  static constexpr hipError_t out_of_memory = hipErrorOutOfMemory;
  static constexpr bool one_access_for_several =
      false;  // HIP's documentation says nothing of ranges of several mappings

  static bool is_supported(const DeviceBase& device);
  static Called<hipError_t> granularity(hipDevice_t device, std::uint64_t& bytes) noexcept;
  static Called<hipError_t> reserve(anyplace_address& address, std::uint64_t bytes) noexcept;
  static Called<hipError_t> release(anyplace_address address, std::uint64_t bytes) noexcept;
  static bool is_shareable(const DeviceBase& device);
  static Called<hipError_t> create(hipDevice_t device, Physical& physical, std::uint64_t bytes,
                                   bool& shareable) noexcept;
  static Called<hipError_t> destroy(Physical physical) noexcept;
  static Called<hipError_t> map(anyplace_address address, std::uint64_t bytes, Physical physical) noexcept;
  static Called<hipError_t> unmap(anyplace_address address, std::uint64_t bytes) noexcept;
  static Called<hipError_t> set_access(anyplace_address address, std::uint64_t bytes, const hipMemAccessDesc* access,
                                       std::size_t count) noexcept;
  static Called<hipError_t> export_at(anyplace_address address, int& descriptor) noexcept;
  static Called<hipError_t> import(int descriptor, Physical& physical) noexcept;
};

}  // namespace anyplace::hip
