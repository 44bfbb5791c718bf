// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses and the memory behind them, made apart. Level Zero lets memory go under its mappings, so
// what is mapped is kept here until the last mapping is gone.
//
// It is offered only where it is asked for: the contract has memory mapped at several addresses at once, and Intel's
// driver seems to give physical memory one address, the last that it was mapped at. That nobody has seen on a device
// yet, and to try it out in a process could lose the device.
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

class Device;

/// Memory of a device without an address. It ends with its last reference: the handle's, or a mapping's.
class PhysicalMemory {
 public:
  PhysicalMemory(Device& device, std::uint64_t bytes);
  PhysicalMemory(const PhysicalMemory&) = delete;  // it owns the ze_physical_mem
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;
  ~PhysicalMemory() { end(); }

  Device& device() const noexcept { return device_; }
  ze_physical_mem_handle_t native() const noexcept { return native_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  ze_result_t end() noexcept;

 private:
  Device& device_;
  const std::uint64_t bytes_;
  ze_physical_mem_handle_t native_ = nullptr;
};
using PhysicalRef = std::shared_ptr<PhysicalMemory>;

class VirtualMemory {
 public:
  explicit VirtualMemory(Device& device) noexcept : device_(device) {}
  VirtualMemory(const VirtualMemory&) = delete;  // one per device
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Whether the loader has it; the driver is asked at the first use.
  static bool is_supported() noexcept;
  /// Whether the user asks for it as well: ANYPLACE_LEVELZERO_VIRTUAL_MEMORY=1. Nothing below is called without.
  static bool is_offered() noexcept;

  std::uint64_t granularity();
  anyplace_address reserve(std::uint64_t bytes);
  /// With what couldn't be unmapped from it, but with nothing else.
  void release(anyplace_address address, std::uint64_t bytes);
  PhysicalRef* create(std::uint64_t bytes);
  static void destroy(PhysicalRef* physical);
  void map(anyplace_address address, const PhysicalRef& physical);
  /// Throws INVALID_ARGUMENT, having unmapped nothing, unless the range is one mapping or several that adjoin. Of
  /// several each is tried; throws what the first failed with.
  void unmap(anyplace_address address, std::uint64_t bytes);
  /// Nothing is in use any more.
  void close(FirstFailure& failure) noexcept;

 private:
  /// zeVirtualMemUnmap may have failed before it did something, or after. To unmap again could then hit what the driver
  /// has put there since, and to let the memory go could take it from under a mapping. So such a mapping stays as it is
  /// until its range is freed, which ends all mappings in it.
  struct Mapping {
    PhysicalRef memory;
    ze_result_t failed = ZE_RESULT_SUCCESS;  ///< what zeVirtualMemUnmap failed with
  };

  void require_whole_mappings(anyplace_address address, std::uint64_t bytes) const;
  ze_result_t unmap(anyplace_address address, Mapping& mapping) noexcept;

  Device& device_;
  std::atomic<std::uint64_t> granularity_{0};
  std::mutex mutex_;  // guards all below; Level Zero is called under it
  std::map<anyplace_address, Mapping> mappings_;
  std::map<anyplace_address, std::uint64_t> reserved_;  ///< bytes by address
};

}  // namespace anyplace::levelzero
