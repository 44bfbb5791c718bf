// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's allocations. They are listed, because destroying a context doesn't free its memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "error.h"

namespace anyplace::levelzero {

class DeviceBase;

class Memory {
 public:
  explicit Memory(DeviceBase& device) noexcept : device_(device) {}
  Memory(const Memory&) = delete;  // one per device
  Memory& operator=(const Memory&) = delete;

  bool has_host() const noexcept;
  bool has_shared() const noexcept;

  /// `kind` is ANYPLACE_MEMORY_*.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes);
  void free(std::uint32_t kind, anyplace_address address);
  /// The allocation of device memory that has the address; 0 bytes if none has.
  struct Allocation {
    anyplace_address start = 0;
    std::uint64_t bytes = 0;
  };
  Allocation device_allocation_of(anyplace_address address);
  /// Whether the device can't access the address because it is the user's own host memory, which Level Zero doesn't
  /// know.
  bool is_out_of_reach(anyplace_address address);
  /// Frees all allocations. Called when nothing uses them any more.
  void close(FirstFailure& failure) noexcept;

  static constexpr std::uint64_t alignment = 256;

 private:
  ze_result_t allocate_device(std::uint64_t bytes, void** made);
  [[noreturn]] void refuse_size(ze_result_t result, const char* call, std::uint64_t bytes);

  DeviceBase& device_;
  struct Live {
    std::uint64_t bytes;
    std::uint32_t kind;
  };
  std::mutex mutex_;  // guards live_; a leaf
  std::map<anyplace_address, Live> live_;
};

}  // namespace anyplace::levelzero
