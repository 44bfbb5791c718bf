// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses and the memory behind them, made apart (HIP's virtual memory management). What is mapped is
// accessible to its device and to those that Sharing lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::hip {

class Device;

/// Memory of a device without an address.
struct PhysicalMemory {
  Device* device = nullptr;
  hipMemGenericAllocationHandle_t handle = nullptr;
  std::uint64_t bytes = 0;
};

class VirtualMemory {
 public:
  /// `device` knows its id already.
  explicit VirtualMemory(Device& device);
  VirtualMemory(const VirtualMemory&) = delete;  // one per device
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Whether the driver and the device have it. Nothing below is called without.
  bool is_supported() const noexcept { return is_supported_; }

  std::uint64_t granularity() const;
  anyplace_address reserve(std::uint64_t bytes);
  void release(anyplace_address address, std::uint64_t bytes);
  PhysicalMemory* create(std::uint64_t bytes);
  static void destroy(PhysicalMemory* physical);
  void map(anyplace_address address, const PhysicalMemory& physical);
  /// Throws INVALID_ARGUMENT, having unmapped nothing, unless the range is one mapping or several that adjoin. Of
  /// several each is tried; throws what the first failed with, and those that failed count as mapped.
  void unmap(anyplace_address address, std::uint64_t bytes);

  /// For every mapping there is, and the reader whose call it is. Called by Sharing.
  void set_access(const hipMemAccessDesc& access, Device& reader);

 private:
  void require_whole_mappings(anyplace_address address, std::uint64_t bytes) const;

  Device& device_;
  const bool is_supported_;
  std::mutex mutex_;  // guards mappings_; taken under Sharing's; HIP is called under it
  std::map<anyplace_address, std::uint64_t> mappings_;  ///< bytes by address
};

}  // namespace anyplace::hip
