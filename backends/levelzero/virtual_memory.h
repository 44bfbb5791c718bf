// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses are reserved and memory is made separately. Level Zero allows destroying memory that is
// mapped, so this class keeps mapped memory until its last mapping is gone.
//
// It is offered only if the user asks for it. The contract requires that memory can be mapped at several addresses at
// the same time, but Intel's driver seems to give physical memory only one address, the last at which it was mapped.
// Nobody has tried that on a device yet, and trying it in a process could lose the device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "error.h"

namespace anyplace::levelzero {

class DeviceBase;

/// A device's memory without an address. It is destroyed with its last reference: the handle's or a mapping's.
class PhysicalMemory {
 public:
  PhysicalMemory(DeviceBase& device, std::uint64_t bytes);
  PhysicalMemory(const PhysicalMemory&) = delete;  // it owns the ze_physical_mem
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory() { end(); }

  DeviceBase& device() const noexcept { return device_; }
  ze_physical_mem_handle_t native() const noexcept { return native_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  ze_result_t end() noexcept;

 private:
  DeviceBase& device_;
  const std::uint64_t bytes_;
  ze_physical_mem_handle_t native_ = nullptr;
};
using PhysicalRef = std::shared_ptr<PhysicalMemory>;

class VirtualMemory {
 public:
  using Physical = PhysicalRef;

  explicit VirtualMemory(DeviceBase& device) noexcept : device_(device) {}
  VirtualMemory(const VirtualMemory&) = delete;  // one per device
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Whether the loader has the entries. The driver is queried at the first use.
  static bool is_supported() noexcept;
  /// Whether it is supported and the user asks for it (ANYPLACE_LEVELZERO_VIRTUAL_MEMORY=1). If not, nothing below is
  /// called.
  static bool is_offered() noexcept;
  /// Throws UNSUPPORTED, with the reason, unless it is offered.
  static void require_supported();

  std::uint64_t granularity();
  anyplace_address reserve(std::uint64_t bytes);
  /// Frees a range. It may have mappings that couldn't be unmapped, but no others.
  void release(anyplace_address address, std::uint64_t bytes);
  PhysicalRef* create(std::uint64_t bytes);
  static void destroy(PhysicalRef* physical);
  void map(anyplace_address address, const PhysicalRef& physical);
  /// Throws INVALID_ARGUMENT, having unmapped nothing, unless the range is one mapping or several adjoining ones. Each
  /// of several mappings is tried, and the first failure is thrown.
  void unmap(anyplace_address address, std::uint64_t bytes);
  /// Frees everything. Called when nothing is in use any more.
  void close(FirstFailure& failure) noexcept;

 private:
  /// A failed zeVirtualMemUnmap may or may not have unmapped the memory. Unmapping again could hit something that the
  /// driver has put there since, and destroying the memory could break a mapping that still exists. So such a mapping
  /// stays as it is until its range is freed, which ends all mappings in it.
  struct Mapping {
    PhysicalRef memory;
    ze_result_t failed = ZE_RESULT_SUCCESS;  ///< the failure of zeVirtualMemUnmap
  };

  ze_result_t unmap(anyplace_address address, Mapping& mapping) noexcept;

  DeviceBase& device_;
  std::atomic<std::uint64_t> granularity_{0};
  std::mutex mutex_;  // guards all below; Level Zero is called under it
  std::map<anyplace_address, Mapping> mappings_;
  std::map<anyplace_address, std::uint64_t> reserved_;  ///< bytes by address
};

}  // namespace anyplace::levelzero
